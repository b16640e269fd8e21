"""Restart policy for crashed workers."""

from __future__ import annotations

from redargue.errors import RecordError

MAX_DEATHS = 10  # since a claim was last finished; more are not the fault of single claims


class RestartPolicy:
    """Counts the crashes of workers since a claim was last finished."""

    def __init__(self, workers: int) -> None:
        self._limit, self._deaths, self._finished = max(MAX_DEATHS, 2 * workers), 0, -1

    def update(self, finished: int) -> None:
        if finished != self._finished:
            self._deaths, self._finished = 0, finished

    def worker_died(self, reason: str) -> None:
        """Counts a crash; raises RecordError if too many workers died without finishing a claim."""
        self._deaths += 1
        if self._deaths > self._limit:
            raise RecordError(f"{self._deaths} workers died without finishing a claim", hint=reason)
