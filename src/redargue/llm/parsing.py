"""Parses the JSON object in a reply, strictly: text quoted from a page must never be taken for it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.base import Exchange

MOST_OBJECTS = 20  # distinct objects in a reply
MOST_BRACES = 100  # objects of the material that are compared with a reply's
SHORTEST_QUOTE = 3  # words of a quotation in plain text


def one(text: str, kind: type[Frozen], material: str) -> Frozen:
    """The only JSON object of that kind in a reply.

    A reply quotes pages, and a page may contain what looks like a reply. So nested objects are not considered (not even
    inside a broken one), no object takes precedence over another, and an object copied from the material is refused.
    Fields that were not asked for are ignored; an object with none of the fields is refused.

    Raises:
        ValueError: there is no object, or several that differ.
    """
    replies: dict[str, Frozen] = {}
    for candidate in _objects(text, material, _fields(kind)):
        try:
            reply = kind.model_validate(candidate, extra="ignore")
        except ValidationError as error:
            raise ValueError(first_problem(error)) from None
        if not reply.model_fields_set:
            raise ValueError(f"an object has none of the fields {', '.join(_fields(kind))}")
        replies[reply.model_dump_json()] = reply
    if len(replies) > 1:
        raise ValueError("the reply contains several different answers")
    if not replies:
        raise ValueError("no JSON object was found")
    return next(iter(replies.values()))


def first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the object'}: {first['msg']}"


def quoted(text: str) -> tuple[str, ...]:
    matches = (first or second for first, second in re.findall(r'"([^"\n]+)"|“([^”\n]+)”', text))
    return tuple(dict.fromkeys(quote.strip() for quote in matches if len(quote.split()) >= SHORTEST_QUOTE))


def is_repeated(text: str, material: str) -> bool:
    """Whether a reply's last line, and the one before it if there is one, are lines of the material."""
    written = [line for line in map(_flat, text.splitlines()) if line]
    shown = set(map(_flat, material.splitlines())) if written else set()
    return bool(written) and all(line in shown for line in written[-2:])


def material_of(task: BaseModel) -> str:
    """The claim and the passages of a task, without what agents wrote: these may say the same and agree."""
    texts: list[str] = []
    for name in type(task).model_fields:
        value = getattr(task, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Passage):
                texts += [item.title, item.text]
            elif isinstance(item, Claim):
                texts += [item.text, item.context]
            elif isinstance(item, Exchange):
                texts.append(item.input_text if item is value[0] else "")  # the first has the documents
            elif isinstance(item, BaseModel):
                texts.append(material_of(item))
    return "\n".join(texts)


def _flat(text: str) -> str:
    return " ".join(text.split()).strip("*_`\"'. ").casefold()


def _repeats_object(value: Any, shown: Sequence[Any], names: Collection[str]) -> bool:
    """Whether an object of the material has the same values in the fields that were asked for, two at least."""
    if not isinstance(value, dict):
        return False
    fields = [name for name in value if name in names]
    return len(fields) > 1 and any(all(other.get(name) == value[name] for name in fields) for other in shown)


@lru_cache(maxsize=8)
def _objects_of(material: str) -> tuple[dict[str, Any], ...]:
    """All JSON objects of the material, nested ones included; the first hundred."""
    decoder = json.JSONDecoder(strict=False)
    objects: list[dict[str, Any]] = []
    for match in islice(re.finditer(r'\{\s*"', material), MOST_BRACES):
        try:
            value, _ = decoder.raw_decode(material, match.start())
        except (ValueError, RecursionError):
            continue
        objects.append(value)
    return tuple(objects)


def _objects(text: str, material: str, names: Collection[str]) -> list[Any]:
    """The outermost JSON objects of a text; a broken or copied object is a ValueError."""
    decoder = json.JSONDecoder(strict=False)  # small models break lines inside strings, which is unambiguous
    objects: list[Any] = []
    end = 0
    while (at := _next_object(text, end)) >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise ValueError("no JSON object can be read: one is broken") from None
        if text[at:end] in material or _repeats_object(value, _objects_of(material), names):
            raise ValueError("an object of the documents was repeated")
        if value not in objects:
            objects.append(value)
        if len(objects) > MOST_OBJECTS:
            raise ValueError("the reply contains many different objects")
    return objects


_BRACES = re.compile(r"\{[\w\s.,;!?-]*\}|\{")


def _next_object(text: str, start: int) -> int:
    """The index of the next object, or -1; words in braces are not an object."""
    for match in _BRACES.finditer(text, start):
        if len(match.group()) == 1 or not match.group()[1:-1].strip():
            return match.start()
    return -1


@cache
def _fields(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    properties = kind.model_json_schema()["properties"]
    return {name: field for name, field in kind.model_fields.items() if name in properties}
