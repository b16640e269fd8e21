"""Server-sent events, and what the two APIs of the proxy have in common.

Events are split from the bytes of a stream, with the bytes kept, and written. Both APIs say which texts of an answer
are checked, and where their verdicts are put.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from redargue.service.proxy.block import CheckBlock
from redargue.service.proxy.shapes import Shape, ValueKind, read_object, remove, strings, unread_fields, without_ours

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


Key = tuple[int, ...]  # the index of a choice, or those of an output and its part
Payload = dict[str, Any]


def as_list(value: object) -> list[Any]:
    """The value, if it is a list: servers send null and odder things."""
    return value if isinstance(value, list) else []


_ENDS_A_SENTENCE = re.compile(r"""(?:[.!?…:;。！？|`]["'”’»)\]*_]*|\n)\s*\Z""")


def ends_a_sentence(text: str) -> bool:
    """Whether what follows a text cannot continue its last sentence."""
    return _ENDS_A_SENTENCE.search(text[-100:]) is not None


class StreamStep(NamedTuple):
    """What an event or a whole response adds.

    Attributes:
        added: text of some answers.
        ended: answers that it ends.
        unread: where there is text that is not read, and in which answer; None for all answers.
        calls: the inputs of calls, likewise; the second is the call's place.
    """

    added: tuple[tuple[Key, str], ...] = ()
    ended: tuple[Key, ...] = ()
    unread: tuple[tuple[Key | None, str], ...] = ()
    calls: tuple[tuple[Key | None, str, str], ...] = ()


@dataclass
class Dialect(ABC):
    """One response in one API.

    Attributes:
        request: the client's, without its options for this service.
        closed: whether nothing is sent that was not read; reasoning, token probabilities and citations are left out.
        rebuilt: whether every event is written anew from what was read in it, so that all clients read the same.
        blocks: of the answers that have been checked.
        replaced: texts in place of answers.
        appended: texts after answers.
        ended: answers whose text is complete.
        continued: whether clients join the texts of a response into one.
        listing: the field of a whole response that has its answers, a list.
    """

    request: Payload = field(default_factory=dict)
    closed: bool = False
    rebuilt: bool = False
    blocks: dict[Key, CheckBlock] = field(default_factory=dict)
    replaced: dict[Key, str] = field(default_factory=dict)
    appended: dict[Key, str] = field(default_factory=dict)
    ended: set[Key] = field(default_factory=set)
    _written: set[Key] = field(default_factory=set)  # answers whose replacement was sent
    continued: ClassVar[bool] = False
    listing: ClassVar[str]

    @cached_property
    def echoed(self) -> frozenset[str]:
        """The texts of the request beside the conversation: an answer repeats its instructions and tools."""
        return frozenset(strings([value for name, value in self.request.items() if name not in ("messages", "input")]))

    @cached_property
    def offers_tools(self) -> bool:
        """Whether the request has tools, so that a program awaits the inputs of calls."""
        return bool(as_list(self.request.get("tools")) or as_list(self.request.get("functions")))

    def looked_over(self, value: Payload, shape: Shape, key: Key | None = None, place: str = "") -> StreamStep:
        """What a part of a response has beside the texts that are read."""
        unread: list[tuple[Key | None, str]] = []
        calls: list[tuple[Key | None, str, str]] = []
        for found in unread_fields(value, shape, self.echoed, place):
            if found.kind is ValueKind.CALL:
                calls += ((key, found.place, text) for text in strings(found.holder[found.name]))
            elif found.kind is not ValueKind.BESIDE:
                unread.append((key, found.place))
        return StreamStep(unread=tuple(unread), calls=tuple(calls))

    def left_out(self, value: Payload, shape: Shape, *, withheld: bool) -> bool:
        """Takes out of a part of a response what may not be sent; whether there was anything.

        Of a withheld answer, this is everything that may repeat it; of others under ``closed``, what is beside them.
        """
        if not (withheld or self.closed):
            return False
        kinds = (ValueKind.BESIDE, None) if withheld else (ValueKind.BESIDE,)
        return remove([found for found in unread_fields(value, shape, self.echoed) if found.kind in kinds])

    def knows(self, payload: Payload) -> bool:
        """Whether a whole response has the API's shape."""
        return isinstance(payload.get(self.listing), list)

    @abstractmethod
    def texts(self, payload: Payload) -> dict[Key, str]:
        """The answers of a whole response; an answer without text, such as a call, is empty."""

    @abstractmethod
    def beside(self, payload: Payload) -> StreamStep:
        """What a whole response has beside its answers' texts."""

    @abstractmethod
    def annotate(self, payload: Payload) -> None:
        """Puts blocks and texts into a whole response."""

    def split(self, event: SseEvent) -> Iterable[SseEvent]:
        """The event, or several that say the same, so that each waits for one check at most."""
        return [event]

    @abstractmethod
    def read(self, payload: Payload) -> StreamStep: ...

    @abstractmethod
    def without(self, payload: Payload, keys: Collection[Key]) -> Payload:
        """An event without the text that it adds to some answers."""

    @abstractmethod
    def waits(self, event: SseEvent, pending: Collection[Key]) -> bool:
        """Whether an event may only be sent after some of the pending checks."""

    @abstractmethod
    def write(self, event: SseEvent) -> list[bytes]:
        """The event as it is sent, with what belongs before it; its payload may be changed."""

    def rest(self) -> list[bytes]:
        """The verdicts on answers that the stream did not end properly, where an event can carry them."""
        return []

    @abstractmethod
    def revision(self, body: Mapping[str, Any], messages: list[dict[str, str]]) -> Payload:
        """The request for another draft, which is not streamed."""

    def text_of(self, key: Key, text: str) -> str:
        return self.replaced.get(key, text) + self.appended.get(key, "")

    def replacement(self, key: Key) -> str:
        """What takes the place of a delta of a replaced answer: all of it the first time, then nothing."""
        text = "" if key in self._written else self.replaced[key]
        self._written.add(key)
        return text

    def missing_text(self, key: Key) -> str:
        """What follows the text, and the replacement where no delta had text."""
        before = "" if key in self._written else self.replaced.get(key, "")
        return before + self.appended.get(key, "")
