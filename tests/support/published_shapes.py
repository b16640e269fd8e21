"""Every string field of a published type, with one text in it: a walk of pydantic models.

A field that a later version of the types adds is found by itself.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

DEEPEST = 8  # models within each other


class Filled(NamedTuple):
    """A value whose field at ``place`` is the text."""

    place: str
    value: Any


def filled(kind: Any, text: str, place: str = "", within: tuple[type, ...] = ()) -> Iterator[Filled]:
    """Values of a type: for every string in it, names of dictionaries included, one that has the text there."""
    kind = _plain(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        for arm in arguments:
            yield from filled(arm, text, place, within)
    elif origin is list:
        for found in filled(arguments[0], text, f"{place}[]", within):
            yield Filled(found.place, [found.value])
    elif origin is dict:
        yield Filled(f"{place}{{name}}", {text: minimal(arguments[1])})
        for found in filled(arguments[1], text, f"{place}{{}}", within):
            yield Filled(found.place, {"name": found.value})
    elif kind is str or origin is Literal or kind is object:
        yield Filled(place, text)
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in within and len(within) < DEEPEST:
        least = minimal(kind)
        for name, field in kind.model_fields.items():
            known = field.alias or name
            for found in filled(field.annotation, text, f"{place}.{known}", (*within, kind)):
                yield Filled(
                    f"{kind.__name__}{found.place}" if not place else found.place, {**least, known: found.value}
                )


def minimal(kind: Any) -> Any:
    """A value with the required fields only; every string is a name."""
    kind = _plain(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if type(None) in arguments else minimal(arguments[0])
    if origin is Literal:
        return arguments[0]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        return {field.alias or name: minimal(field.annotation) for name, field in fields if field.is_required()}
    values: dict[Any, Any] = {str: "name", int: 0, float: 0.0, bool: True, list: [], dict: {}}
    return values.get(origin or kind)


def _plain(kind: Any) -> Any:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return kind
