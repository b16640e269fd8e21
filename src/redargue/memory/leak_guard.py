"""Leak guard: finds near-duplicate claims, whose evidence a benchmark must not carry from one claim to another.

Claims are compared by the stems of their content words. The threshold was chosen on the claims of FactCheck-Bench,
FacTool-QA and BingCheck: pairs that overlap by three quarters or more make the same statement ("won in 1993", "won");
pairs below it share a subject only, and sharing evidence between those is the purpose of the memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from redargue.retrieval.corpus.ranking import content_words
from redargue.retrieval.corpus.words import terms

MIN_OVERLAP = 0.75  # Jaccard similarity of the two claims' word stems


def near_duplicates(claim: str, others: Iterable[str]) -> frozenset[str]:
    """Returns the claims among ``others`` that make nearly the same statement as ``claim``."""
    others = list(dict.fromkeys(others))
    stems, *others_stems = map(frozenset, terms([" ".join(content_words(text)) for text in (claim, *others)]))
    return frozenset(
        other
        for other, other_stems in zip(others, others_stems, strict=True)
        if other == claim or len(stems & other_stems) >= MIN_OVERLAP * max(1, len(stems | other_stems))
    )
