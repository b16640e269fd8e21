"""Which text of an upstream's answer is accounted for; all other text was not read.

A shape names the fields that may have text and what it is. A field that no shape names was not read as soon as it has a
word, so that a new field, or one that a server misuses, is never taken for checked.
"""

from __future__ import annotations

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
