"""Reads JSON of an upstream only where every client reads the same in it."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

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
