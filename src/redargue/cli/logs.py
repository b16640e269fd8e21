"""The log of a command that runs for long, on stderr: lines for people, or JSON Lines for programs."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import printable

_LEVELS = {name: getattr(logging, name.upper()) for name in ("error", "warning", "info", "debug")}
_FIELDS = "fields"  # of a record: the values of its JSON line, beside the message
_LOGGERS = ("redargue", "uvicorn")  # uvicorn's failures are lines of the same log


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
    for name in _LOGGERS:
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
        values: Mapping[str, object] = getattr(record, _FIELDS, {})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **values,
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)
