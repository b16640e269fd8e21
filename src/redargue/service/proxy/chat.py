"""Chat Completions: verdicts are put on the message, or on the one chunk that ends a choice.

No other place was safe in every client: openai-python fails on a key that two deltas have and on chunks without
``choices`` (docs/proxy.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from redargue.service.proxy.block import CheckBlock, citations
from redargue.service.proxy.contexts import content_text
from redargue.service.proxy.dialect import Dialect, Key, Payload, Step, as_list
from redargue.service.proxy.sse import DONE, SseEvent, data_event, dumped

_OURS = ("annotations", "redargue")  # keys that only one delta of a choice may have
_UNREAD = ("refusal", "audio", "images")
# All else that a message or choice has may say what a withheld text says.
_KEPT = ("role", "content", "tool_calls", "function_call", *_OURS)
_KEPT_OF_CHOICE = ("index", "finish_reason")
_READ_PARTS = ("text", "thinking", "reasoning")  # types of parts of a content


@dataclass
class ChatDialect(Dialect):
    """One response of ``/v1/chat/completions``."""

    _cited: set[Key] = field(default_factory=set)  # choices to which the upstream has sent annotations
    _written: set[Key] = field(default_factory=set)  # choices whose replacement was sent
    _told: set[Key] = field(default_factory=set)  # choices whose verdicts were sent
    _head: Payload = field(default_factory=dict)

    def knows(self, payload: Payload) -> bool:
        return isinstance(payload.get("choices"), list)

    def texts(self, payload: Payload) -> dict[Key, str]:
        return {
            (number,): content_text(message.get("content"))
            for number, choice in _listed(payload)
            if isinstance(message := choice.get("message"), dict)
        }

    def unread(self, payload: Payload) -> set[Key]:
        return {(number,) for number, choice in _listed(payload) if _has_unread(choice.get("message"))}

    def annotate(self, payload: Payload) -> None:
        for number, choice in _listed(payload):
            message, block = choice.get("message"), self.blocks.get((number,))
            if not isinstance(message, dict) or block is None:
                continue
            text = content_text(message.get("content"))
            if (changed := self.text_of((number,), text)) != text:
                message["content"] = changed
            if self._remove_telling((number,), choice, "message"):
                message = choice["message"]
            message["annotations"] = [*as_list(message.get("annotations")), *_annotations(block)]
            message["redargue"] = block.payload()

    def split(self, event: SseEvent) -> Iterable[SseEvent]:
        payload = event.payload or {}
        choices = [choice for _, choice in _choices(payload)]
        if not any(choice.get("finish_reason") for choice in choices):
            return [event]
        parts: list[list[Payload]] = []
        for choice in choices:
            delta = _delta(choice)
            if choice.get("finish_reason") and any(value for name, value in delta.items() if name not in _OURS):
                ours = {name: value for name, value in delta.items() if name in _OURS}
                others = {name: value for name, value in delta.items() if name not in _OURS}
                parts += [[{**choice, "delta": others, "finish_reason": None}], [{**choice, "delta": ours}]]
            else:
                parts.append([choice])
        if len(parts) == 1:
            return [event]
        # Usage, if any, is of the whole response, and stays with the last.
        head = {name: value for name, value in payload.items() if name not in ("choices", "usage")}
        usage = {"usage": payload["usage"]} if "usage" in payload else {}
        whole = [{**head, "choices": part, **(usage if part is parts[-1] else {})} for part in parts]
        return [SseEvent(data_event(part), dumped(part)) for part in whole]

    def read(self, payload: Payload) -> Step:
        added: list[tuple[Key, str]] = []
        ended: list[Key] = []
        unread: list[Key] = []
        if payload.get("id"):
            self._head = {name: value for name, value in payload.items() if name not in ("choices", "usage")}
        for number, choice in _choices(payload):
            delta, key = _delta(choice), (number,)
            added.append((key, content_text(delta.get("content"))))
            if _has_unread(delta):
                unread.append(key)
            if choice.get("finish_reason"):
                ended.append(key)
            elif delta.get("annotations"):
                self._cited.add(key)
        return Step(tuple(added), tuple(ended), tuple(unread))

    def without(self, payload: Payload, keys: Collection[Key]) -> Payload:
        for number, choice in _choices(payload):
            if (number,) in keys:
                _delta(choice)["content"] = ""
        return payload

    def waits(self, event: SseEvent, pending: Iterable[Key]) -> bool:
        waiting = set(pending)
        if not waiting or event.data is None:
            return False
        payload = event.payload
        if payload is None:
            return event.data == DONE
        choices = list(_choices(payload))
        finished = {(number,) for number, choice in choices if choice.get("finish_reason")}
        return bool(finished & waiting) or not choices

    def write(self, event: SseEvent) -> list[bytes]:
        payload = event.payload
        if payload is None:
            return [*(self.rest() if event.data == DONE else []), event.raw]
        before: list[bytes] = []
        changed = False
        for number, choice in _choices(payload):
            key = (number,)
            changed |= self._replace(key, choice)
            changed |= _delta(choice).pop("redargue", None) is not None  # verdicts of others would pass for ours
            if choice.get("finish_reason") and key not in self._told and (block := self.blocks.get(key)):
                before += self._missing(key, payload, choice)
                choice["delta"] = self._told_delta(key, block, _delta(choice))
                changed = True
        return [*before, data_event(payload) if changed else event.raw]

    def _replace(self, key: Key, choice: Payload) -> bool:
        """Puts the replacement into the first delta with text, and removes the others' text."""
        if not self._remove_telling(key, choice, "delta"):
            return False
        if (delta := _delta(choice)).get("content"):
            delta["content"] = "" if key in self._written else self.replaced[key]
            self._written.add(key)
        return True

    def _remove_telling(self, key: Key, choice: Payload, holder: str) -> bool:
        """Removes what else may say what a replaced text said; ``holder`` is the name of the message or delta."""
        if key not in self.replaced:
            return False
        message = choice.get(holder)
        if isinstance(message, dict):
            choice[holder] = {name: value for name, value in message.items() if name in _KEPT}
        for name in [name for name in choice if name not in (*_KEPT_OF_CHOICE, holder)]:
            del choice[name]
        return True

    def _missing(self, key: Key, payload: Payload, choice: Payload) -> list[bytes]:
        if not (text := self._missing_text(key)):
            return []
        part = {**choice, "delta": {"content": text}, "finish_reason": None}
        return [data_event({**payload, "choices": [part], **({"usage": None} if "usage" in payload else {})})]

    def _missing_text(self, key: Key) -> str:
        """What follows the text, and the replacement where no delta had text."""
        before = "" if key in self._written else self.replaced.get(key, "")
        return before + self.appended.get(key, "")

    def _told_delta(self, key: Key, block: CheckBlock, delta: Payload) -> Payload:
        self._told.add(key)
        cited = [*as_list(delta.get("annotations")), *_annotations(block)]
        ours: Payload = {"annotations": cited} if cited and key not in self._cited else {}
        return {**delta, **ours, "redargue": block.payload()}

    def rest(self) -> list[bytes]:
        chunks = []
        for key, block in self.blocks.items():
            if key not in self._told:
                text = self._missing_text(key)
                delta = self._told_delta(key, block, {"content": text} if text else {})
                choice = {"index": key[0], "delta": delta, "finish_reason": None}
                chunks.append(data_event({**self._head, "choices": [choice]}))
        return chunks

    def revision(self, body: Mapping[str, Any], messages: list[dict[str, str]]) -> Payload:
        kept = {name: value for name, value in body.items() if name not in ("stream", "stream_options", "n")}
        return {**kept, "messages": [*as_list(body.get("messages")), *messages]}


def _listed(payload: Payload) -> Iterable[tuple[int, Payload]]:
    """The choices of a whole response, by their place."""
    return ((at, choice) for at, choice in enumerate(as_list(payload.get("choices"))) if isinstance(choice, dict))


def _choices(payload: Payload) -> Iterable[tuple[int, Payload]]:
    """The choices of a chunk, by their index."""
    for place, choice in _listed(payload):
        index = choice.get("index")
        yield index if isinstance(index, int) else place, choice


def _delta(choice: Payload) -> Payload:
    delta = choice.get("delta")
    return delta if isinstance(delta, dict) else {}


def _has_unread(message: object) -> bool:
    """Whether a message, or a part of one in a delta, has content that is not text."""
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    other = any(isinstance(part, dict) and part.get("type", "text") not in _READ_PARTS for part in as_list(content))
    return other or any(message.get(name) for name in _UNREAD)


def _annotations(block: CheckBlock) -> list[Payload]:
    return [
        {
            "type": "url_citation",
            "url_citation": {"start_index": start, "end_index": end, "title": title, "url": url},
        }
        for start, end, title, url in citations(block)
    ]
