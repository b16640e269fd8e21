"""Which text of an upstream's answer is accounted for; all other text was not read.

A shape names the fields that may have text and what it is. A field that no shape names was not read as soon as it has a
word, so that a new field, or one that a server misuses, is never taken for checked.

Reads JSON of an upstream only where every client reads the same in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

# Identifiers, types, states, addresses: one word in ASCII, which states nothing.
_NAME = re.compile(r"[!#-~]*")


class ValueKind(Enum):
    """What the text of a field is."""

    READ = "read"  # the text of the answer
    NAME = "name"  # names, at any depth
    ECHO = "echo"  # names and what the request says
    CALL = "call"  # the input of a call, for a program
    APART = "apart"  # looked over by itself
    BESIDE = "beside"  # reasoning, token probabilities, citations: not the answer, and not read


@dataclass(frozen=True)
class Shape:
    """An object, or a list of objects.

    Attributes:
        fields: of every object.
        kinds: further fields by the object's ``type``.
        default: the type of objects without one.
        many: whether a list is expected; anything else in its place was not read.
        bare: whether strings are read in its place and in the list.
    """

    fields: Mapping[str, Shape | ValueKind]
    kinds: Mapping[str, Mapping[str, Shape | ValueKind]] = field(default_factory=dict)
    default: str = ""
    many: bool = False
    bare: bool = False

    def of(self, value: Mapping[str, Any]) -> Mapping[str, Shape | ValueKind]:
        kind = value.get("type", self.default)
        more = self.kinds.get(kind) if isinstance(kind, str) else None
        return {**self.fields, **more} if more else self.fields


class _Found(NamedTuple):
    """A field ``holder[name]`` with text that was not read: a call, text beside the answer, or unknown (None)."""

    holder: dict[str, Any]
    name: str
    place: str
    kind: ValueKind | None


def unread_fields(
    value: dict[str, Any], shape: Shape, echoed: Collection[str] = (), place: str = ""
) -> Iterator[_Found]:
    """The fields of an object whose text was not read.

    Args:
        value: the object.
        shape: its shape.
        echoed: texts of the request that an answer may repeat where its shape says so.
        place: where the object is.
    """
    fields = shape.of(value)
    for name, inner in value.items():
        at = f"{place}.{name if _is_name(name) else '…'}".removeprefix(".")
        known = fields.get(name)
        if isinstance(known, Shape):
            yield from _inside(value, name, known, echoed, at)
        elif known in (ValueKind.CALL, ValueKind.BESIDE):
            if _has_text(inner):
                yield _Found(value, name, at, known)
        elif not _accounted(inner, known, echoed) or not _is_name(name):
            yield _Found(value, name, at, None)


def _inside(holder: dict[str, Any], name: str, shape: Shape, echoed: Collection[str], at: str) -> Iterator[_Found]:
    inner = holder[name]
    if inner is None or (shape.bare and isinstance(inner, str)):
        return
    if not isinstance(inner, list if shape.many else dict):
        if shape.bare or _has_text(inner):
            yield _Found(holder, name, at, None)
        return
    unread = False
    for part in inner if isinstance(inner, list) else [inner]:
        if isinstance(part, dict):
            yield from unread_fields(part, shape, echoed, at)
        elif not (shape.bare and isinstance(part, str)):
            unread |= shape.bare or _has_text(part)
    if unread:
        yield _Found(holder, name, at, None)


def _accounted(value: object, kind: ValueKind | None, echoed: Collection[str]) -> bool:
    if kind is ValueKind.READ:
        return value is None or isinstance(value, str)
    if kind is ValueKind.NAME:
        return all(map(_is_name, strings(value)))
    if kind is ValueKind.ECHO:
        return all(_is_name(text) or text in echoed for text in strings(value))
    return kind is ValueKind.APART or not _has_text(value)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _has_text(value: object) -> bool:
    """Whether there is a string with words in a value, or a name of a field that is more than a name."""
    if isinstance(value, dict):
        return not all(map(_is_name, value)) or any(map(_has_text, value.values()))
    if isinstance(value, list):
        return any(map(_has_text, value))
    return isinstance(value, str) and bool(value.strip())


def strings(value: object) -> Iterator[str]:
    """Every string of a value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


def remove(found: Iterable[_Found]) -> bool:
    """Takes fields out of their objects, lists as empty ones, which clients need; whether there were any."""
    fields = list(found)
    for each in fields:
        if isinstance(each.holder.get(each.name), list):
            each.holder[each.name] = []
        else:
            each.holder.pop(each.name, None)
    return bool(fields)


# The shapes of answers as the two APIs publish them, and what widely used servers add to them.

_READ, _FIELD_NAME, _ECHO, _CALL, _BESIDE = (
    ValueKind.READ,
    ValueKind.NAME,
    ValueKind.ECHO,
    ValueKind.CALL,
    ValueKind.BESIDE,
)
Fields = dict[str, Shape | ValueKind]

_FUNCTION = Shape({"name": _FIELD_NAME, "arguments": _CALL})
_TOOL_CALLS = Shape(
    {
        "id": _FIELD_NAME,
        "type": _FIELD_NAME,
        "function": _FUNCTION,
        "custom": Shape({"name": _FIELD_NAME, "input": _CALL}),
        "extra_content": _FIELD_NAME,  # Gemini's signature of a thought
    },
    many=True,
)
_CHAT_PART = Shape(
    {"type": _FIELD_NAME, "text": _READ, "thinking": _BESIDE, "signature": _FIELD_NAME}, many=True, bare=True
)
MESSAGE = Shape(
    {
        "role": _FIELD_NAME,
        "content": _CHAT_PART,
        "tool_calls": _TOOL_CALLS,
        "function_call": _FUNCTION,
        **dict.fromkeys(("annotations", "reasoning", "reasoning_content", "reasoning_details"), _BESIDE),
        "thinking_blocks": _BESIDE,  # LiteLLM
    }
)
_CHOICE: Fields = {
    "finish_reason": _FIELD_NAME,
    "native_finish_reason": _FIELD_NAME,  # OpenRouter
    "stop_reason": _ECHO,  # vLLM
    "matched_stop": _ECHO,  # SGLang
    "content_filter_results": _FIELD_NAME,  # Azure
    "logprobs": _BESIDE,
}
CHOICE = Shape({**_CHOICE, "message": MESSAGE})
CHUNK_CHOICE = Shape({**_CHOICE, "delta": MESSAGE})
CHAT = Shape(
    {
        **dict.fromkeys(("id", "object", "system_fingerprint", "service_tier", "usage", "obfuscation"), _FIELD_NAME),
        "choices": ValueKind.APART,
        "model": _ECHO,
        "metadata": _ECHO,
        "prompt_filter_results": _FIELD_NAME,  # Azure
        "x_groq": _FIELD_NAME,
        **dict.fromkeys(("provider", "citations", "search_results"), _BESIDE),  # OpenRouter, Perplexity
    }
)

_PART: Fields = {"type": _FIELD_NAME, "annotations": _BESIDE, "logprobs": _BESIDE}
_REASONING_PARTS: dict[str, Fields] = {name: {"text": _BESIDE} for name in ("reasoning_text", "summary_text")}
_WHOLE_PART: dict[str, Fields] = {"output_text": {"text": _READ}, **_REASONING_PARTS}
_ACTION = Shape(
    {
        "type": _FIELD_NAME,
        "url": _FIELD_NAME,
        **dict.fromkeys(("query", "queries", "pattern"), _CALL),
        "sources": _BESIDE,
    }
)
_OF_A_CALL: Fields = dict.fromkeys(("call_id", "name", "namespace", "server_label", "approval_request_id"), _FIELD_NAME)


def _items(parts: dict[str, Fields]) -> Shape:
    """Items of an output; the texts of their parts are read where ``parts`` says so."""
    calls: dict[str, Fields] = {
        name: {**_OF_A_CALL, "arguments": _CALL} for name in ("function_call", "mcp_call", "mcp_approval_request")
    }
    return Shape(
        dict.fromkeys(("id", "type", "status", "role", "phase"), _FIELD_NAME),
        {
            **calls,
            "message": {"content": Shape(_PART, parts, many=True)},
            "reasoning": {"summary": _BESIDE, "content": _BESIDE, "encrypted_content": _FIELD_NAME},
            "custom_tool_call": {**_OF_A_CALL, "input": _CALL},
            "web_search_call": {"action": _ACTION},
            "file_search_call": {"queries": _CALL},
            "code_interpreter_call": {"container_id": _FIELD_NAME, "code": _CALL},
            "mcp_list_tools": {**_OF_A_CALL, "tools": _BESIDE},
        },
        default="message",
    )


_NAMED = (
    *("id", "object", "status", "service_tier", "truncation", "previous_response_id", "usage", "billing"),
    *("conversation", "incomplete_details", "content_filters"),
)
_ECHOED = (
    *("model", "instructions", "metadata", "text", "tools", "tool_choice", "reasoning", "prompt", "include", "user"),
    *("prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
)


def _response(parts: dict[str, Fields]) -> Shape:
    items = _items(parts)
    return Shape(
        {
            **dict.fromkeys(_NAMED, _FIELD_NAME),
            **dict.fromkeys(_ECHOED, _ECHO),
            "output": Shape(items.fields, items.kinds, items.default, many=True),
            "output_text": _BESIDE,
        }
    )


RESPONSE = _response(_WHOLE_PART)
_BEGUN: Fields = {"response": _response(_REASONING_PARTS)}
_ENDED: Fields = {"response": RESPONSE}
_ARGUMENTS: Fields = {"delta": _CALL, "arguments": _CALL, "name": _FIELD_NAME}
_REASONING: Fields = dict.fromkeys(("delta", "text", "part"), _BESIDE)
STREAM_EVENT = Shape(
    dict.fromkeys(("type", "item_id", "obfuscation", "response_id", "call_id"), _FIELD_NAME),
    {
        **{f"response.{name}": _BEGUN for name in ("created", "queued", "in_progress")},
        **{f"response.{name}": _ENDED for name in ("completed", "incomplete", "failed")},
        "response.output_item.added": {"item": _items(_REASONING_PARTS)},
        "response.output_item.done": {"item": _items(_WHOLE_PART)},
        "response.content_part.added": {"part": Shape(_PART, _REASONING_PARTS)},
        "response.content_part.done": {"part": Shape(_PART, _WHOLE_PART)},
        "response.output_text.delta": {"delta": _READ, "logprobs": _BESIDE},
        "response.output_text.done": {"text": _READ, "logprobs": _BESIDE},
        "response.output_text.annotation.added": {"annotation": _BESIDE},
        "response.function_call_arguments.delta": _ARGUMENTS,
        "response.function_call_arguments.done": _ARGUMENTS,
        "response.mcp_call_arguments.delta": _ARGUMENTS,
        "response.mcp_call_arguments.done": _ARGUMENTS,
        "response.custom_tool_call_input.delta": {"delta": _CALL},
        "response.custom_tool_call_input.done": {"input": _CALL},
        "response.code_interpreter_call_code.delta": {"delta": _CALL},
        "response.code_interpreter_call_code.done": {"code": _CALL},
        **{
            f"response.reasoning_{name}": _REASONING
            for name in (
                *("text.delta", "text.done", "summary_text.delta", "summary_text.done"),
                *("summary_part.added", "summary_part.done"),
            )
        },
    },
)


DEEPEST = 100  # levels of nesting
OURS = "redargue"  # a field that only this service writes
# The field's name with any of its characters written as an escape, for bodies that cannot be read.
_LETTERS = "".join(rf"(?:{letter}|\\u00{ord(letter):02x})" for letter in OURS)
_OUR_NAME = re.compile(rf'"{_LETTERS}"(?=\s*:)'.encode(), re.IGNORECASE)


class _Reading(NamedTuple):
    """An object without the fields that only this service writes; ``cleaned`` where there were any."""

    value: dict[str, Any]
    cleaned: bool


def read_object(text: str) -> _Reading:
    """Reads one object.

    Raises ValueError for what clients read differently or not at all: a name that an object has twice, NaN and numbers
    beyond a double, integers of more digits than Python reads, over a hundred levels, and whatever is not an object.
    """
    cleaned = False

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal cleaned
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("an object has a name twice")
        if OURS in found:
            del found[OURS]
            cleaned = True
        return found

    try:
        value = json.loads(text, object_pairs_hook=made, parse_constant=_refused, parse_float=_finite)
    except RecursionError:
        raise ValueError("too many levels") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    _require_flat(value)
    return _Reading(value, cleaned)


def without_ours(raw: bytes) -> bytes:
    """A text that cannot be read, in which no name is one that only this service writes."""
    return _OUR_NAME.sub(f'"upstream_{OURS}"'.encode(), raw)


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _require_flat(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return
    raise ValueError("too many levels")


def _inner(value: object) -> list[object]:
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in found if isinstance(each, (dict, list))]
