"""The one object that a reply holds, as JSON or as tags: strict, so that nothing that a page says is taken for it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from redargue.claims import Frozen

MOST_OBJECTS = 20  # different ones in a reply; more are no answer
SHORTEST_QUOTE = 3  # words between quotation marks that count as a quotation in plain text
ITEM = "item"  # tags each object of a list: its own name might be that of a field in it


def one_of(plural: str) -> str:
    """The tag of one item of a list that is called so."""
    return plural.removesuffix("s")


def one(text: str, kind: type[Frozen], material: str) -> Frozen:
    """The one object of that kind that a reply holds, as JSON or as tags, whichever begins first.

    A reply quotes pages, and a page may hold what looks like a reply. So nothing is looked for inside another thing
    (where an object is broken, what stands in it is not read), no object gives way to another, and what stands word for
    word in the task's material is nobody's answer.

    Raises:
        ValueError: none, or several that differ: which of them is meant would be a guess.
    """
    brace, opening = _next_object(text, 0), _opening(kind).search(text)
    if opening is not None and (brace < 0 or opening.start() < brace):
        fields, rest = _from_tags(text, kind)
        candidates = [fields]
        mixed = _next_object(rest, 0) >= 0
    else:
        candidates, rest = _objects(text, material)
        mixed = _opening(kind).search(rest) is not None
    if mixed:
        raise ValueError("the reply holds answers in several forms")
    found: dict[str, Frozen] = {}
    for candidate in candidates:
        try:
            reply = kind.model_validate(candidate)
        except ValidationError as error:
            raise ValueError(first_error(error)) from None
        found[reply.model_dump_json()] = reply
    if len(found) > 1:
        raise ValueError("the reply holds several different answers")
    if not found:
        raise ValueError("no JSON object was found")
    return next(iter(found.values()))


def first_error(error: ValidationError) -> str:
    """The first thing that is wrong with an object, as it can be said to a model."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the object'}: {first['msg']}"


def quoted(text: str) -> tuple[str, ...]:
    """What stands between quotation marks in a text and is long enough to be a quotation, each once."""
    found = (first or second for first, second in re.findall(r'"([^"\n]+)"|“([^”\n]+)”', text))
    return tuple(dict.fromkeys(each.strip() for each in found if len(each.split()) >= SHORTEST_QUOTE))


def _objects(text: str, material: str) -> tuple[list[Any], str]:
    """The JSON objects of a text, outermost ones, and the text around them.

    Raises:
        ValueError: one of them is broken, or copied from the material.
    """
    decoder = json.JSONDecoder(strict=False)  # small models break lines inside strings; nothing is ambiguous in that
    found: list[Any] = []
    rest, end = "", 0
    while (at := _next_object(text, end)) >= 0:
        rest += text[end:at]
        try:
            each, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise ValueError("no JSON object can be read: one is broken") from None
        if text[at:end] in material:
            raise ValueError("an object of the documents was repeated")
        if each not in found:
            found.append(each)
        if len(found) > MOST_OBJECTS:
            raise ValueError("the reply holds many different objects")
    return found, rest + text[end:]


_BRACES = re.compile(r"\{[\w\s.,;!?-]*\}|\{")


def _next_object(text: str, start: int) -> int:
    """Where the next object begins, or -1; a word in braces begins none."""
    for match in _BRACES.finditer(text, start):
        if len(match.group()) == 1 or not match.group()[1:-1].strip():
            return match.start()
    return -1


@cache
def _asked(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields that a reply is asked for: those of the schema."""
    shown = kind.model_json_schema()["properties"]
    return {name: field for name, field in kind.model_fields.items() if name in shown}


def _tag_names(kind: type[BaseModel]) -> list[str]:
    return [_tag(name, field) for name, field in _asked(kind).items()]


def _tag(name: str, field: FieldInfo) -> str:
    """The tag of a field: of a list, that of one item."""
    if get_origin(field.annotation) is not tuple:
        return name
    inner = get_args(field.annotation)[0]
    return ITEM if isinstance(inner, type) and issubclass(inner, BaseModel) else one_of(name)


def _opening(kind: type[BaseModel]) -> re.Pattern[str]:
    return re.compile("<(" + "|".join(map(re.escape, _tag_names(kind))) + ")>")


def _from_tags(text: str, kind: type[BaseModel]) -> tuple[dict[str, Any], str]:
    """What a text holds in tags named like the fields, one after the other, and the text around them.

    Tags inside tags are text.

    Raises:
        ValueError: a tag without end or beginning, or one that must stand once and does not.
    """
    bodies: dict[str, list[str]] = {tag: [] for tag in _tag_names(kind)}
    opening, rest, at = _opening(kind), "", 0
    while found := opening.search(text, at):
        tag = found.group(1)
        end = text.find(f"</{tag}>", found.end())
        if end < 0:
            raise ValueError(f"the tag <{tag}> has no end")
        bodies[tag].append(text[found.end() : end])
        rest += text[at : found.start()]
        at = end + len(tag) + 3
    rest += text[at:]
    for tag in bodies:
        if f"</{tag}>" in rest:
            raise ValueError(f"the end of <{tag}> stands where nothing was begun")
    fields: dict[str, Any] = {}
    for name, field in _asked(kind).items():
        tag = _tag(name, field)
        if tag == name:
            if len(bodies[tag]) != 1:
                raise ValueError(f"the tag <{tag}> stands {len(bodies[tag])} times, not once")
            fields[name] = _typed(bodies[tag][0].strip(), field)
        elif tag == ITEM:
            inner = get_args(field.annotation)[0]
            fields[name] = [_from_tags(body, inner)[0] for body in bodies[tag]]
        else:
            fields[name] = [body.strip() for body in bodies[tag]]
    return fields, rest


def _typed(text: str, field: FieldInfo) -> Any:
    """A tag's text as its field wants it: a choice of numbers is a number."""
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return int(text) if choices and text.isdecimal() and all(isinstance(each, int) for each in choices) else text
