"""Keyword search with SQLite's FTS5 over a table or a few texts, and FTS5's terms of a text for other engines.

A term is a word in lower case, without diacritics, and stemmed (Porter): "Libraries" becomes ``librari``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from redargue.retrieval.corpus.ranking import content_words, fts5_query

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
    (stems,) = terms([" ".join(content_words(query))])
    return " ".join(dict.fromkeys(stems))
