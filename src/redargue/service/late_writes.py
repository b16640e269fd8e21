"""Writes small files, later where the disk is full."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

from redargue.runs.record import write_atomically

_AGAIN = 2.0  # seconds between tries
_log = logging.getLogger("redargue.service")


class LateWrites:
    """Files that could not be written yet; each is tried again until there is room. Needs a running event loop."""

    def __init__(self) -> None:
        self._waiting: dict[Path, str] = {}
        self._task: asyncio.Task[None] | None = None

    def write(self, path: Path, text: str) -> None:
        """Writes a file in a folder that exists, now or later."""
        try:
            write_atomically(path, text)
            self._waiting.pop(path, None)
        except OSError as error:
            _log.error("%s is written later: %s", path.name, error.strerror)
            self._waiting[path] = text
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._write_later(), name="late writes")

    def text(self, path: Path) -> str | None:
        """What is to be written to a file; None if nothing is."""
        return self._waiting.get(path)

    def withdraw(self, path: Path) -> str | None:
        """What was to be written to a file, which it no longer is."""
        return self._waiting.pop(path, None)

    async def close(self) -> None:
        """Tries once more."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._write_all()

    async def _write_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(_AGAIN)
            self._write_all()

    def _write_all(self) -> None:
        for path, text in list(self._waiting.items()):
            with suppress(OSError):
                if path.parent.is_dir():  # else it was erased meanwhile
                    write_atomically(path, text)
                del self._waiting[path]
