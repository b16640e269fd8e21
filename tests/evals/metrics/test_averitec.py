"""METEOR, its stemmer, the assignment and the AVeriTeC score: worked cases, and equality with nltk and scipy."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.evals.metrics.assignment import best_assignment
from redargue.evals.metrics.averitec import averitec, hungarian, pair_text, questions_only
from redargue.evals.metrics.meteor import align, meteor, meteor_of_words, words
from redargue.evals.metrics.stemming import stem

FOLDER = Path(__file__).parents[1] / "reference"
TEXTS: dict[str, Any] = json.loads((FOLDER / "scorers.json").read_text(encoding="utf-8"))["texts"]
TESTS: dict[str, Any] = json.loads((FOLDER / "statistics.json").read_text(encoding="utf-8"))["tests"]
tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.floats(0, 1), min_size=columns, max_size=columns), min_size=1, max_size=4)
)


def test_stems_equal_nltk() -> None:
    assert {word: stem(word) for word in TEXTS["stems"]} == TEXTS["stems"]


def test_meteor_equals_nltk_without_wordnet() -> None:
    ours = [meteor_of_words([w.lower() for w in a], [w.lower() for w in b]) for a, b in TEXTS["pairs"]]
    assert ours == pytest.approx(TEXTS["meteor"], abs=1e-9)


def test_meteor_equals_nltk_where_wordnet_is_given() -> None:
    synonyms: dict[str, list[str]] = TEXTS["synonyms"]
    ours = [
        meteor_of_words([w.lower() for w in a], [w.lower() for w in b], synonyms=lambda word: synonyms.get(word, ()))
        for a, b in TEXTS["pairs"]
    ]
    assert ours == pytest.approx(TEXTS["meteor_with_synonyms"], abs=1e-9)
    assert ours != pytest.approx(TEXTS["meteor"], abs=1e-9)


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        ("the cat sat", "the cat sat", 1 - 0.5 / 27),  # three matches in one chunk
        ("cat", "dog", 0.0),
        ("", "dog", 0.0),
        ("sat cat", "cat sat", 0.5),  # two matches in two chunks: 1 - .5
        ("films", "filming", 0.5),  # equal stems; one match is one chunk
        ("a b", "a b c d", (1 - 0.5 / 8) * (1 * 0.5) / (0.9 * 1 + 0.1 * 0.5)),
    ],
)
def test_meteor_worked_by_hand(candidate: str, reference: str, expected: float) -> None:
    assert meteor(candidate, reference) == pytest.approx(expected, abs=1e-12)


def test_matches_are_taken_from_the_end_as_nltk_does() -> None:
    assert align(["a", "b", "a"], ["a", "b"]) == [(1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't pay $3.88 (3,36 euros).", "do n't pay $ 3.88 ( 3,36 euros ) ."),
        (
            "He said: \"It's over\"... No. Mr. J. Smith's U.S. car",
            "he said : \" it 's over \" ... no . mr. j. smith 's u.s. car",
        ),
        ("O'Hara cannot; well-known?", "o'hara can not ; well-known ?"),
        ("the end. ", "the end ."),
    ],
)
def test_words_are_cut_as_treebank_does(text: str, expected: str) -> None:
    assert " ".join(words(text)) == expected


@given(st.text(max_size=60), st.text(max_size=60))
def test_meteor_stays_in_bounds_and_words_lose_no_character(first: str, second: str) -> None:
    assert 0 <= meteor(first, second) < 1
    assert "".join(words(first)).replace(" ", "") == "".join(first.lower().split()) or not first.isascii()


@pytest.mark.parametrize("at", range(len(TESTS["tables"])))
def test_the_assignment_is_as_good_as_scipys(at: int) -> None:
    table = TESTS["tables"][at]
    pairs = best_assignment(table)
    assert len(pairs) == min(len(table), len(table[0]))
    assert sum(table[row][column] for row, column in pairs) == pytest.approx(TESTS["best"][at], abs=1e-9)


@given(tables)
def test_the_assignment_is_as_good_as_trying_all(table: list[list[float]]) -> None:
    pairs = best_assignment(table)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    wide = table if len(table) <= len(table[0]) else [list(row) for row in zip(*table, strict=True)]
    best = max(
        sum(wide[row][column] for row, column in enumerate(order))
        for order in permutations(range(len(wide[0])), len(wide))
    )
    assert sum(table[row][column] for row, column in pairs) == pytest.approx(best, abs=1e-9)


def test_hungarian_score_divides_by_the_gold_pairs() -> None:
    def equal(first: str, second: str) -> float:
        return float(first == second)

    assert hungarian(["b", "a"], ["a", "b", "c", "d"], pairwise=equal) == 0.5
    assert hungarian(["a"] * 3, ["a"], pairwise=equal) == 1.0
    assert hungarian(["x"] * 10 + ["a"], ["a"], pairwise=equal) == 0.0  # the eleventh does not count
    assert hungarian([], ["a"]) == 0.0
    assert hungarian(["a"], []) is None


def test_averitec_score_wants_the_label_and_evidence_above_the_threshold() -> None:
    values = {"low": 0.25, "mid": 0.3, "high": 0.9}
    scores = averitec(
        ["R", "R", "R", "S"],
        ["R", "R", "S", "S"],
        [["low"], ["mid"], ["high"], ["high"]],
        [["g"], ["g"], ["g"], []],
        pairwise=lambda candidate, _: values[candidate],
    )
    assert scores.items == (False, True, False)  # exactly the threshold is not above it; no gold pairs, no score
    assert scores.evidence.value == pytest.approx((0.25 + 0.3 + 0.9) / 3)
    assert [figure.value for figure in scores.thresholds] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0, 0, 0])
    assert scores.score.value == pytest.approx(1 / 3)
    assert scores.accuracy.value == 0.75


def test_averitec_without_gold_pairs_is_undefined() -> None:
    scores = averitec(["R"], ["R"], [["x"]], [[]])
    assert scores.score.value is None
    assert "question-answer pairs" in scores.score.undefined
    assert questions_only([["x"]], [[]]).value is None
    assert questions_only([["who"]], [["who"]]).value == 0.5


def test_a_boolean_answer_has_its_explanation_appended() -> None:
    assert pair_text("Is it?", "Yes", "It is.") == "Is it? Yes. It is."
    assert pair_text("Who?", "Ann") == "Who? Ann"
