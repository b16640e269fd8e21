"""What the service stores beside a run: the request, its owner and how it ended (``check.json``)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from redargue.claims import Frozen
from redargue.errors import RecordError
from redargue.files import open_to_read
from redargue.runs.record import write_atomically
from redargue.service.requests import CheckRequest
from redargue.verdicts import ErrorInfo, Usage

ENTRY_FILE = "check.json"
_T = TypeVar("_T")
State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled", "interrupted"})


class CheckEntry(Frozen):
    """A check of the service; ``queued`` is also what is stored while it is running.

    Attributes:
        store: name of the store that runs it.
        owner: the caller's key id; empty for the user of this machine.
        tools: search tools, chosen when it was requested.
        budget: the lower one of the request's and the service's; empty for none.
        idempotency, body: hashes of the caller's idempotency key, with its route, and of the body sent with it.
        outcome: of a finished check: the meaning of a claim's label, the outcome of a text, or ``error``.
    """

    format: Literal[1] = 1
    store: str
    owner: str
    created: datetime
    request: CheckRequest
    tools: tuple[str, ...] | None = None
    budget: str = ""
    idempotency: str = ""
    body: str = ""
    state: State = "queued"
    outcome: str = ""
    error: ErrorInfo | None = None
    usage: Usage | None = None
    ended: datetime | None = None


def read_entry(folder: Path) -> CheckEntry | None:
    """The entry of a run folder; None if the service did not begin the run. Raises RecordError."""
    hint = "restore it, or remove the run"
    return read_stored(folder / ENTRY_FILE, CheckEntry.model_validate, hint=hint)


def read_stored(path: Path, parse: Callable[[Any], _T], *, hint: str) -> _T | None:
    """What a JSON file of the service holds; None without it. Raises RecordError if it is damaged."""
    try:
        with open_to_read(path) as file:
            return parse(json.loads(file.read()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RecordError(f"{str(path)!r} cannot be read", hint=hint) from error


def write_entry(folder: Path, entry: CheckEntry) -> None:
    write_atomically(folder / ENTRY_FILE, text_of_entry(entry))


def text_of_entry(entry: CheckEntry) -> str:
    return entry.model_dump_json(indent=1, exclude_defaults=True) + "\n"


# Writes small files, later where the disk is full.

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
