"""``redargue batch``: the claims of a CSV or JSON-lines file, resumable."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.check import AT_ONCE, INTERRUPTED, exit_code, read_gate
from redargue.cli.estimate import like_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redargue.claims import Claim
    from redargue.evals.batch import Tally, VerdictFiles
    from redargue.verifier import Verifier

EVERY = 10.0  # seconds between two lines of progress off a terminal


@like_check("claim", "as_", "question", "run", "json")
def batch(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv, .tsv or .jsonl file; .gz too.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The batch folder; the same command again goes on.")
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="ROLE=COLUMN,…", help="claim=…,context=…,options=…,labels=…,as_of=…"),
    ] = None,
    **given: Any,
) -> None:
    """Verifies every claim of a file into a folder: verdicts.jsonl, verdicts.csv and the record they come from."""
    import asyncio

    from redargue.claims import label_sets
    from redargue.cli.options import in_time, read_day, verifier_options
    from redargue.evals.batch import Tally, VerdictFiles, read_claims, read_mapping
    from redargue.verifier import Verifier

    gate = read_gate(given["fail_on"] or [], given["min_supported"])
    columns = read_mapping(mapping or [])
    claims = list(read_claims(file, columns, labels=label_sets[given["labels"]], as_of=read_day(given["as_of"])))
    claims = in_time(claims) if given["only_in_time"] else claims
    options = verifier_options({**given, "run": out})
    tally = Tally()
    try:
        with (
            Verifier(**options, folder=out, claims=claims) as verifier,
            VerdictFiles(out) as files,
            Progress(verifier, tally, len(claims), quiet=given["quiet"]) as progress,
        ):
            asyncio.run(
                _verify(
                    verifier, claims, files, tally, progress, at_once=given["at_once"] or AT_ONCE, jsonl=given["jsonl"]
                )
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted after {len(tally.kinds)} of {len(claims)} claims; the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if not given["jsonl"]:
        _summary(tally, out)
    raise typer.Exit(exit_code(tally.kinds, gate))


async def _verify(
    verifier: Verifier,
    claims: Sequence[Claim],
    files: VerdictFiles,
    tally: Tally,
    progress: Progress,
    *,
    at_once: int,
    jsonl: bool,
) -> None:
    """Writes each verdict where it belongs as it is reached, and holds none."""
    async for item, verdict in verifier.stream(claims, at_once=at_once):
        text = files.write(item, verdict)
        tally.add(verdict)
        if jsonl:
            print(text, flush=True)  # noqa: T201
        progress.moved()


def _summary(tally: Tally, out: Path) -> None:
    from redargue.cli.terminal import printable

    counts = ", ".join(f"{count} {printable(name)}" for name, count in sorted(tally.labels.items()))
    print(f"{len(tally.kinds)} claims: {counts}")  # noqa: T201
    print(f"verdicts: {out / 'verdicts.csv'}, {out / 'verdicts.jsonl'}")  # noqa: T201


class Progress:
    """How far a batch is, on stderr: a bar on a terminal, elsewhere a line now and then; a context manager.

    Args:
        verifier: of the batch.
        tally: what it has come to.
        total: its claims.
        quiet: shows nothing.
    """

    def __init__(self, verifier: Verifier, tally: Tally, total: int, *, quiet: bool) -> None:
        import sys

        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._tally, self._total, self._quiet = tally, total, quiet
        self._clock = verifier.clock
        self._began = self._told = self._clock.elapsed()
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._known = sum(1 for _ in verifier.record.finished()) if verifier.record else 0
        self._animated = self._console.is_terminal and not quiet
        self._bar = Bar(
            TextColumn("claims"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[cost]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._animated,
        )
        self._task = self._bar.add_task("claims", total=total, cost="")

    def moved(self) -> None:
        """One more verdict."""
        self._bar.update(self._task, advance=1, cost=self._cost())
        now = self._clock.elapsed()
        if not self._animated and now - self._told >= EVERY:
            self._told = now
            self._line()

    def __enter__(self) -> Progress:
        if self._known and not self._quiet:
            self._console.print(f"going on: {self._known:,} of {self._total:,} claims are finished")
        if self._animated:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
        if not self._animated:
            self._line()

    def _line(self) -> None:
        if self._quiet:
            return
        done, seconds = len(self._tally.kinds), self._clock.elapsed() - self._began
        fresh = done - self._known  # what was finished before took no time now
        left = f", {(self._total - done) * seconds / fresh:.0f} s left" if fresh > 0 and done < self._total else ""
        self._console.print(f"{done:,} of {self._total:,} claims, {self._cost()}, {seconds:.1f} s{left}")

    def _cost(self) -> str:
        usd = f", ${self._tally.usd:.4f}" if self._tally.usd is not None else ""
        return f"{self._tally.errors:,} errors, {self._tally.calls:,} calls{usd}"
