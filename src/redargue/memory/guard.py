"""Which claims are near-duplicates of each other: what a benchmark's memory must not carry from one to the other.

Compared are the stems of a claim's telling words. The claims of FactCheck-Bench, FacTool-QA and BingCheck show where to
draw the line: from three quarters on, pairs say the same of the same thing ("won in 1993", "won"), and below it they
share a subject, which is what a memory is for.
"""

from __future__ import annotations

from collections.abc import Iterable

from redargue.corpus.ranking import telling_words
from redargue.corpus.words import terms

SAME = 0.75  # of all the words of two claims, the part that stands in both


def near_duplicates(claim: str, others: Iterable[str]) -> frozenset[str]:
    """Those of the other claims that say nearly the same as ``claim``."""
    every = list(dict.fromkeys(others))
    words, *rest = (frozenset(each) for each in terms([" ".join(telling_words(each)) for each in (claim, *every)]))
    return frozenset(
        each
        for each, found in zip(every, rest, strict=True)
        if each == claim or len(words & found) >= SAME * max(1, len(words | found))
    )
