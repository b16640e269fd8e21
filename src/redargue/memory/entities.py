"""Normalizes entity names, so that spellings of one name share a key in the memory.

The paper only says that it matches "string-based keywords" (MERMAID, limitations). Normalization removes differences
that do not change the entity: case, character width, spaces, punctuation around the name, a leading article.
"""

from __future__ import annotations

import unicodedata

_MAX_LENGTH = 200  # characters of a key: databases limit the size of index entries, and names are shorter

_ARTICLES = ("the ", "an ", "a ")
_PUNCTUATION = frozenset(".,;:!?…'\"`´¡¿·*_-–—")
_BRACKET_CATEGORIES = frozenset(("Ps", "Pe", "Pi", "Pf", "Pd"))


def normalize_entity(entity: str) -> str:
    """Returns the key of an entity, empty for a blank name.

    A name of punctuation alone ("!!!") is kept; of articles alone, the last one is kept ("The The" gives "the").
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", entity).casefold())
    whole = name = " ".join(folded.split())[:_MAX_LENGTH].rstrip()
    while (stripped := _strip_once(name)) != name:
        if not stripped:
            return name if any(char.isalnum() for char in name) else whole
        name = stripped
    return name


def _strip_once(name: str) -> str:
    """Strips the punctuation around a name; if there is none, strips one leading article."""
    start, stop = 0, len(name)
    while start < stop and _is_strippable(name[start]):
        start += 1
    while stop > start and _is_strippable(name[stop - 1]):
        stop -= 1
    if stop - start < len(name):
        return name[start:stop]
    return next((name.removeprefix(article) for article in _ARTICLES if name.startswith(article)), name)


def _is_strippable(char: str) -> bool:
    return char.isspace() or char in _PUNCTUATION or unicodedata.category(char) in _BRACKET_CATEGORIES
