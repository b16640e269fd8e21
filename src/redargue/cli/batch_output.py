"""What a batch verifies and writes, and its verification in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from redargue.batch.answers import check_row
from redargue.batch.verdict_files import Tally, VerdictFiles
from redargue.claims import Claim
from redargue.cli.exit import say_interrupted
from redargue.cli.output import JsonLines
from redargue.cli.parameters import OutputParameters
from redargue.cli.progress import Progress
from redargue.inputs.claims import ClaimRow, RefusedRow
from redargue.parts import Parts
from redargue.registry import Registry, a_function
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.text.report import Report
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier


class VerdictWriter(Protocol):
    """Takes each verdict with the index of its claim, and what is known of the row's answer."""

    def __call__(self, item: int, verdict: Verdict, answer: Report | ErrorInfo | None = None) -> None: ...


class BatchOutput(NamedTuple):
    """What a batch verifies and where its results go.

    ``tally`` receives every verdict, and ``answers`` those on the claims of answers.
    """

    folder: Path
    rows: Sequence[ClaimRow]
    refused: Sequence[RefusedRow]
    tally: Tally
    answers: Tally
    options: OutputParameters

    @property
    def claims(self) -> list[Claim]:
        return [row.claim for row in self.rows]

    @contextmanager
    def files(self) -> Iterator[VerdictWriter]:
        """Writes the files of the batch folder."""
        lines = JsonLines(ordered=self.options.ordered)

        def show(number: int, line: str) -> None:
            if self.options.jsonl:
                lines.add(number - 1, line)

        def take(item: int, verdict: Verdict, answer: Report | ErrorInfo | None = None) -> None:
            show(self.rows[item].number, files.write(item, verdict, answer))
            self.tally.add(verdict)
            self.answers.add_answer(self.rows[item], answer)

        with VerdictFiles(self.folder, self.rows) as files:
            for row in self.refused:
                show(row.number, files.refuse(row))
            yield take


def verify_in_process(spec: RunSpec, parts: Parts, batch: BatchOutput, *, concurrency: int) -> bool:
    """Verifies claims in this process and writes the batch folder; returns whether it was interrupted."""
    claims, tally = batch.claims, batch.tally

    async def verify() -> None:
        async for item, verdict in verifier.stream(claims, concurrency=concurrency):
            row = batch.rows[item]
            take(item, verdict, await check_row(row, verifier, batch.folder, concurrency=concurrency))
            bar.moved(again=item in known)

    try:
        with Verifier(spec, parts=parts, folder=batch.folder, claims=claims) as verifier:
            known = verifier.record.finished_items() if verifier.record else frozenset()
            shown = Progress(tally, len(claims), clock=verifier.clock, known=len(known), quiet=batch.options.quiet)
            with batch.files() as take, shown as bar:
                asyncio.run(verify())
    except KeyboardInterrupt:
        done = f"{len(tally.outcomes):,} of {counted(len(claims), 'claim')}"
        say_interrupted(f"{done} finished; the same command resumes the batch")
        return True
    return False


class Engine(Protocol):
    """Verifies the claims of a batch on several workers and writes its folder; returns whether it was interrupted.

    Args:
        workers: how many; None for the engine's default.
        where: the workers' ledger; empty for a file in the folder.
        concurrency: claims that a worker verifies concurrently; None for the default.
        wait: seconds that a ledger which does not answer is waited for.
    """

    def __call__(
        self,
        spec: RunSpec,
        output: BatchOutput,
        *,
        workers: int | None,
        where: str,
        concurrency: int | None,
        wait: float,
    ) -> bool: ...


engines: Registry[Engine] = Registry("engine", group="redargue.engines", extra="scale", missing=a_function)
