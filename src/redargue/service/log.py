"""Reads the lines of a run's log while another part of the program, or another process, appends to it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from redargue.errors import RecordError
from redargue.events import EVENT, Event, head_of
from redargue.files import open_to_read

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
