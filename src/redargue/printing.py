"""Strangers' text where a person reads it: shown, never obeyed; and what a verdict means, in words."""

from __future__ import annotations

import unicodedata

WORDS = {
    "supported": "The evidence supports the claim.",
    "refuted": "The evidence refutes the claim.",
    "not_enough": "The evidence does not settle the claim. This does not mean that it is partly true.",
    "conflicting": "The evidence is in conflict.",
}


def printable(text: str, *, lines: bool = True) -> str:
    """The text without what a terminal or a page would obey: control characters and changes of writing direction.

    Args:
        text: from a document, a file name or a user.
        lines: whether line breaks stay; where they do not, they become spaces.
    """
    kept = "\n" if lines else ""
    return "".join(char if char in kept or not _commands(char) else " " if char.isspace() else "" for char in text)


_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _commands(char: str) -> bool:
    return char in _DIRECTIONS or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
