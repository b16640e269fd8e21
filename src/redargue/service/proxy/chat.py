"""Chat Completions: verdicts are put on the message, or on the one chunk that ends a choice.

No other place was safe in every client: openai-python fails on a key that two deltas have and on chunks without
``choices`` (docs/proxy.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from redargue.service.proxy.block import CheckBlock, citations
from redargue.service.proxy.contexts import content_text
from redargue.service.proxy.dialect import (
    Dialect,
    Key,
    Payload,
    SseEvent,
    StreamStep,
    as_list,
    data_event,
    ends_a_sentence,
    event_of,
)
from redargue.service.proxy.shapes import CHAT, CHOICE, CHUNK_CHOICE, Shape

_OURS = ("annotations", "redargue")  # keys that only one delta of a choice may have
_HEAD = ("id", "object", "created", "model", "system_fingerprint")


@dataclass
class ChatDialect(Dialect):
    """One response of ``/v1/chat/completions``."""

    _cited: set[Key] = field(default_factory=set)  # choices to which the upstream has sent annotations
    _annotated: set[Key] = field(default_factory=set)  # choices whose verdicts were sent
    _head: Payload = field(default_factory=dict)
    listing: ClassVar[str] = "choices"

    def texts(self, payload: Payload) -> dict[Key, str]:
        return {
            (number,): content_text(message.get("content"))
            for number, choice in _listed(payload)
            if isinstance(message := choice.get("message"), dict)
        }

    def beside(self, payload: Payload) -> StreamStep:
        return self._beside(payload, _listed(payload), CHOICE, "message")

    def _beside(
        self, payload: Payload, choices: Iterable[tuple[int, Payload]], shape: Shape, holder: str
    ) -> StreamStep:
        whole = self.looked_over(payload, CHAT)
        unread, calls = whole.unread, whole.calls
        if any(not isinstance(choice, dict) for choice in as_list(payload.get("choices"))):
            unread += ((None, "choices"),)
        for number, choice in choices:
            key, place = (number,), f"choices[{number}]"
            step = self.looked_over(choice, shape, key, place)
            unread, calls = unread + step.unread, calls + step.calls
            if isinstance(message := choice.get(holder), dict) and _is_cut(message.get("content")):
                unread += ((key, f"{place}.{holder}.content"),)
        return StreamStep(unread=unread, calls=calls)

    def annotate(self, payload: Payload) -> None:
        self.left_out(payload, CHAT, withheld=bool(self.replaced))
        for number, choice in _listed(payload):
            key = (number,)
            message, block = choice.get("message"), self.blocks.get(key)
            if not isinstance(message, dict) or block is None:
                continue
            text = content_text(message.get("content"))
            self.left_out(choice, CHOICE, withheld=key in self.replaced)
            message = choice.setdefault("message", {})
            if (changed := self.text_of(key, text)) != text:
                message["content"] = changed
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
            ours = {name: value for name, value in delta.items() if name in _OURS}
            others = {name: value for name, value in delta.items() if name not in _OURS}
            if choice.get("finish_reason") and any(others.values()):
                parts += [[{**choice, "delta": others, "finish_reason": None}], [{**choice, "delta": ours}]]
            else:
                parts.append([choice])
        if len(parts) == 1:
            return [event]
        # Usage, if any, is of the whole response, and stays with the last.
        head = {name: value for name, value in payload.items() if name not in ("choices", "usage")}
        usage = {"usage": payload["usage"]} if "usage" in payload else {}
        return [event_of({**head, "choices": part, **(usage if part is parts[-1] else {})}) for part in parts]

    def read(self, payload: Payload) -> StreamStep:
        added: list[tuple[Key, str]] = []
        ended: list[Key] = []
        if payload.get("id"):
            self._head = {name: payload[name] for name in _HEAD if name in payload}
        choices = list(_choices(payload))
        step = self._beside(payload, choices, CHUNK_CHOICE, "delta")
        unread = [*step.unread, *((None, f"choices[{number}]") for number in self._strange(choices))]
        for number, choice in choices:
            delta, key = _delta(choice), (number,)
            added.append((key, content_text(delta.get("content"))))
            if choice.get("finish_reason"):
                ended.append(key)
            elif delta.get("annotations") and not self.closed:
                self._cited.add(key)
        return StreamStep(tuple(added), tuple(ended), tuple(unread), step.calls)

    def _strange(self, choices: list[tuple[int, Payload]]) -> Iterable[int]:
        """Choices that were not asked for, or come twice in a chunk: a client may show them as a part of another."""
        wanted = self.request.get("n")
        count = wanted if isinstance(wanted, int) else 1
        numbers = [number for number, _ in choices]
        return [number for at, number in enumerate(numbers) if number not in range(count) or number in numbers[:at]]

    def without(self, payload: Payload, keys: Collection[Key]) -> Payload:
        for number, choice in _choices(payload):
            if (number,) in keys:
                _delta(choice)["content"] = ""
        return payload

    def waits(self, event: SseEvent, pending: Collection[Key]) -> bool:
        if not pending or event.data is None:
            return False
        payload = event.payload
        if payload is None:
            return event.is_done
        choices = list(_choices(payload))
        finished = {(number,) for number, choice in choices if choice.get("finish_reason")}
        return not finished.isdisjoint(pending) or not choices

    def write(self, event: SseEvent) -> list[bytes]:
        payload = event.payload
        if payload is None:
            return [*(self.rest() if event.is_done else []), event.raw]
        before: list[bytes] = []
        changed = self.rebuilt | self.left_out(payload, CHAT, withheld=bool(self.replaced))
        for number, choice in _choices(payload):
            key = (number,)
            changed |= self._replace(key, choice)
            if choice.get("finish_reason") and key not in self._annotated and (block := self.blocks.get(key)):
                if text := self.missing_text(key):
                    part = {**choice, "delta": {"content": text}, "finish_reason": None}
                    usage = {"usage": None} if "usage" in payload else {}
                    before.append(data_event({**payload, "choices": [part], **usage}))
                choice["delta"] = self._annotated_delta(key, block, _delta(choice))
                changed = True
        return [*before, data_event(payload) if changed else event.raw]

    def _replace(self, key: Key, choice: Payload) -> bool:
        """Puts the replacement into the first delta with text, and removes the others' text."""
        withheld = key in self.replaced
        had_text = bool(_delta(choice).get("content"))
        changed = self.left_out(choice, CHUNK_CHOICE, withheld=withheld)
        if withheld and had_text:
            _delta(choice)["content"] = self.replacement(key)
        return changed or withheld

    def _annotated_delta(self, key: Key, block: CheckBlock, delta: Payload) -> Payload:
        self._annotated.add(key)
        cited = [*as_list(delta.get("annotations")), *_annotations(block)]
        ours: Payload = {"annotations": cited} if cited and key not in self._cited else {}
        return {**delta, **ours, "redargue": block.payload()}

    def rest(self) -> list[bytes]:
        chunks = []
        for key, block in self.blocks.items():
            if key not in self._annotated:
                text = self.missing_text(key)
                delta = self._annotated_delta(key, block, {"content": text} if text else {})
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


def _is_cut(content: object) -> bool:
    """Whether a content has a part that ends within a sentence, which clients that join the parts would go on."""
    texts = [text for part in as_list(content) if (text := content_text([part]))]
    return any(not ends_a_sentence(text) for text in texts[:-1])


def _annotations(block: CheckBlock) -> list[Payload]:
    return [{"type": "url_citation", "url_citation": citation} for citation in citations(block)]
