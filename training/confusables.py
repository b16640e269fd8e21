"""Writes the table of letters that look like ASCII letters, from Unicode's confusables.

``python training/confusables.py TABLE``, where TABLE is ``confusables.json`` of the PyPI package confusable-homoglyphs
3.3.1 (MIT), which holds https://www.unicode.org/Public/security/15.1.0/confusables.txt (UTS #39) as JSON. What
Unicode's decompositions turn into another letter anyway is left out.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "redargue" / "confusables.txt"
HEAD = """\
# Letters that look like ASCII letters: the ASCII letters, a space, their doubles. Written by training/confusables.py
# from confusables.txt of Unicode 15.1 (UTS #39); Copyright © 1991-2023 Unicode, Inc., see NOTICE.
"""


def bare(text: str) -> str:
    """The text without accents."""
    return "".join(part for part in unicodedata.normalize("NFD", text) if not unicodedata.combining(part))


def ascii_double(char: str, candidates: list[str]) -> str:
    """The one or two small ASCII letters that a character looks like; empty if it looks like none."""
    for candidate in candidates:
        letters = bare(candidate)
        if letters.isascii() and letters.isalpha() and len(letters) <= 2:
            # Unicode's table has one prototype, "l", for capital I, small l, 1 and the bar
            return "i" if letters == "l" and unicodedata.category(char) == "Lu" else letters.casefold()
    return ""


def main() -> None:
    table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    doubles: defaultdict[str, list[str]] = defaultdict(list)
    for char, candidates in table.items():
        plain = unicodedata.normalize("NFKC", char) if len(char) == 1 else ""
        if plain != char or char.isascii() or unicodedata.category(char)[0] not in "LN" or bare(char).isascii():
            continue
        if letters := ascii_double(char, [candidate["c"] for candidate in candidates]):
            doubles[letters].append(char)
    lines = (f"{letters} {''.join(sorted(chars))}\n" for letters, chars in sorted(doubles.items()))
    TARGET.write_text(HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
