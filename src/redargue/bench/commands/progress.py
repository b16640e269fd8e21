"""Progress of a bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redargue.batch.verdict_files import Tally
from redargue.bench.harness import ClaimOutcome
from redargue.cli.progress import Progress
from redargue.runs.clock import SystemClock


@contextmanager
def bench_progress(
    tally: Tally, total: int, name: str, *, quiet: bool
) -> Iterator[Callable[[int, ClaimOutcome], None]]:
    """Progress of one system; yields the function that a bench calls with each outcome."""
    with Progress(tally, total, clock=SystemClock(), name=name, quiet=quiet) as progress:

        def seen(item: int, outcome: ClaimOutcome) -> None:
            tally.add(outcome.verdict)
            progress.moved(again=not outcome.seconds)

        yield seen
