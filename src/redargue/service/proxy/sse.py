"""Server-sent events: split from the bytes of a stream, with the bytes kept, and written."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from redargue.service.proxy.shapes import read_object, without_ours

_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2,}")  # any two line ends, and the blank lines after them
_LINE_END = re.compile(r"\r\n|\n|\r")
LARGEST_EVENT = 20_000_000  # bytes
DONE = "[DONE]"


@dataclass(frozen=True)
class SseEvent:
    """One event, or several comments.

    Attributes:
        raw: its bytes, blank line included.
        data: None for comments.
        payload: the data as a JSON object; None where it is something else.
    """

    raw: bytes
    data: str | None = None
    payload: dict[str, object] | None = None
    unreadable: bool = False

    @property
    def is_done(self) -> bool:
        return self.data == DONE


class EventSplitter:
    """Splits a stream that arrives in chunks; a character cut by them stays whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._begun = False

    def add(self, chunk: bytes) -> list[SseEvent]:
        data = self._rest + chunk
        if not self._begun and len(data) < 3:  # may be a part of a byte order mark
            self._rest = data
            return []
        parts, at = [], 0
        # A carriage return at the end may be half of a line break.
        begin, end_of_search = max(0, len(self._rest) - 3), len(data) - data.endswith(b"\r")
        for end in _END.finditer(data, begin, end_of_search):
            parts.append(data[at : end.end()])
            at = end.end()
        self._rest = data[at:]
        if len(self._rest) > LARGEST_EVENT:
            raise ValueError(f"an event of more than {LARGEST_EVENT:,} bytes")
        return self._events(parts)

    def end(self) -> list[SseEvent]:
        """What no blank line ends; a part of an event is dropped, as clients drop it."""
        rest, self._rest = self._rest, b""
        events = self._events([rest] if rest else [])
        cut = rest.startswith(b"data:") and any(event.unreadable for event in events)
        return [] if cut else events

    def _events(self, parts: list[bytes]) -> list[SseEvent]:
        """The events; comments in a row are one, because each event costs far more time than its bytes."""
        events: list[SseEvent] = []
        comments: list[bytes] = []
        for raw in parts:
            event = _event(raw, first=not self._begun)
            self._begun = True
            if event is None:
                if raw.strip():  # blank lines alone mean nothing, and are not sent
                    comments.append(raw)
                continue
            if comments:
                events.append(SseEvent(b"".join(comments)))
                comments = []
            events.append(event)
        return [*events, SseEvent(b"".join(comments))] if comments else events


def _event(raw: bytes, *, first: bool) -> SseEvent | None:
    """An event; None for comments and blank lines."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return _unreadable(raw)
    if first:
        text = text.removeprefix("\ufeff")  # a byte order mark, with which a stream may begin
    lines = [line for line in _LINE_END.split(text) if line and not line.startswith(":")]
    if not lines:
        return None
    values: dict[str, list[str]] = {name: [] for name in ("data", "event", "id", "retry")}
    for line in lines:
        name, _, value = line.partition(":")
        if name not in values:
            return _unreadable(raw)
        values[name].append(value.removeprefix(" "))
    if not values["data"]:
        return None
    data, name = "\n".join(values["data"]), "".join(values["event"][-1:])
    if data == DONE:
        return SseEvent(raw, data)
    try:
        found = read_object(data)
    except ValueError:
        return _unreadable(raw, data)
    return event_of(found.value, name) if found.cleaned else SseEvent(raw, data, found.value)


def _unreadable(raw: bytes, data: str | None = None) -> SseEvent:
    return SseEvent(without_ours(raw), data, unreadable=True)


def event_of(payload: dict[str, object], name: str = "") -> SseEvent:
    return SseEvent(data_event(payload, name), compact_json(payload), payload)


async def events_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[SseEvent]]:
    """The events that each chunk completes."""
    splitter = EventSplitter()
    async for chunk in chunks:
        if events := splitter.add(chunk):
            yield events
    if events := splitter.end():
        yield events


def comment(text: str) -> bytes:
    """A line that clients skip, which keeps a connection open."""
    return f": {text}\n\n".encode()


def compact_json(value: object) -> str:
    """JSON in UTF-8; half a character of UTF-16, as some models stream it, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def data_event(payload: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name.isascii() and name.isprintable() and name else ""
    return f"{head}data: {compact_json(payload)}\n\n".encode()
