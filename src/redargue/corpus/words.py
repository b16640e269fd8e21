"""Words as SQLite's FTS5 sees them: BM25 over a table or a few texts, and a text's terms for another engine.

A term is lower case, without diacritics, and cut to its stem (Porter): "Libraries" is ``librari``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from redargue.corpus.ranking import match_words, telling_words

TOKENIZER = "porter unicode61 remove_diacritics 2"
TITLE = 3.0  # times that a word in a title counts


def by_words(db: sqlite3.Connection, table: str, query: str, count: int) -> list[tuple[int, float]]:
    """Row numbers of an FTS5 table and their BM25 scores, positive and the best first."""
    words = match_words(query)
    if not words:
        return []
    return [
        (number, -score)
        for number, score in db.execute(
            f"SELECT rowid, bm25({table}, {TITLE}, 1.0) AS score FROM {table} WHERE {table} MATCH ?"
            " ORDER BY score, rowid LIMIT ?",
            (words, count),
        )
    ]


def word_scores(texts: Sequence[str], query: str) -> dict[int, float]:
    """BM25 scores, positive, of the texts that contain words of the query, by their place."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (title, text, content='', tokenize='{TOKENIZER}')")
        db.executemany("INSERT INTO words (rowid, title, text) VALUES (?, '', ?)", enumerate(texts))
        return dict(by_words(db, "words", query, len(texts)))


def terms(texts: Sequence[str]) -> list[list[str]]:
    """The terms of each text, in order and as often as they stand in it."""
    found: list[list[str]] = [[] for _ in texts]
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, content='', tokenize='{TOKENIZER}')")
        db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'instance')")
        db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts))
        for place, term in db.execute("SELECT doc, term FROM terms ORDER BY doc, offset"):
            found[place].append(term)
    return found


def query_terms(query: str) -> str:
    """The distinct terms of a query's telling words, with spaces between; empty where it has none."""
    (found,) = terms([" ".join(telling_words(query))])
    return " ".join(dict.fromkeys(found))
