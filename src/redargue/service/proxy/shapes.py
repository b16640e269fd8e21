"""Finds the text of an upstream's answer that is not checked.

A shape names the fields that may contain text, and what that text is. Text in any other field is unread, so that a
field that is new, or that a server misuses, never passes as checked.

JSON of an upstream is read only if all clients read the same in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from redargue.service.guard import JsonObject, depth, read_json

# A single ASCII word, such as an identifier, a type or an address, states nothing.
_NAME_PATTERN = re.compile(r"[!#-~]*")


class ValueKind(Enum):
    """What the text of a field is."""

    READ = "read"  # the text of the answer
    NAME = "name"  # names, at any depth
    ECHO = "echo"  # names, and texts of the request
    CALL = "call"  # the input of a call, which a program reads
    SEPARATE = "separate"  # has a shape of its own, which the caller applies
    BESIDE = "beside"  # unread, and not part of the answer: reasoning, token probabilities, citations


@dataclass(frozen=True)
class Shape:
    """An object, or a list of objects.

    Attributes:
        fields: fields of every object.
        kinds: further fields by the object's ``type``.
        default: the type of objects that do not state one.
        many: whether a list of objects is expected; anything else in its place is unread.
        bare: whether strings in place of objects or of the list are read.
    """

    fields: Mapping[str, Shape | ValueKind]
    kinds: Mapping[str, Mapping[str, Shape | ValueKind]] = field(default_factory=dict)
    default: str = ""
    many: bool = False
    bare: bool = False

    def fields_of(self, value: Mapping[str, Any]) -> Mapping[str, Shape | ValueKind]:
        kind = value.get("type", self.default)
        more = self.kinds.get(kind) if isinstance(kind, str) else None
        return {**self.fields, **more} if more else self.fields


class UnreadField(NamedTuple):
    """A field ``holder[name]`` with unread text: a call, text beside the answer, or unexpected text (None)."""

    holder: dict[str, object]
    name: str
    place: str
    kind: ValueKind | None


def unread_fields(
    value: dict[str, object], shape: Shape, echoed: Collection[str] = (), place: str = ""
) -> Iterator[UnreadField]:
    """Yields the fields of an object with unread text.

    Args:
        echoed: texts of the request, which fields of the kind ``ECHO`` may repeat.
        place: path of the object in the answer.
    """
    fields = shape.fields_of(value)
    for name, inner in value.items():
        at = f"{place}.{name if is_name(name) else '…'}".removeprefix(".")
        kind = fields.get(name)
        if isinstance(kind, Shape):
            yield from _unread_in_shape(value, name, kind, echoed, at)
        elif kind in (ValueKind.CALL, ValueKind.BESIDE):
            if _has_text(inner):
                yield UnreadField(value, name, at, kind)
        elif not is_name(name) or not _is_accounted_for(inner, kind, echoed):
            yield UnreadField(value, name, at, None)


def _unread_in_shape(
    holder: dict[str, object], name: str, shape: Shape, echoed: Collection[str], at: str
) -> Iterator[UnreadField]:
    inner = holder[name]
    if inner is None or (shape.bare and isinstance(inner, str)):
        return
    if not isinstance(inner, list if shape.many else dict):
        if shape.bare or _has_text(inner):
            yield UnreadField(holder, name, at, None)
        return
    unread = False
    for part in inner if isinstance(inner, list) else [inner]:
        if isinstance(part, dict):
            yield from unread_fields(part, shape, echoed, at)
        elif not (shape.bare and isinstance(part, str)):
            unread |= shape.bare or _has_text(part)
    if unread:
        yield UnreadField(holder, name, at, None)


def _is_accounted_for(value: object, kind: ValueKind | None, echoed: Collection[str]) -> bool:
    if kind is ValueKind.READ:
        return value is None or isinstance(value, str)
    if kind is ValueKind.NAME:
        return all(map(is_name, strings(value)))
    if kind is ValueKind.ECHO:
        return all(is_name(text) or text in echoed for text in strings(value))
    return kind is ValueKind.SEPARATE or not _has_text(value)


def is_name(text: str) -> bool:
    """Whether a text is at most one word, in ASCII."""
    return _NAME_PATTERN.fullmatch(text) is not None


def _has_text(value: object) -> bool:
    """Whether a value contains a string with text, or a field whose name is not a name."""
    if isinstance(value, dict):
        return not all(map(is_name, value)) or any(map(_has_text, value.values()))
    if isinstance(value, list):
        return any(map(_has_text, value))
    return isinstance(value, str) and bool(value.strip())


def strings(value: object) -> Iterator[str]:
    """Yields every string of a value, however deep it is nested, including the names of fields."""
    rest = [value]
    while rest:
        inner = rest.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, dict):
            yield from inner
            rest += reversed(inner.values())
        elif isinstance(inner, list | tuple):
            rest += reversed(inner)


def remove(found: Sequence[UnreadField]) -> bool:
    """Removes fields from their objects, and empties lists, which clients need; returns whether there were any."""
    for unread in found:
        if isinstance(unread.holder.get(unread.name), list):
            unread.holder[unread.name] = []
        else:
            unread.holder.pop(unread.name, None)
    return bool(found)


# The shapes of answers that the two APIs publish, with the fields that widely used servers add.

_READ, _NAME, _ECHO = ValueKind.READ, ValueKind.NAME, ValueKind.ECHO
_CALL, _BESIDE = ValueKind.CALL, ValueKind.BESIDE
_Fields = dict[str, Shape | ValueKind]

_FUNCTION = Shape({"name": _NAME, "arguments": _CALL})
_TOOL_CALLS = Shape(
    {
        "id": _NAME,
        "type": _NAME,
        "function": _FUNCTION,
        "custom": Shape({"name": _NAME, "input": _CALL}),
        "extra_content": _NAME,  # Gemini's signature of a thought
    },
    many=True,
)
_CHAT_PART = Shape({"type": _NAME, "text": _READ, "thinking": _BESIDE, "signature": _NAME}, many=True, bare=True)
MESSAGE = Shape(
    {
        "role": _NAME,
        "content": _CHAT_PART,
        "tool_calls": _TOOL_CALLS,
        "function_call": _FUNCTION,
        **dict.fromkeys(("annotations", "reasoning", "reasoning_content", "reasoning_details"), _BESIDE),
        "thinking_blocks": _BESIDE,  # LiteLLM
    }
)
_CHOICE: _Fields = {
    "finish_reason": _NAME,
    "native_finish_reason": _NAME,  # OpenRouter
    "stop_reason": _ECHO,  # vLLM
    "matched_stop": _ECHO,  # SGLang
    "content_filter_results": _NAME,  # Azure
    "logprobs": _BESIDE,
}
CHOICE = Shape({**_CHOICE, "message": MESSAGE})
CHUNK_CHOICE = Shape({**_CHOICE, "delta": MESSAGE})
CHAT = Shape(
    {
        **dict.fromkeys(("id", "object", "system_fingerprint", "service_tier", "usage", "obfuscation"), _NAME),
        "choices": ValueKind.SEPARATE,
        "model": _ECHO,
        "metadata": _ECHO,
        "prompt_filter_results": _NAME,  # Azure
        "x_groq": _NAME,
        **dict.fromkeys(("provider", "citations", "search_results"), _BESIDE),  # OpenRouter, Perplexity
    }
)

_PART: _Fields = {"type": _NAME, "annotations": _BESIDE, "logprobs": _BESIDE}
_REASONING_PARTS: dict[str, _Fields] = {name: {"text": _BESIDE} for name in ("reasoning_text", "summary_text")}
_FINISHED_PARTS: dict[str, _Fields] = {"output_text": {"text": _READ}, **_REASONING_PARTS}
_ACTION = Shape(
    {
        "type": _NAME,
        "url": _NAME,
        **dict.fromkeys(("query", "queries", "pattern"), _CALL),
        "sources": _BESIDE,
    }
)
_CALL_FIELDS: _Fields = dict.fromkeys(("call_id", "name", "namespace", "server_label", "approval_request_id"), _NAME)


def _item(parts: dict[str, _Fields]) -> Shape:
    """Returns the shape of an item of an output; ``parts`` are the fields of its parts by type."""
    calls: dict[str, _Fields] = {
        name: {**_CALL_FIELDS, "arguments": _CALL} for name in ("function_call", "mcp_call", "mcp_approval_request")
    }
    return Shape(
        dict.fromkeys(("id", "type", "status", "role", "phase"), _NAME),
        {
            **calls,
            "message": {"content": Shape(_PART, parts, many=True)},
            "reasoning": {"summary": _BESIDE, "content": _BESIDE, "encrypted_content": _NAME},
            "custom_tool_call": {**_CALL_FIELDS, "input": _CALL},
            "web_search_call": {"action": _ACTION},
            "file_search_call": {"queries": _CALL},
            "code_interpreter_call": {"container_id": _NAME, "code": _CALL},
            "mcp_list_tools": {**_CALL_FIELDS, "tools": _BESIDE},
        },
        default="message",
    )


_NAME_FIELDS = (
    "id object status service_tier truncation previous_response_id usage billing conversation incomplete_details"
    " content_filters"
).split()
_ECHO_FIELDS = (
    "model instructions metadata text tools tool_choice reasoning prompt include user prompt_cache_key"
    " prompt_cache_retention safety_identifier"
).split()


def _response(parts: dict[str, _Fields]) -> Shape:
    return Shape(
        {
            **dict.fromkeys(_NAME_FIELDS, _NAME),
            **dict.fromkeys(_ECHO_FIELDS, _ECHO),
            "output": replace(_item(parts), many=True),
            "output_text": _BESIDE,
        }
    )


RESPONSE = _response(_FINISHED_PARTS)
_STARTED_RESPONSE: _Fields = {"response": _response(_REASONING_PARTS)}
_FINISHED_RESPONSE: _Fields = {"response": RESPONSE}
_ARGUMENT_FIELDS: _Fields = {"delta": _CALL, "arguments": _CALL, "name": _NAME}
_REASONING_FIELDS: _Fields = dict.fromkeys(("delta", "text", "part"), _BESIDE)
STREAM_EVENT = Shape(
    dict.fromkeys(("type", "item_id", "obfuscation", "response_id", "call_id"), _NAME),
    {
        **{f"response.{name}": _STARTED_RESPONSE for name in ("created", "queued", "in_progress")},
        **{f"response.{name}": _FINISHED_RESPONSE for name in ("completed", "incomplete", "failed")},
        "response.output_item.added": {"item": _item(_REASONING_PARTS)},
        "response.output_item.done": {"item": _item(_FINISHED_PARTS)},
        "response.content_part.added": {"part": Shape(_PART, _REASONING_PARTS)},
        "response.content_part.done": {"part": Shape(_PART, _FINISHED_PARTS)},
        "response.output_text.delta": {"delta": _READ, "logprobs": _BESIDE},
        "response.output_text.done": {"text": _READ, "logprobs": _BESIDE},
        "response.output_text.annotation.added": {"annotation": _BESIDE},
        "response.function_call_arguments.delta": _ARGUMENT_FIELDS,
        "response.function_call_arguments.done": _ARGUMENT_FIELDS,
        "response.mcp_call_arguments.delta": _ARGUMENT_FIELDS,
        "response.mcp_call_arguments.done": _ARGUMENT_FIELDS,
        "response.custom_tool_call_input.delta": {"delta": _CALL},
        "response.custom_tool_call_input.done": {"input": _CALL},
        "response.code_interpreter_call_code.delta": {"delta": _CALL},
        "response.code_interpreter_call_code.done": {"code": _CALL},
        **{
            f"response.reasoning_{name}": _REASONING_FIELDS
            for name in (
                "text.delta text.done summary_text.delta summary_text.done summary_part.added summary_part.done"
            ).split()
        },
    },
)


_MAX_DEPTH = 100  # levels of nesting
_OUR_FIELD = "redargue"  # a field that only this service writes
# Matches the name of that field in a body that cannot be read, with any of its letters escaped.
_LETTERS = "".join(rf"(?:{letter}|\\u00{ord(letter):02x})" for letter in _OUR_FIELD)
_OUR_FIELD_PATTERN = re.compile(rf'"{_LETTERS}"(?=\s*:)'.encode(), re.IGNORECASE)


class _ReadObject(NamedTuple):
    """An object without the fields that only this service writes; ``cleaned`` if it had any."""

    value: dict[str, object]
    cleaned: bool


def read_object(text: str) -> _ReadObject:
    """Reads a JSON object.

    Raises ValueError where clients may read the text differently or not at all: what :func:`read_json` refuses, over a
    hundred levels, or a text that is not an object.
    """
    cleaned = False

    def without_our_field(fields: JsonObject) -> JsonObject:
        nonlocal cleaned
        cleaned |= fields.pop(_OUR_FIELD, fields) is not fields
        return fields

    try:
        value = read_json(text, without_our_field)
        if depth(value, _MAX_DEPTH) > _MAX_DEPTH:
            raise ValueError("too many levels")
    except RecursionError:
        raise ValueError("too many levels") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return _ReadObject(value, cleaned)


def without_ours(raw: bytes) -> bytes:
    """Renames the field that only this service writes, in a text that cannot be read."""
    return _OUR_FIELD_PATTERN.sub(f'"upstream_{_OUR_FIELD}"'.encode(), raw)
