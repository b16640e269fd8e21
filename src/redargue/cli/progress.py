"""Progress over many claims, on stderr: a bar on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from redargue.sanitize import counted

if TYPE_CHECKING:
    from redargue.runs.record import Clock

_WINDOW = 288  # claims whose pace the time left is estimated from
_STRETCHES = 9  # whose median pace counts
LINE_SECONDS = 10.0  # between two lines off a terminal


class Counted(Protocol):
    """Counts over the claims that have finished; ``outcomes`` has one entry per verdict."""

    @property
    def outcomes(self) -> Sequence[object]: ...
    @property
    def errors(self) -> int: ...
    @property
    def stopped(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def usd(self) -> float | None: ...


class ProgressRate:
    """The pace of the last claims, as a median: neither a slow first claim nor a pause makes the time left jump."""

    def __init__(self, began: float) -> None:
        self._finished: deque[tuple[float, int]] = deque([(began, 0)], _WINDOW + 1)

    def finished(self, now: float, count: int = 1) -> None:
        self._finished.append((now, self._finished[-1][1] + count))

    def seconds_left(self, now: float, claims: int) -> float | None:
        """For that many claims; None before one has finished.

        The last claims are divided into stretches of as many each, because those that run concurrently may finish
        together. What has taken long since the last claim is expected to take as long again.
        """
        steps = len(self._finished) - 1
        if not steps:
            return None
        count = min(_STRETCHES, steps)
        marks = [self._finished[round(steps * n / count)] for n in range(count + 1)]
        stretches = pairwise(marks)
        paces = [(end - start) / max(1, done - before) for (start, before), (end, done) in stretches]
        return max(claims * median(paces), now - self._finished[-1][0])


def duration(seconds: float, *, digits: int = 0) -> str:
    """``40 s``, ``12 min``, ``3.5 h``; seconds and minutes have that many digits after the point."""
    if seconds < 100:
        return f"{seconds:.{digits}f} s"
    return f"{seconds / 60:.{digits}f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def progress_bar(console: Console, *, disable: bool = False) -> Bar:
    """A bar whose tasks have the fields ``note`` and ``left``."""
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        disable=disable,
    )


class Progress:
    """Finished and total claims, errors, cost and time left; a context manager.

    Args:
        tally: counts; a verdict is added to it before :meth:`moved` is called.
        name: shown before the counts, where several systems run.
        known: number of claims that had finished before.
    """

    def __init__(
        self, tally: Counted, total: int, *, clock: Clock, name: str = "", known: int = 0, quiet: bool = False
    ) -> None:
        self._tally, self._total, self._quiet, self._clock = tally, total, quiet, clock
        self._name, self._known = name, known
        self._began = self._last_line = clock.elapsed()
        self._rate = ProgressRate(self._began)
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True, markup=False)
        self._animated = self._console.is_terminal and not quiet
        self._bar = progress_bar(self._console, disable=not self._animated)
        self._task = self._bar.add_task(name or "claims", total=total, note="", left="")

    def moved(self, by: int = 1, *, again: bool = False) -> None:
        """Shows ``by`` more verdicts; ``again`` if they were already recorded, and say nothing about the pace."""
        now = self._clock.elapsed()
        if by and not again:
            self._rate.finished(now, by)
        self._bar.update(self._task, advance=by, note=self._cost(), left=self._left(now))
        if not self._animated and now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self._line()

    def __enter__(self) -> Progress:
        if self._known and not self._quiet:
            self._console.print(f"resuming: {self._known:,} of {counted(self._total, 'claim')} finished")
        if self._animated:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        if not self._animated:
            self._line()

    def _line(self) -> None:
        if self._quiet:
            return
        now, name = self._clock.elapsed(), f"{self._name}: " if self._name else ""
        done = f"{name}{len(self._tally.outcomes):,} of {counted(self._total, 'claim')}"
        facts = (done, self._cost(), f"{now - self._began:.1f} s", self._left(now))
        self._console.print(", ".join(filter(None, facts)))

    def _left(self, now: float) -> str:
        claims = self._total - len(self._tally.outcomes)
        seconds = self._rate.seconds_left(now, claims)
        return "" if seconds is None or claims <= 0 else f"{duration(seconds)} left"

    def _cost(self) -> str:
        usd = f", ${self._tally.usd:.4f}" if self._tally.usd is not None else ""
        stopped = f", {self._tally.stopped:,} stopped by the budget" if self._tally.stopped else ""
        return f"{counted(self._tally.errors, 'error')}{stopped}, {counted(self._tally.calls, 'call')}{usd}"
