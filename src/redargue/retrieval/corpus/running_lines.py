"""Running titles and page numbers: lines at the edges of a document's pages that other pages repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from redargue.nli.grammar import has_finite_verb

_EDGE = 3  # lines at the top and at the bottom of a page
_WORD = re.compile(r"\w")
_LONGEST = 120  # characters of a running line


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without lines at their edges that half of the pages have, whatever their numbers.

    A line that states something stays where it is first. One page has no running lines.
    """
    lines_of = [page.splitlines() for page in pages]
    edges_of = [list(_edges(lines)) for lines in lines_of]
    counts = Counter(
        key for lines, edges in zip(lines_of, edges_of, strict=True) for key in {_key(lines[at]) for at in edges}
    )
    least = max(2, (sum(map(bool, edges_of)) + 1) // 2)
    running = {key for key, count in counts.items() if count >= least}
    stated: set[str] = set()
    kept = []
    for lines, edges in zip(lines_of, edges_of, strict=True):
        dropped = set()
        for at in edges:
            key = _key(lines[at])
            if key in running and (key in stated or not has_finite_verb(lines[at])):
                dropped.add(at)
            stated.add(key)
        kept.append("\n".join(line for at, line in enumerate(lines) if at not in dropped))
    return kept


def _edges(lines: Sequence[str]) -> Iterator[int]:
    """The places of the short lines with a word at the top and the bottom of a page."""
    top = islice((at for at in range(len(lines)) if _WORD.search(lines[at])), _EDGE)
    bottom = list(islice((at for at in reversed(range(len(lines))) if _WORD.search(lines[at])), _EDGE))
    for at in dict.fromkeys([*top, *reversed(bottom)]):
        if len(lines[at].strip()) <= _LONGEST:
            yield at


def _key(line: str) -> str:
    """The line without its numbers, which count the pages, and without its case and spaces."""
    return " ".join(re.sub(r"\d+|\b[ivxlc]+\b", "#", line.casefold()).split())
