"""METEOR, the assignment and the AVeriTeC score: worked cases, and equality with recorded values of nltk and scipy."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.bench.metrics.evidence import (
    NO_WORDNET,
    Meteor,
    averitec,
    hungarian,
    installed_meteor,
    meteor_of_words,
    meteor_without_wordnet,
    meteor_words,
    pair_text,
)

pytestmark = pytest.mark.skipif(not (find_spec("scipy") and find_spec("nltk")), reason="needs the extra lab")

FOLDER = Path(__file__).parents[1] / "reference"
TEXTS: dict[str, Any] = json.loads((FOLDER / "scorers.json").read_text(encoding="utf-8"))["texts"]
TESTS: dict[str, Any] = json.loads((FOLDER / "statistics.json").read_text(encoding="utf-8"))["tests"]
tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.lists(st.floats(0, 1), min_size=columns, max_size=columns), min_size=1, max_size=4)
)


class Synonyms:
    """WordNet's recorded answers, in the form of nltk's reader."""

    def synsets(self, word: str, /) -> list[Synonyms]:
        self.word = word
        return [self]

    def lemmas(self) -> list[SimpleNamespace]:
        names: list[str] = TEXTS["synonyms"].get(self.word, [])
        return [SimpleNamespace(name=lambda name=name: name) for name in names]


def by(score: Callable[[str, str], float]) -> Meteor:
    return Meteor(score=score, suffix="")


@pytest.mark.slow
def test_meteor_without_wordnet_equals_the_recorded_reference() -> None:
    ours = [meteor_of_words(a, b, wordnet=NO_WORDNET) for a, b in TEXTS["pairs"]]
    assert ours == pytest.approx(TEXTS["meteor"], abs=1e-9)


@pytest.mark.slow
def test_meteor_with_synonyms_equals_the_recorded_reference() -> None:
    ours = [meteor_of_words(a, b, wordnet=Synonyms()) for a, b in TEXTS["pairs"]]
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
    assert meteor_without_wordnet(candidate, reference) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't pay $3.88 (3,36 euros).", "Do n't pay $ 3.88 ( 3,36 euros ) ."),
        (
            "He said: \"It's over\"... No. Mr. J. Smith's U.S. car",
            "He said : `` It 's over '' ... No . Mr. J. Smith 's U.S. car",
        ),
        ("O'Hara cannot; well-known?", "O'Hara can not ; well-known ?"),
        ("the end. ", "the end ."),
    ],
)
def test_words_are_cut_as_treebank_does(text: str, expected: str) -> None:
    assert " ".join(meteor_words(text)) == expected


@pytest.mark.slow
@given(st.text(max_size=60), st.text(max_size=60))
def test_meteor_stays_in_bounds(first: str, second: str) -> None:
    assert 0 <= meteor_without_wordnet(first, second) < 1


@pytest.mark.parametrize(("data", "suffix"), [(True, ""), (False, "-without-wordnet")])
def test_names_of_figures_say_whether_wordnet_was_used(
    monkeypatch: pytest.MonkeyPatch, data: bool, suffix: str
) -> None:
    def official(candidate: str, reference: str) -> float:
        if not data:
            raise LookupError("wordnet")
        return 0.75

    monkeypatch.setattr("redargue.bench.metrics.evidence.official_meteor", official)
    installed_meteor.cache_clear()
    try:
        scores = averitec(["R"], ["R"], [["the tower"]], [["the tower"]])
    finally:
        installed_meteor.cache_clear()
    assert scores.figures[0].name == f"averitec-score{suffix}"
    assert scores[f"hungarian-meteor{suffix}"].value == (0.75 if data else pytest.approx(1 - 0.5 / 8))


def best_sum(table: list[list[float]]) -> float:
    """Sum of the best assignment, by way of the score that divides it by the columns."""
    rows, columns = ([str(at) for at in range(size)] for size in (len(table), len(table[0])))
    score = hungarian(rows, columns, limit=len(rows), meteor=by(lambda row, column: table[int(row)][int(column)]))
    assert score is not None
    return score * len(columns)


@pytest.mark.parametrize("at", range(len(TESTS["tables"])))
def test_the_assignment_is_as_good_as_the_recorded_one(at: int) -> None:
    assert best_sum(TESTS["tables"][at]) == pytest.approx(TESTS["best"][at], abs=1e-9)


@given(tables)
def test_the_assignment_is_as_good_as_trying_all(table: list[list[float]]) -> None:
    wide = table if len(table) <= len(table[0]) else [list(row) for row in zip(*table, strict=True)]
    best = max(
        sum(wide[row][column] for row, column in enumerate(order))
        for order in permutations(range(len(wide[0])), len(wide))
    )
    assert best_sum(table) == pytest.approx(best, abs=1e-9)


def test_hungarian_score_divides_by_the_gold_pairs() -> None:
    def equal(first: str, second: str) -> float:
        return float(first == second)

    assert hungarian(["b", "a"], ["a", "b", "c", "d"], meteor=by(equal)) == 0.5
    assert hungarian(["a"] * 3, ["a"], meteor=by(equal)) == 1.0
    assert hungarian(["x"] * 10 + ["a"], ["a"], meteor=by(equal)) == 0.0  # the eleventh does not count
    assert hungarian([], ["a"]) == 0.0
    assert hungarian(["a"], []) is None


def test_averitec_score_wants_the_label_and_evidence_above_the_threshold() -> None:
    values = {"low": 0.25, "mid": 0.3, "high": 0.9}
    scores = averitec(
        ["R", "R", "R", "S"],
        ["R", "R", "S", "S"],
        [["low"], ["mid"], ["high"], ["high"]],
        [["g"], ["g"], ["g"], []],
        meteor=by(lambda candidate, _: values[candidate]),
    )
    assert scores.items == (False, True, False)  # exactly the threshold is not above it; no gold pairs, no score
    assert scores["hungarian-meteor"].value == pytest.approx((0.25 + 0.3 + 0.9) / 3)
    assert [figure.value for figure in scores.figures[3:]] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 0, 0, 0])
    assert scores["averitec-score"].value == pytest.approx(1 / 3)
    assert scores["label-accuracy"].value == 0.75


def test_averitec_without_gold_pairs_is_undefined() -> None:
    scores = averitec(["R"], ["R"], [["x"]], [[]])
    assert scores.figures[0].value is None
    assert "question-answer pairs" in scores.figures[0].undefined


def test_a_boolean_answer_has_its_explanation_appended() -> None:
    assert pair_text("Is it?", "Yes", "It is.") == "Is it? Yes. It is."
    assert pair_text("Who?", "Ann") == "Who? Ann"
