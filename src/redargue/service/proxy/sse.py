"""Server-sent events: split from the bytes of a stream, with the bytes kept, and written."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LARGEST_EVENT = 20_000_000  # bytes
DONE = "[DONE]"


class SseEvent(NamedTuple):
    """One event; ``data`` is None for comments, and ``raw`` has its bytes, blank line included."""

    raw: bytes
    data: str | None = None

    @property
    def payload(self) -> dict[str, Any] | None:
        """The data as a JSON object; None where it is something else."""
        if self.data is None:
            return None
        try:
            value = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class EventSplitter:
    """Splits a stream that arrives in chunks; a character cut by them stays whole."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, chunk: bytes) -> list[SseEvent]:
        data = self._rest + chunk
        events, at = [], 0
        # A carriage return at the end may be half of a line break.
        begin, end_of_search = max(0, len(self._rest) - 3), len(data) - data.endswith(b"\r")
        for end in _END.finditer(data, begin, end_of_search):
            events.append(_event(data[at : end.end()]))
            at = end.end()
        self._rest = data[at:]
        if len(self._rest) > LARGEST_EVENT:
            raise ValueError(f"an event of more than {LARGEST_EVENT:,} bytes")
        return events

    def end(self) -> list[SseEvent]:
        rest, self._rest = self._rest, b""
        return [_event(rest)] if rest else []


def _event(raw: bytes) -> SseEvent:
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")  # a byte order mark, with which a stream may begin
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = [line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:")]
    return SseEvent(raw, "\n".join(data) if data else None)


async def events_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[SseEvent]:
    splitter = EventSplitter()
    async for chunk in chunks:
        for event in splitter.add(chunk):
            yield event
    for event in splitter.end():
        yield event


def comment(text: str) -> bytes:
    """A line that clients skip, which keeps a connection open."""
    return f": {text}\n\n".encode()


def dumped(value: object) -> str:
    """JSON in UTF-8; half a character of UTF-16, as some models stream it, stays escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def data_event(payload: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name.isascii() and name.isprintable() and name else ""
    return f"{head}data: {dumped(payload)}\n\n".encode()
