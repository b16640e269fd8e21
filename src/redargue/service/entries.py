"""What the service stores beside a run (``check.json``), the lines of a run's log, and the log of requests.

An entry is the request, its owner and how it ended. A run's log is read while another part of the program, or another
process, appends to it. The log of requests has route, status, duration, check and outcome; never a text or a key.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redargue.claims import Frozen
from redargue.errors import RecordError
from redargue.events import EVENT, Event, head_of
from redargue.files import open_to_read, read_stored
from redargue.runs.record import write_atomically
from redargue.service.rules import CheckRequest
from redargue.verdicts import ErrorInfo, Usage

ENTRY_FILE = "check.json"
State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled", "interrupted"})


class CheckEntry(Frozen):
    """A check of the service; ``queued`` is also what is stored while it is running.

    Attributes:
        store: name of the store that runs it.
        owner: the caller's key id; empty for the user of this machine.
        method: chosen when it was requested; empty in entries of earlier versions.
        tools: likewise its search tools.
        budget: the lower one of the request's and the service's; empty for none.
        idempotency, body: hashes of the caller's idempotency key, with its route, and of the body sent with it.
        outcome: of a finished check: the meaning of a claim's label, the outcome of a text, or ``error``.
    """

    format: Literal[1] = 1
    store: str
    owner: str
    created: datetime
    request: CheckRequest
    method: str = ""
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


_BLOCK = 1 << 18  # bytes that one turn reads, where a line is not longer


class EventLine(NamedTuple):
    """A line of ``events.jsonl``, unchanged; ``number`` is from 1 and never changes."""

    number: int
    kind: str
    line: str

    @property
    def event(self) -> Event:
        """Raises RecordError."""
        try:
            return EVENT.validate_json(self.line)
        except ValidationError:
            raise _damaged(self.number) from None


class LogReader:
    """Reads complete lines from one on; the file need not exist yet, and is open only while it is read."""

    def __init__(self, folder: Path, after: int = 0) -> None:
        self._path, self._offset, self._number = folder / "events.jsonl", 0, 0
        while self._number < after and self._read(limit=after - self._number):
            pass
        if self._number < after:  # a number that this log never gave: begin again
            self._offset = self._number = 0

    def read(self) -> list[EventLine]:
        """The next lines; none if there is no complete one. Raises RecordError for a line that is not an event."""
        first = self._number + 1
        lines = self._read()
        return [_line(number, line) for number, line in enumerate(lines, first)]

    def all(self) -> Iterator[EventLine]:
        """All lines at hand; errors as of :meth:`read`."""
        while lines := self.read():
            yield from lines

    def _read(self, limit: int | None = None) -> list[bytes]:
        try:
            with open_to_read(self._path) as file:
                file.seek(self._offset)
                block = file.read(_BLOCK)
                if b"\n" not in block:
                    block += file.readline()
        except FileNotFoundError:
            return []
        *lines, _ = block.split(b"\n")
        lines = lines[:limit]
        self._offset += sum(len(line) + 1 for line in lines)
        self._number += len(lines)
        return lines


def _line(number: int, line: bytes) -> EventLine:
    head = head_of(line)
    # In a stream, a line break in either could end a frame and begin another.
    if head is None or b"\r" in line or not head.kind.isidentifier():
        raise _damaged(number)
    return EventLine(number, head.kind, line.decode())


def _damaged(number: int) -> RecordError:
    what = f"line {number} of the run's events.jsonl is not an event"
    return RecordError(what, hint="restore the file, or remove the run")


LINE = "redargue.line"  # in the scope of a request
_request_log = logging.getLogger("redargue.requests")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_current: ContextVar[dict[str, str] | None] = ContextVar("line of the request", default=None)


def note(check: str, outcome: str, scope: Scope | None = None) -> None:
    """Adds a check to the line of the request that is being answered; without a request, nothing.

    ``scope`` is of the request, where another task than the request's answers it. ``check`` is empty for a check
    without an id. A request with several checks names the last, and the outcomes of all.
    """
    line: dict[str, str] | None = scope.get(LINE) if scope else _current.get()
    if line is not None:
        earlier = line.get("outcome", "")
        line |= {"check": check} if check else {}
        line["outcome"] = f"{earlier},{outcome}" if earlier else outcome


class RequestLog:
    """Logs a line when a response has been sent, or its client has left.

    ``route`` is the path as the service declares it, so that it holds no value of a request; it is empty for a path
    that the service does not have. ``status`` is 0 where nothing was sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _request_log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        line = scope[LINE] = dict[str, str]()
        token = _current.set(line)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            status = status or 500
            raise
        finally:
            _current.reset(token)
            ms = round(1_000 * (time.monotonic() - began), 1)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            fields = {"method": method, "route": _route(scope), "status": status, "ms": ms, **line}
            _request_log.info("request", extra={"fields": fields})


def _route(scope: Scope) -> str:
    """The path of a request as the service declares it, also if it was refused before it was routed."""
    if route := scope.get("route"):
        return getattr(route, "path", "")
    application = scope.get("app")
    declared = application.openapi()["paths"] if isinstance(application, FastAPI) else {}
    return scope["path"] if "{" not in scope["path"] and scope["path"] in declared else ""
