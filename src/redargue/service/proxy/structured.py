"""The texts in an answer that is a JSON object or array, as models write it where they are asked for a structure.

Each string of two words or more is a text. Of the other values, ASCII under a name such as ``sources`` states nothing;
a number, a word or a truth under any other name may, and nobody reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from redargue.service.proxy.shapes import is_name
from redargue.text.grounder import Segmenter
from redargue.text.segment import Sentence

_FENCE = r"\s*(?:```\w*\s+)?"
_BEGUN = re.compile(_FENCE + r'(?:\{\s*["}]|\[\s*[\[{"])')
_OBJECT = re.compile(r'^[ \t>*-]*(?:```\w*[ \t]+)?(?:\[\s*)?\{\s*"', re.MULTILINE)
_MAY_BEGIN = re.compile(r"\s*(?:`{0,2}|```\w*\s*|(?:```\w*\s+)?[{\[]\s*)\Z")
_FENCED = re.compile(_FENCE + r"(?P<value>.*?)\s*(?:```\s*)?\Z", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_CHARACTER = re.compile(  # of a string as JSON writes it; two escapes may be one
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
_NAMES = frozenset(  # of values that say where something is from, or how the answer is made
    "source sources citation citations reference references document documents doc docs page pages id ids index indices"
    " url urls link links confidence score scores type kind status role language lang format intent category".split()
)


class Structure(NamedTuple):
    """What an answer says: ``unread`` values may state something and are not text."""

    sentences: tuple[Sentence, ...]
    unread: int


def begins(text: str) -> bool | None:
    """Whether a text that is being written is a structure so far; None where it is too short to know."""
    if _BEGUN.match(text):
        return True
    return None if _MAY_BEGIN.match(text) else False


def has_object(text: str) -> bool:
    """Whether a line of a text that is not JSON begins an object, whose values nobody reads."""
    return _OBJECT.search(text) is not None


def structure_of(text: str) -> Structure | None:
    """The sentences of a structure's texts, with their offsets in the structure; None for what is not JSON.

    Raises UsageError for a text that cannot be read.
    """
    found = _FENCED.match(text)
    assert found  # it matches everything
    try:
        value = json.loads(found["value"])
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list):
        return None
    sentences: list[Sentence] = []
    unread = 0
    for name, token, start in _values(found["value"], found.start("value")):
        value = json.loads(token) if token.startswith('"') else token
        if token.startswith('"') and len(value.split()) > 1:
            sentences += _sentences(token, start)
        elif not (name in _NAMES and is_name(value)) and token not in ("null", '""'):
            unread += 1
    return Structure(tuple(sentences), unread)


def _values(text: str, begin: int) -> Iterator[tuple[str, str, int]]:
    """The strings, numbers and other single values with the name that they are under; names of several words too."""
    names: list[tuple[str, str]] = []  # of the open brackets: the name that each is under, and the last one in it
    tokens = [(match[0], begin + match.start()) for match in _TOKEN.finditer(text)]
    for (token, start), (after, _) in zip(tokens, [*tokens[1:], ("", 0)], strict=True):
        under = (names[-1][1] or names[-1][0]) if names else ""
        if token in "{[":
            names.append((under, ""))
        elif token in "}]":
            names.pop()
        elif token.startswith('"') and after == ":":
            name = json.loads(token)
            names[-1] = (names[-1][0], name.lower())
            if len(name.split()) > 1:
                yield "", token, start
        elif token not in ":,":
            yield under, token, start


def _sentences(token: str, start: int) -> Iterator[Sentence]:
    """The sentences of a string; their offsets are those of the characters as JSON writes them."""
    segmenter = Segmenter()
    found = [*segmenter.add(json.loads(token)), *segmenter.end()]
    places = [start + 1 + match.start() for match in _CHARACTER.finditer(token[1:-1])] + [start + len(token) - 1]
    return (Sentence(start=places[each.start], end=places[each.end], text=each.text) for each in found)
