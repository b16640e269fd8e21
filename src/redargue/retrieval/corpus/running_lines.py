"""Running titles and page numbers: lines at the edges of a document's pages that other pages repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from redargue.nli.grammar import has_finite_verb

_EDGE = 3  # lines at the top and at the bottom of a page
_WORD = re.compile(r"\w")
_NUMBER = re.compile(r"(\d+|\b[ivxlc]+\b)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_YEARS = range(1900, 2101)  # these count years sooner than pages
_MOST_NUMBERS = 8  # of a running title; a line with more is a row of a table
_LONGEST = 120  # characters of a running line


class _Line(NamedTuple):
    """A line at an edge of a page; ``numbered``: its words, each with one number as the distance from the page's."""

    at: int
    words: str
    numbered: frozenset[str]


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without lines at their edges that half of the pages have.

    A number may differ only where it counts the pages: otherwise the lines may be rows of a table. A line that states
    something stays where it is first. One page has no running lines.
    """
    lines_of = [page.splitlines() for page in pages]
    edges_of = [list(_edges(lines, number)) for number, lines in enumerate(lines_of, 1)]
    counts: Counter[str] = Counter()
    for edges in edges_of:
        counts.update({key for line in edges for key in (line.words, *line.numbered)})
    least = max(2, (sum(map(bool, edges_of)) + 1) // 2)
    running = {key for key, count in counts.items() if count >= least}
    stated: set[str] = set()
    kept = []
    for lines, edges in zip(lines_of, edges_of, strict=True):
        dropped = set()
        for line in edges:
            repeated = line.words in running and line.words in stated
            titled = (line.words in running or line.numbered & running) and not has_finite_verb(lines[line.at])
            if repeated or titled:
                dropped.add(line.at)
            stated.add(line.words)
        kept.append("\n".join(line for at, line in enumerate(lines) if at not in dropped))
    return kept


def _edges(lines: Sequence[str], page: int) -> Iterator[_Line]:
    """The short lines with a word at the top and the bottom of a page."""
    top = list(islice((at for at in range(len(lines)) if _WORD.search(lines[at])), _EDGE))
    bottom = list(islice((at for at in reversed(range(len(lines))) if _WORD.search(lines[at])), _EDGE))
    for at in dict.fromkeys([*top, *reversed(bottom)]):
        if len(lines[at].strip()) <= _LONGEST:
            words = " ".join(lines[at].casefold().split())
            # A table that continues on the next page has rows at the bottom of one and the top of the other.
            sides = [name for name, places in (("top", top), ("bottom", bottom)) if at in places]
            numbered = frozenset(f"{side} {each}" for each in _numbered(words, page) for side in sides)
            yield _Line(at, words, numbered)


def _numbered(words: str, page: int) -> Iterator[str]:
    """The words, each time with another number as its distance from the page's number."""
    pieces = _NUMBER.split(words)
    for at in range(1, len(pieces), 2) if len(pieces) <= 2 * _MOST_NUMBERS + 1 else ():
        number = int(pieces[at]) if pieces[at].isdecimal() else _roman(pieces[at])
        if number not in _YEARS:
            yield "".join([*pieces[:at], f"#{number - page}", *pieces[at + 1 :]])


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    smaller = sum(value for value, following in pairwise(values) if value < following)
    return sum(values) - 2 * smaller
