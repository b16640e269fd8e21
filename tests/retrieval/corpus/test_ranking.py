"""Ranking: exact neighbours, fusion, queries that cannot be anything but words."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.retrieval.corpus.ranking import best_excerpt, fts5_query, fuse, fuse_both, nearest, spread, uncovered


@given(
    scores=st.lists(st.integers(-5, 5), max_size=40),
    count=st.integers(1, 50),
)
def test_nearest_equals_sorting_everything(scores: list[int], count: int) -> None:
    matrix = np.array(scores, np.float32).reshape(-1, 1)
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:count]
    assert nearest(matrix, np.ones(1, np.float32), count) == expected


def test_fusion_rewards_agreement_and_orders_ties_by_number() -> None:
    fused = fuse([7, 3], [9, 3])
    assert [number for number, _ in fused] == [3, 7, 9]
    assert dict(fused)[3] == pytest.approx(2 / 62)


def test_the_first_by_words_is_among_the_first_three() -> None:
    by_meaning = [1, 2, 3, 4, 5]
    assert fuse_both(by_meaning, []) == fuse(by_meaning)
    assert fuse_both(by_meaning, [2, 9]) == fuse(by_meaning, [2, 9])
    ranked = fuse_both(by_meaning, [9, 4, 2, 1])
    assert [number for number, _ in ranked] == [1, 2, 9, 4, 3, 5]
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert [number for number, _ in fuse_both([], [9])] == [9]


@given(query=st.text() | st.text(alphabet="\"*():^-+ANDORNEAT{}\\'_.,\x00\ud800é日"))
def test_no_query_is_a_syntax_error(query: str) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, content='')")
        if words := fts5_query(query.encode(errors="replace").decode()):
            assert db.execute("SELECT rowid FROM t WHERE t MATCH ?", (words,)).fetchall() == []


def test_stop_words_are_dropped_unless_nothing_else_is_there() -> None:
    assert fts5_query("When was the Tower built, the tower?") == '"tower" OR "built"'
    assert fts5_query("The Who") == '"the" OR "who"'
    assert fts5_query("?!") == ""
    assert fts5_query(" ".join(f"w{n}" for n in range(5000))).count(" OR ") == 99


def test_an_excerpt_grows_towards_the_better_neighbour_while_it_fits() -> None:
    spans = [(0, 100), (80, 200), (180, 300), (290, 400)]
    assert best_excerpt(spans, {2: 5.0, 1: 2.0}, 250) == (80, 300)
    assert best_excerpt(spans, {2: 5.0}, 250) == (180, 400)
    assert best_excerpt(spans, {2: 5.0}, 100) == (180, 300)
    assert best_excerpt(spans, {}, 10_000) == (0, 400)


def test_what_is_shown_already_is_left_out() -> None:
    assert uncovered((10, 20), []) == (10, 20)
    assert uncovered((10, 20), [(15, 30)]) == (10, 15)
    assert uncovered((10, 20), [(0, 15)]) == (15, 20)
    start, end = uncovered((10, 20), [(0, 15), (15, 30)])
    assert start == end


def test_a_document_that_was_shown_has_to_be_better_to_be_shown_again() -> None:
    documents = {1: 7, 2: 7, 3: 7, 4: 8, 5: 9}
    ranked = [(1, 1.0), (2, 0.9), (3, 0.8), (4, 0.6), (5, 0.1)]
    assert [chunk for chunk, _ in spread(ranked, documents)] == [1, 4, 2, 3, 5]
    alone = spread(ranked[:3], documents)
    assert [chunk for chunk, _ in alone] == [1, 2, 3]
    assert [score for _, score in alone] == [1.0, 0.45, 0.2]
