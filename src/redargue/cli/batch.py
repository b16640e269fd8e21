"""``redargue batch``: the claims of a table or JSON file, resumable.

What a batch verifies and writes, and its verification in this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from redargue.assembly import Parts
from redargue.batch import Tally, VerdictFiles, check_row, count_answers
from redargue.claims import Claim
from redargue.cli import parameters
from redargue.cli.arguments import checked_rows
from redargue.cli.options import run_config, with_contexts
from redargue.cli.output import INTERRUPTED, exit_code, log_to_stderr, read_gate, say_interrupted
from redargue.cli.progress import Progress
from redargue.errors import UsageError
from redargue.inputs.claims import ClaimRow, RefusedRow, read_mapping, read_rows
from redargue.net.deferred import BatchTransport
from redargue.net.services import limiter
from redargue.registry import ExtensionError, Registry, a_function
from redargue.runs.manifest import Origin
from redargue.sanitize import counted, printable
from redargue.spec import RunSpec
from redargue.text import Report
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

ONE_PROCESS = "leave out --workers and --engine"


@parameters.with_parameters
def batch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv, .json or .jsonl file; .gz too.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Batch folder; the same command resumes the batch.")
    ],
    mapping: parameters.Mapping = None,
    options: parameters.RunParameters,
    search: parameters.SearchParameters,
    output: parameters.OutputParameters,
    engine: Annotated[
        str, typer.Option(metavar="local|ray", help="Use several workers: local processes, or tasks of a Ray cluster.")
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of workers; default: 2 processes, or one task per CPU.")
    ] = None,
    ledger: Annotated[str, parameters.option("LEDGER", "Ledger of the workers: postgresql://… or a local file.")] = "",
    ledger_wait: parameters.LedgerWait = 60.0,
    deferred: Annotated[
        bool,
        typer.Option("--deferred", help="Ask the model through the provider's batch endpoint: cheaper, within a day."),
    ] = False,
    poll: Annotated[
        float, parameters.option("POLL", "With --deferred: seconds between polls of the provider's batch.", min=0.01)
    ] = 30.0,
    log_level: parameters.LogLevel = "warning",
) -> None:
    """Verify the claims of a file.

    Writes verdicts.jsonl, verdicts.csv and a run folder. With a column of contexts, a claim's contexts are its only
    evidence; the answers of rows of question, answer and contexts are verified whole and claim by claim.
    """
    log_to_stderr(log_level)
    gate, spec = read_gate(output), run_config(options, search, out)
    rows = read_rows(file, read_mapping(mapping or []), labels=spec.labels, as_of=spec.as_of)
    accepted, refused = checked_rows(rows, spec)
    for row in refused:
        typer.echo(printable(f"refused: {row.error}"), err=True)
    several = bool(engine or workers)
    if several and any(row.contexts for row in accepted):
        what = "claims with contexts of their own are verified in one process"
        raise UsageError(what, where="contexts", hint=ONE_PROCESS)
    transport = _batches(spec, out, poll, several=several, quiet=output.quiet) if deferred else None
    result = BatchOutput(out, accepted, refused, output, Origin(name=file.name))
    if several:
        shared = {"workers": workers, "where": ledger, "concurrency": options.concurrency, "wait": ledger_wait}
        interrupted = _verify_on_workers(engine or "local", spec, result, **shared)
    else:
        spec, parts = with_contexts(spec, accepted)
        at_once = options.concurrency or (max(1, len(accepted)) if deferred else None)
        interrupted = verify_in_process(spec, replace(parts, transport=transport), result, concurrency=at_once)
    if transport and not interrupted:
        transport.forget()
    if not (output.jsonl or (interrupted and not several)):
        _summary(result)
    verdicts = [*result.tally.outcomes, *result.answers.outcomes]
    code = exit_code(verdicts, gate, result.answers.unread, refused=len(refused))
    raise typer.Exit(INTERRUPTED if interrupted else code)


def _batches(spec: RunSpec, out: Path, poll: float, *, several: bool, quiet: bool) -> BatchTransport:
    """Raises UsageError where nothing would be sent to a provider."""
    if several:
        raise UsageError("--deferred sends from one process", where="--workers", hint=ONE_PROCESS)
    if not (spec.model or spec.models):
        raise UsageError("--deferred asks a language model, and none is named", where="--model", hint="name one")
    if spec.stream:
        raise UsageError("--deferred has no streamed replies", where="--stream", hint="leave out one of them")

    def report(words: str) -> None:
        if not quiet:
            typer.echo(printable(words), err=True)

    return BatchTransport(out, limiter=limiter(), offline=spec.offline, poll=poll, report=report)


def _summary(batch: BatchOutput) -> None:
    answers, folder = batch.answers, batch.folder
    rest = f"; {counted(len(batch.refused), 'row')} refused" if batch.refused else ""
    typer.echo(f"{counted(len(batch.tally.outcomes), 'claim')}: {_counts(batch.tally)}{rest}")
    if answers.outcomes or answers.unread:
        claims, sentences = counted(len(answers.outcomes), "claim"), counted(len(answers.unread), "sentence")
        unread = f"; {sentences} not checked" if answers.unread else ""
        typer.echo(f"{claims} in the answers: {_counts(answers) or 'none'}{unread}")
    typer.echo(f"verdicts: {folder / 'verdicts.csv'}, {folder / 'verdicts.jsonl'}")


def _counts(tally: Tally) -> str:
    return "; ".join(f"{printable(name)}: {count:,}" for name, count in sorted(tally.labels.items()))


class VerdictWriter(Protocol):
    """Takes each verdict with the index of its claim, and what is known of the row's answer."""

    def __call__(self, item: int, verdict: Verdict, answer: Report | ErrorInfo | None = None) -> None: ...


@dataclass(frozen=True)
class BatchOutput:
    """What a batch verifies and where its results go.

    ``tally`` receives every verdict, and ``answers`` those on the claims of answers.
    """

    folder: Path
    rows: Sequence[ClaimRow]
    refused: Sequence[RefusedRow]
    options: parameters.OutputParameters
    origin: Origin = field(default_factory=Origin)
    tally: Tally = field(default_factory=Tally)
    answers: Tally = field(default_factory=Tally)

    @property
    def claims(self) -> list[Claim]:
        return [row.claim for row in self.rows]

    @contextmanager
    def files(self) -> Iterator[VerdictWriter]:
        """Writes the files of the batch folder."""

        def show(line: str) -> None:
            if self.options.jsonl:
                typer.echo(line)

        def take(item: int, verdict: Verdict, answer: Report | ErrorInfo | None = None) -> None:
            show(files.write(item, verdict, answer))
            self.tally.add(verdict)
            self.answers.add_answer(self.rows[item], answer)

        with VerdictFiles(self.folder, self.rows) as files:
            for row in self.refused:
                show(files.refuse(row))
            yield take


def verify_in_process(spec: RunSpec, parts: Parts, batch: BatchOutput, *, concurrency: int | None) -> bool:
    """Verifies claims in this process and writes the batch folder; returns whether it was interrupted."""
    claims, tally = batch.claims, batch.tally

    async def verify() -> None:
        answers = concurrency or verifier.concurrency
        async with aclosing(verifier.stream(claims, concurrency=concurrency)) as reached:
            async for item, verdict in reached:
                row = batch.rows[item]
                take(item, verdict, await check_row(row, verifier, batch.folder, concurrency=answers))
                bar.moved(again=item in known)

    try:
        with Verifier(spec, parts=parts, folder=batch.folder, claims=claims, origin=batch.origin) as verifier:
            count_answers(batch.rows, verifier, batch.folder)
            known = verifier.record.finished_items() if verifier.record else frozenset()
            quiet, clock = batch.options.quiet, verifier.clock
            shown = Progress(tally, len(claims), clock=clock, known=len(known), quiet=quiet)
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


def _verify_on_workers(engine: str, spec: RunSpec, batch: BatchOutput, **options: Any) -> bool:
    """What :class:`Engine` does; ExtensionError for one that ends without a verdict on each claim."""
    with engines.blamed(engine):
        interrupted = engines[engine](spec, batch, **options)
    if not interrupted and (lacking := len(batch.rows) - len(batch.tally.outcomes)):
        what = f"the engine {engine!r} ended without a verdict on {counted(lacking, 'claim')}"
        raise ExtensionError(what, hint="report it to its author; another way: drop --engine")
    return interrupted
