"""What a search found, and the passages that are made of it.

A chunk can cut off the sentence that decides a claim, and several chunks of one document can take the places of other
documents. So a short document is shown whole, and chunks of one document that overlap or follow one another become one
passage; the places that this frees go to the next hits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import NamedTuple

from redargue.evidence import PAGE_BREAK, Passage, cut_ends
from redargue.retrieval.corpus.ranking import Span, uncovered

WHOLE = 2_000  # characters of a document that is shown whole, and of a passage merged from chunks
NEIGHBOURS = 2  # characters of white space between chunks that follow one another


class Hit(NamedTuple):
    """A part of a document that a search found.

    Attributes:
        source: the passage's fields that describe the document; ``document`` tells documents apart.
        length: of the document, in characters.
        read: the document's text between two offsets; valid while the search is open.
        page: the page at an offset, from 1; 0 if the document has no pages. Valid while the search is open.
    """

    source: Mapping[str, str]
    start: int
    end: int
    score: float
    length: int
    read: Callable[[int, int], str]
    page: Callable[[int], int]


Hits = Generator[Hit, None, None]


class _Shown(NamedTuple):
    hit: Hit
    span: Span
    passage: Passage


def page_in(text: str, start: int) -> int:
    """The page at an offset of a whole document."""
    return 1 + text.count(PAGE_BREAK, 0, start) if PAGE_BREAK in text else 0


def merged_passages(hits: Hits, query: str, k: int) -> tuple[Passage, ...]:
    """At most ``k`` passages of the hits, which are read best first until there are as many; none overlap."""
    shown: list[_Shown] = []
    with closing(hits):
        for hit in hits:
            span = (0, hit.length) if hit.length <= WHOLE else (hit.start, hit.end)
            touched = [other for other in shown if _touches(other, hit, span)]
            joined = _union([span, *(other.span for other in touched)])
            if not touched:
                new = _shown(hit, span, query)
            elif joined[1] - joined[0] <= WHOLE:
                best = shown.index(touched[0])
                shown[best] = _shown(touched[0].hit, joined, query)
                shown = [other for other in shown if other not in touched[1:]]
                continue
            else:
                new = _shown(hit, uncovered(span, [other.span for other in touched]), query)
            if new.passage.text and all(new.passage.text != other.passage.text for other in shown):
                shown.append(new)
                if len(shown) == k:
                    break
    return tuple(other.passage.model_copy(update={"rank": rank}) for rank, other in enumerate(shown, 1))


def _touches(shown: _Shown, hit: Hit, span: Span) -> bool:
    if shown.hit.source["document"] != hit.source["document"]:
        return False
    return span[0] <= shown.span[1] + NEIGHBOURS and shown.span[0] <= span[1] + NEIGHBOURS


def _union(spans: list[Span]) -> Span:
    return min(start for start, _ in spans), max(end for _, end in spans)


def _shown(hit: Hit, span: Span, query: str) -> _Shown:
    text = hit.read(*span)
    start = span[0] + len(text) - len(text.lstrip())
    cut = cut_ends(start=_has_words(hit, 0, start), end=_has_words(hit, span[1], hit.length))
    found = {
        "text": text.strip(),
        "start": start,
        "page": hit.page(start),
        "query": query,
        "score": hit.score,
        "cut": cut,
    }
    return _Shown(hit, span, Passage(**hit.source, **found))


def _has_words(hit: Hit, start: int, end: int) -> bool:
    """Whether anything but white space is between two offsets; reads as little as says so."""
    return any(hit.read(at, min(at + WHOLE, end)).strip() for at in range(start, end, WHOLE))
