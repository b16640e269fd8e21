"""JSON on standard output: one object, or a line per item.

The log of a command that runs for long, on stderr: lines for people, or JSON Lines for programs.
"""

from __future__ import annotations

import io
import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def print_json(value: object, *, indent: int | None = 1) -> None:
    """Prints a value that may contain models, in ASCII: no control character from a document reaches a terminal."""
    typer.echo(json.dumps(value, indent=indent, default=lambda model: model.model_dump(mode="json")))


class JsonLines:
    """Prints a line per item, as it arrives; ``ordered``: in the order of the items, so that a slow one delays others.

    Items are numbered from 0 without gaps.
    """

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered, self._next = ordered, 0
        self._waiting: dict[int, str] = {}

    def add(self, item: int, line: str) -> None:
        if not self._ordered:
            typer.echo(line)
            return
        self._waiting[item] = line
        while self._next in self._waiting:
            typer.echo(self._waiting.pop(self._next))
            self._next += 1


# Readers of the command's output that leave before its end, as ``| head`` does.

_GRACE = 2.0  # seconds for a server to end by itself, because its client has closed its input too
READER_LEFT = 141  # what a shell reports of a tool that SIGPIPE ended


def watch_readers() -> None:
    """Ends the process quietly when the reader of standard output leaves; messages that nobody reads are dropped.

    SIGPIPE stays ignored, because it would end a service when a client closes its connection. And standard output
    raises SystemExit instead of BrokenPipeError, so that no handler takes a connection's for its own, or the reverse.
    """
    if os.name != "posix":
        return
    for name, type_ in (("stdout", _Output), ("stderr", _Unread)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            setattr(sys, name, _over(type_(stream.fileno(), "w", closefd=False), stream))


@contextmanager
def leaving_with_reader() -> Iterator[None]:
    """Ends a server on standard input and output when nobody reads its answers any more.

    The SDK writes to a descriptor of its own, and waits for its thread that reads standard input, which may stay open.
    """
    raw = getattr(sys.stdout, "buffer", None)
    raw = getattr(raw, "raw", raw)
    if not isinstance(raw, _Output):
        yield
        return
    output = os.dup(raw.fileno())
    threading.Thread(target=_exit_without_reader, args=(output,), daemon=True).start()
    try:
        yield
    except BaseExceptionGroup:
        if not _reader_left(output, wait=False):
            raise
        raise SystemExit(READER_LEFT) from None


def _exit_without_reader(output: int) -> None:
    if _reader_left(output, wait=True):
        time.sleep(_GRACE)
        os._exit(READER_LEFT)


def _reader_left(output: int, *, wait: bool) -> bool:
    poll = select.poll()
    poll.register(output, 0)  # an error and a hang-up are always reported
    return bool(poll.poll(None if wait else 0))


def _over(raw: io.FileIO, stream: io.TextIOWrapper) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Unread(io.FileIO):
    """A file whose reader may leave; what is written then is lost."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return self.without_reader(data)

    def without_reader(self, data: ReadableBuffer) -> int:
        return super().write(data)


class _Output(_Unread):
    """Standard output: without a reader, nothing is left to do."""

    def without_reader(self, data: ReadableBuffer) -> int:
        raise SystemExit(READER_LEFT)


_LEVELS = {name: getattr(logging, name.upper()) for name in ("error", "warning", "info", "debug")}


def log_to_stderr(level: str, *, structured: bool = False) -> None:
    """Sends the log of this process to stderr, from a level on.

    ``structured`` makes JSON Lines with ``time``, ``level``, ``logger``, ``message`` and the values of the record; the
    requests of the service are among them, whatever the level.

    Raises UsageError for an unknown level.
    """
    if level not in _LEVELS:
        raise UsageError(f"unknown level {level!r}", where="--log-level", hint=did_you_mean(level, _LEVELS))
    handler = _Stderr()
    handler.setFormatter(_JsonLine() if structured else _Line())
    for name in ("redargue", "uvicorn"):  # uvicorn's failures are lines of the same log
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(_LEVELS[level])
    logging.getLogger("redargue.requests").setLevel(logging.INFO if structured else logging.CRITICAL)


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]  # generic to the type checker only
    """Writes to what stderr is at the time: a progress bar replaces it, and shows the line above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone().isoformat(" ", "seconds")
        return printable(f"{when} {record.levelname.lower()}: {super().format(record)}")


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)
