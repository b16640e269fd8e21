"""What orders search results: a user's words as an FTS5 query, nearest vectors, rank fusion, the best excerpt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from redargue.models.cache import Floats

MOST_WORDS = 100  # of a query; a longer one is a text, and its first words say what it is about
CLOSE = 60  # ranks: the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)

Span = tuple[int, int]

_STOP = frozenset(
    "a about an and are as at be been but by did do does for from had has have he her him his how i if in into is it "
    "its me my of on or our she so than that the their them then there these they this those to us was we were what "
    "when where which who whom why will with would you your".split()
)


def telling_words(query: str) -> list[str]:
    """A query's distinct words, lower case, at most 100; stop words only where nothing else is left ("The Who")."""
    words = dict.fromkeys(re.findall(r"\w+", query.lower()))
    return ([word for word in words if word not in _STOP] or list(words))[:MOST_WORDS]


def match_words(query: str) -> str:
    """An FTS5 expression that finds any of the query's telling words; empty where it has none.

    Every word is quoted, so that no character of the user's is an operator.
    """
    return " OR ".join(f'"{word}"' for word in telling_words(query))


def nearest(matrix: Floats, vector: Floats, count: int) -> list[int]:
    """Rows of ``matrix`` by falling dot product with ``vector``, to six decimals; of equals, the first.

    Every row is compared: nothing is approximated.

    Args:
        matrix: of shape (rows, dimensions).
        vector: of shape (dimensions,).
        count: how many rows.
    """
    # How a product is summed up depends on where its row stands: without rounding, equal texts would not be equal.
    scores = np.round(matrix @ vector, 6)
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        rows = np.flatnonzero(scores >= least)
    else:
        rows = np.arange(len(scores))
    return [int(row) for row in rows[np.lexsort((rows, -scores[rows]))][:count]]


def fuse(*rankings: tuple[Sequence[int], float]) -> list[tuple[int, float]]:
    """Numbers with their fused scores, the best first; of equals, the smaller number.

    A number's score is the sum of ``weight / (60 + rank)`` over the rankings that hold it.

    Args:
        rankings: numbers, the best first, and the weight of their ranking.
    """
    scores: dict[int, float] = {}
    for numbers, weight in rankings:
        for rank, number in enumerate(numbers, 1):
            scores[number] = scores.get(number, 0.0) + weight / (CLOSE + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def spread(ranked: Sequence[tuple[int, float]], documents: Mapping[int, int], again: float) -> list[tuple[int, float]]:
    """Chunks in a new order, in which a document that was shown already has to be better to be shown again.

    Args:
        ranked: chunks with their scores, the best first.
        documents: of each chunk, its document.
        again: what a chunk's score is multiplied with for every better chunk of its document, in (0, 1].
    """
    held: dict[int, int] = {}
    found = []
    for chunk, score in ranked:
        document = documents[chunk]
        found.append((chunk, score * again ** held.get(document, 0)))
        held[document] = held.get(document, 0) + 1
    return sorted(found, key=lambda item: -item[1])  # stable: of equals, the one that was first


def best_excerpt(spans: Sequence[Span], scores: Mapping[int, float], limit: int) -> Span:
    """The stretch of a document around its best chunk, grown towards the better neighbour while it fits.

    Args:
        spans: start and end of the document's chunks, in order; at least one.
        scores: of those chunks (by place) that match, the higher the better.
        limit: characters; a single chunk may be longer.
    """
    first = last = max(range(len(spans)), key=lambda place: (scores.get(place, 0.0), -place))
    while True:
        grown = [(place, min(first, place), max(last, place)) for place in (last + 1, first - 1)]
        fitting = [
            (place, low, high)
            for place, low, high in grown
            if 0 <= place < len(spans) and spans[high][1] - spans[low][0] <= limit
        ]
        if not fitting:
            return spans[first][0], spans[last][1]
        _, first, last = max(fitting, key=lambda each: scores.get(each[0], 0.0))


def uncovered(span: Span, shown: Sequence[Span]) -> Span:
    """What is left of a span beside those that are shown already; it may be empty.

    Chunks overlap at their ends only, so that what is left is one stretch.
    """
    start, end = span
    for shown_start, shown_end in shown:
        if start < shown_end and shown_start < end:
            if start < shown_start:
                end = shown_start
            else:
                start = min(end, shown_end)
    return start, end
