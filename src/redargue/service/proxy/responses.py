"""Responses: verdicts are put on each part ``output_text``, in the events that repeat the whole part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from redargue.service.proxy.block import CheckBlock, citations
from redargue.service.proxy.dialect import Dialect, Key, Payload, SseEvent, StreamStep, as_list, data_event
from redargue.service.proxy.shapes import RESPONSE, STREAM_EVENT

_REFUSAL = "refusal"
_DELTA, _TEXT_DONE = "response.output_text.delta", "response.output_text.done"
_BESIDE = ("response.reasoning", "response.output_text.annotation")  # types of events begin with them
_BEFORE_TEXT = ("response.created", "response.queued", "response.in_progress")


@dataclass
class ResponsesDialect(Dialect):
    """One response of ``/v1/responses``."""

    _shift: int = 0  # events that were added, so that later ones get higher numbers
    _deltas: dict[Key, list[str]] = field(default_factory=dict)  # the text that has arrived
    _last: Key | None = None  # of the last delta
    continued: ClassVar[bool] = True
    listing: ClassVar[str] = "output"

    def texts(self, payload: Payload) -> dict[Key, str]:
        return {key: _text(part) for key, part in _parts(payload)}

    def beside(self, payload: Payload) -> StreamStep:
        step = self.looked_over(payload, RESPONSE)
        refused = tuple((key, "output") for key, part in _parts(payload) if part.get("type") == _REFUSAL)
        return step._replace(unread=(*step.unread, *refused, *_odd_texts(payload)))

    def annotate(self, payload: Payload) -> None:
        self.left_out(payload, RESPONSE, withheld=bool(self.replaced))
        for key, part in _parts(payload):
            self._annotate_part(key, part)
        self._repeat(payload)

    def _annotate_part(self, key: Key, part: Payload) -> bool:
        block = self.blocks.get(key)
        if block is None:
            return False
        part["redargue"] = block.payload()
        if part.get("type") != _REFUSAL:
            part["text"] = self.text_of(key, _text(part))
            part["annotations"] = [*as_list(part.get("annotations")), *_annotations(block)]
        return True

    def _repeat(self, response: Payload) -> bool:
        """Corrects the text of the whole output, which some servers repeat beside it, as the parts have been."""
        if not self.appended or "output_text" not in response:
            return False
        response["output_text"] = _joined(response)
        return True

    def read(self, payload: Payload) -> StreamStep:
        key = _key(payload)
        step = self.looked_over(payload, STREAM_EVENT)
        if payload.get("type") == _DELTA and isinstance(payload.get("delta"), str):
            unread = step.unread
            if self._last not in (None, key) and key in self._deltas:
                unread = (*unread, (None, _DELTA))  # clients that show deltas as they come would show another text
            self._last = key
            self._deltas.setdefault(key, []).append(payload["delta"])
            return step._replace(added=((key, payload["delta"]),), unread=unread)
        if payload.get("type") == "response.refusal.done":
            return step._replace(ended=(key,), unread=(*step.unread, (key, "refusal")))
        found = dict(_repeated(payload))
        open_ = [(key, part) for key, part in found.items() if key not in self.ended]
        added = tuple((key, text) for key, part in open_ if (text := self._not_streamed(key, part)))
        unread = (*step.unread, *((key, "output") for key, part in found.items() if self._differs(key, part)))
        if isinstance(response := payload.get("response"), dict):
            unread = (*unread, *_odd_texts(response))
        return step._replace(added=added, ended=tuple(found), unread=unread)

    def _not_streamed(self, key: Key, part: Payload) -> str:
        """What a whole part has after its deltas; all of it, where there were none."""
        text, streamed = _text(part), self._streamed(key)
        rest = text[len(streamed) :] if text.startswith(streamed) else ""
        if not rest.strip():
            return ""
        self._deltas[key] = [text]
        return rest

    def _streamed(self, key: Key) -> str:
        pieces = self._deltas.get(key, [])
        pieces[:] = ["".join(pieces)]  # joined once, however many events repeat the part
        return pieces[0]

    def _differs(self, key: Key, part: Payload) -> bool:
        streamed = self._streamed(key)
        return part.get("type") == _REFUSAL or _text(part).rstrip() != streamed.rstrip()

    def without(self, payload: Payload, keys: Collection[Key]) -> Payload:
        return payload | {"delta": ""} if payload.get("type") == _DELTA else payload

    def waits(self, event: SseEvent, pending: Collection[Key]) -> bool:
        return event.data is not None and bool(pending)

    def write(self, event: SseEvent) -> list[bytes]:
        payload = event.payload
        if payload is None:
            return [event.raw]
        before: list[bytes] = []
        kind, key = str(payload.get("type", "")), _key(payload)
        if kind.startswith(_BESIDE) and (self.closed or self.replaced):
            return []
        changed = self.rebuilt | self.left_out(payload, STREAM_EVENT, withheld=bool(self.replaced))
        if kind == _DELTA and key in self.replaced:
            payload["delta"] = self.replacement(key)
            changed = True
        elif kind == _TEXT_DONE and key in self.blocks:
            before = self._missing(key, payload)
            payload["text"] = self.text_of(key, str(payload.get("text") or ""))
            changed = True
        else:
            for found, part in _repeated(payload):
                changed |= self._annotate_part(found, part)
            if isinstance(response := payload.get("response"), dict):
                changed |= self._repeat(response)
        changed |= self._renumber(payload) if self._shift else False
        return [*before, data_event(payload, kind) if changed else event.raw]

    def _missing(self, key: Key, payload: Payload) -> list[bytes]:
        if not (text := self.missing_text(key)):
            return []
        names = ("item_id", "output_index", "content_index", "sequence_number")
        delta = {"type": _DELTA, **{name: payload[name] for name in names if name in payload}}
        delta |= {"delta": text, "logprobs": []}
        self._renumber(delta)
        self._shift += 1
        return [data_event(delta, _DELTA)]

    def _renumber(self, payload: Payload) -> bool:
        number = payload.get("sequence_number")
        if isinstance(number, int):
            payload["sequence_number"] = number + self._shift
        return isinstance(number, int)

    def revision(self, body: Mapping[str, Any], messages: list[dict[str, str]]) -> Payload:
        kept = {name: value for name, value in body.items() if name not in ("stream", "stream_options", "background")}
        given = body.get("input")
        first = given if isinstance(given, list) else [{"role": "user", "content": str(given or "")}]
        return {**kept, "input": [*first, *messages]}


def _key(payload: Payload) -> Key:
    places = (payload.get("output_index"), payload.get("content_index"))
    return tuple(place if isinstance(place, int) else 0 for place in places)


def _text(part: Payload) -> str:
    return str(part.get("text") or "")


def _repeated(payload: Payload) -> Iterator[tuple[Key, Payload]]:
    """The parts that an event repeats as a whole: it, or one before it, ends their text."""
    kind, key = str(payload.get("type")), _key(payload)
    if kind == _TEXT_DONE:
        yield key, payload | {"type": "output_text"}
    elif kind == "response.content_part.done" and isinstance(part := payload.get("part"), dict):
        yield from ((key, found) for _, found in _content({"content": [part]}))
    elif kind == "response.output_item.done" and isinstance(item := payload.get("item"), dict):
        yield from (((key[0], number), part) for number, part in _content(item))
    elif kind not in _BEFORE_TEXT and isinstance(response := payload.get("response"), dict):
        yield from _parts(response)


def _joined(response: Payload) -> str:
    """The text of the whole output, as clients' ``output_text`` has it."""
    return "".join(_text(part) for _, part in _parts(response) if part.get("type") != _REFUSAL)


def _odd_texts(response: Payload) -> Iterator[tuple[Key | None, str]]:
    """A text of the whole output that is not that of the parts."""
    repeated = response.get("output_text")
    if repeated not in (None, "") and repeated != _joined(response):
        yield None, "output_text"


def _parts(response: Payload) -> Iterator[tuple[Key, Payload]]:
    for at, item in enumerate(as_list(response.get("output"))):
        if isinstance(item, dict):
            yield from (((at, number), part) for number, part in _content(item))


def _content(item: Payload) -> Iterator[tuple[int, Payload]]:
    content = item.get("content") if item.get("type", "message") == "message" else None
    for number, part in enumerate(as_list(content)):
        if isinstance(part, dict) and part.get("type") in ("output_text", _REFUSAL):
            yield number, part


def _annotations(block: CheckBlock) -> list[Payload]:
    return [{"type": "url_citation", **citation} for citation in citations(block)]
