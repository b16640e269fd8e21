"""Ranking of search results: FTS5 queries, nearest vectors, reciprocal rank fusion, excerpts."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing

import numpy as np

from redargue.nli.session import Floats

# Keyword search with SQLite's FTS5. A term is a word in lower case, without diacritics, and stemmed
# (Porter): "Libraries" becomes ``librari``.

TOKENIZER = "porter unicode61 remove_diacritics 2"
TITLE_WEIGHT = 3.0  # BM25 weight of a word in a title; a word in the text has 1


def bm25_search(db: sqlite3.Connection, table: str, query: str, count: int) -> list[tuple[int, float]]:
    """Row ids of an FTS5 table with their BM25 scores, which are positive; best first."""
    expression = fts5_query(query)
    if not expression:
        return []
    score = f"-bm25({table}, {TITLE_WEIGHT}, 1.0)"
    find = f"SELECT rowid, {score} AS score FROM {table} WHERE {table} MATCH ? ORDER BY score DESC, rowid LIMIT ?"
    return db.execute(find, (expression, count)).fetchall()


def ranked_by_words(texts: Sequence[tuple[str, str]], query: str, count: int) -> list[tuple[int, float]]:
    """Indices of pairs of title and text with their BM25 scores, which are positive; best first."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (title, text, content='', tokenize='{TOKENIZER}')")
        rows = ((index, title, text) for index, (title, text) in enumerate(texts))
        db.executemany("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", rows)
        return bm25_search(db, "words", query, count)


def word_scores(texts: Sequence[str], query: str) -> dict[int, float]:
    return dict(ranked_by_words([("", text) for text in texts], query, len(texts)))


def terms(texts: Sequence[str]) -> list[list[str]]:
    """The terms of each text, in order and with repetitions."""
    result: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize='{TOKENIZER}')")
        db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'instance')")
        db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts))
        for index, term in db.execute("SELECT doc, term FROM terms ORDER BY doc, offset"):
            result[index].append(term)
    return result


def query_terms(query: str) -> str:
    """The distinct terms of a query's content words, separated by spaces; empty if there are none."""
    (stems,) = terms([" ".join(query_words(query))])
    return " ".join(dict.fromkeys(stems))


MAX_QUERY_WORDS = 100  # a longer query is a text, whose first words are enough to find its topic
RRF_K = 60  # the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)

Span = tuple[int, int]

_STOP = frozenset(
    "a about an and are as at be been but by did do does for from had has have he her him his how i if in into is it "
    "its me my of on or our she so than that the their them then there these they this those to us was we were what "
    "when where which who whom why will with would you your".split()
)


def query_words(query: str) -> list[str]:
    """A query's distinct words in lower case, at most 100; without stop words unless all are ("The Who")."""
    words = dict.fromkeys(re.findall(r"\w+", query.lower()))
    return ([word for word in words if word not in _STOP] or list(words))[:MAX_QUERY_WORDS]


def fts5_query(query: str) -> str:
    """An FTS5 expression that matches any content word of the query, quoted; empty if there is none."""
    return " OR ".join(f'"{word}"' for word in query_words(query))


def nearest(matrix: Floats, vector: Floats, count: int) -> list[int]:
    """Indices of the ``count`` rows with the largest dot product with ``vector``, rounded to six decimals; exact.

    Ties keep row order. Shapes: (rows, dimensions) and (dimensions,).
    """
    # The order of summation depends on the row's position: without rounding, equal rows would get different scores.
    scores = np.round(matrix @ vector, 6)
    rows = np.arange(len(scores))
    if count < len(scores):
        rows = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    return [int(row) for row in rows[np.argsort(-scores[rows], kind="stable")][:count]]


def fuse(*rankings: Iterable[int]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion of rankings of numbers, best first; ties go to the smaller number.

    A number's score is the sum of ``1 / (60 + rank)`` over the rankings that contain it.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for numbers in rankings:
        for rank, number in enumerate(numbers, 1):
            scores[number] += 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def fuse_both(by_meaning: Iterable[int], by_words: Sequence[int]) -> list[tuple[int, float]]:
    """Both rankings of a query fused; the first by words is among the first three.

    It may be the only one with a name that tells a row of a table from thousands of others of one meaning.
    """
    ranked = fuse(by_meaning, by_words)
    place = next((place for place, (number, _) in enumerate(ranked) if number == by_words[0]), 0) if by_words else 0
    if place > _FIRST_BY_WORDS:
        number, _ = ranked.pop(place)
        ranked.insert(_FIRST_BY_WORDS, (number, ranked[_FIRST_BY_WORDS - 1][1]))
    return ranked


_FIRST_BY_WORDS = 2  # the last place that it may have, counted from 0


def spread(ranked: Sequence[tuple[int, float]], documents: Mapping[int, int]) -> list[tuple[int, float]]:
    """Diversifies a ranking of chunks: halves a score for every better chunk of the same document."""
    seen: Counter[int] = Counter()
    rescored = []
    for chunk, score in ranked:
        document = documents[chunk]
        rescored.append((chunk, score * 0.5 ** seen[document]))
        seen[document] += 1
    return sorted(rescored, key=lambda item: -item[1])  # stable: ties keep their order


def best_excerpt(spans: Sequence[Span], scores: Mapping[int, float], limit: int) -> Span:
    """The span around a document's best chunk, extended by the better neighbouring chunk while it fits.

    ``spans`` are of all chunks, ``scores`` of matching chunks by index; a single chunk may exceed ``limit`` characters.
    """
    first = last = max(range(len(spans)), key=lambda index: (scores.get(index, 0.0), -index))
    while True:
        fitting = [
            index
            for index in (last + 1, first - 1)
            if 0 <= index < len(spans) and spans[max(last, index)][1] - spans[min(first, index)][0] <= limit
        ]
        if not fitting:
            return spans[first][0], spans[last][1]
        neighbour = max(fitting, key=lambda index: scores.get(index, 0.0))
        first, last = min(first, neighbour), max(last, neighbour)


def uncovered(span: Span, shown: Sequence[Span]) -> Span:
    """The part of a span that the shown spans do not cover, which overlap it only at its ends; it may be empty."""
    start, end = span
    for shown_start, shown_end in shown:
        if start < shown_end and shown_start < end:
            if start < shown_start:
                end = shown_start
            else:
                start = min(end, shown_end)
    return start, end
