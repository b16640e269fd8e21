"""Time, from the run and never from the system behind its back."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What a run needs to know of time."""

    def now(self) -> datetime:
        """The date and time, aware, in UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since the clock was made, never going back."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> datetime:
        """The date and time, in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._start


class FixedClock:
    """A clock that stands still: for tests and for runs that must be equal byte for byte."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """The fixed moment."""
        return self._moment

    def elapsed(self) -> float:
        """0."""
        return 0.0
