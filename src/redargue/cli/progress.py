"""How far many claims are, on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redargue.runs.clock import Clock

EVERY = 10.0  # seconds between two lines off a terminal


class Counted(Protocol):
    """What claims have come to so far: as many ``kinds`` as verdicts; errors, calls, dollars where prices are known."""

    @property
    def kinds(self) -> Sequence[object]: ...
    @property
    def errors(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def usd(self) -> float | None: ...


class Progress:
    """Done of total, errors, cost, time left; a context manager.

    Args:
        tally: what the claims have come to; a verdict is added to it before :meth:`moved` is called.
        total: the claims.
        clock: tells the seconds.
        name: of what runs, where there are several.
        known: claims that were finished before; told at the beginning.
        quiet: shows nothing.
    """

    def __init__(
        self, tally: Counted, total: int, *, clock: Clock, name: str = "", known: int = 0, quiet: bool = False
    ) -> None:
        import sys

        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._tally, self._total, self._quiet, self._clock = tally, total, quiet, clock
        self._name, self._known = name, known
        self._began = self._told = clock.elapsed()
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True, markup=False)
        self._animated = self._console.is_terminal and not quiet
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[cost]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._animated,
        )
        self._task = self._bar.add_task(name or "claims", total=total, cost="")

    def moved(self, by: int = 1, *, again: bool = False) -> None:
        """One more verdict, or several.

        Args:
            by: how many.
            again: it was reached before, and was not among those known at the beginning.
        """
        self._known += again
        self._bar.update(self._task, advance=by, cost=self._cost())
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
        name = f"{self._name}: " if self._name else ""
        self._console.print(f"{name}{done:,} of {self._total:,} claims, {self._cost()}, {seconds:.1f} s{left}")

    def _cost(self) -> str:
        usd = f", ${self._tally.usd:.4f}" if self._tally.usd is not None else ""
        return f"{self._tally.errors:,} errors, {self._tally.calls:,} calls{usd}"
