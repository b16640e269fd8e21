"""Clocks: a run reads the time from its clock alone."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The source of a run's times."""

    def now(self) -> datetime:
        """The date and time, timezone-aware, in UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since the clock was created; monotonic."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed(self) -> float:
        return time.monotonic() - self._start
