"""Entities as keys of the memory: two spellings of a name are one key.

The paper matches "string-based keywords" and says no more (MERMAID, limitations). What is folded here is what changes
no entity: case, width, spaces, marks around the name, an article before it.
"""

from __future__ import annotations

import unicodedata

LONGEST = 200  # characters of a key: a database indexes no more, and what is longer is no name

_ARTICLES = ("the ", "an ", "a ")
_OUTER = frozenset(".,;:!?…'\"`´¡¿·*_-–—")
_BRACKETS = frozenset(("Ps", "Pe", "Pi", "Pf", "Pd"))


def normalised(entity: str) -> str:
    """The key of an entity; empty where it holds nothing but spaces.

    A name that is marks or articles alone ("!!!", "The The") keeps them.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", entity).casefold())
    whole = " ".join(folded.split())[:LONGEST].rstrip()
    name = whole
    while True:
        bare = _bare(name)
        if not bare:
            return name if any(char.isalnum() for char in name) else whole
        if bare == name:
            return name
        name = bare


def _bare(name: str) -> str:
    """The name without outer marks, or, where it has none, without one article."""
    start, stop = 0, len(name)
    while start < stop and _outer(name[start]):
        start += 1
    while stop > start and _outer(name[stop - 1]):
        stop -= 1
    if stop - start < len(name):
        return name[start:stop]
    return next((name[len(each) :] for each in _ARTICLES if name.startswith(each)), name)


def _outer(char: str) -> bool:
    return char.isspace() or char in _OUTER or unicodedata.category(char) in _BRACKETS
