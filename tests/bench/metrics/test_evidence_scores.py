"""FEVER, FEVEROUS, HoVer and SciFact: worked cases, and equality with the official scripts on frozen rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.metrics.evidence import (
    GoldAbstract,
    PredictedAbstract,
    fever,
    feverous,
    hover,
    limit_elements,
    scifact,
)
from redargue.errors import UsageError

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "reference" / "scorers.json").read_text(encoding="utf-8")
)
NEI = "NOT ENOUGH INFO"
A, B, C = ("p", "0"), ("p", "1"), ("q", "0")


def columns(rows: list[dict[str, Any]]) -> tuple[list[str], list[str], list[Any], list[Any]]:
    groups = [[[(page, part) for page, part in group] for group in row["evidence"]] for row in rows]
    predicted = [[(page, part) for page, part in row["predicted_evidence"]] for row in rows]
    return [row["label"] for row in rows], [row["predicted_label"] for row in rows], groups, predicted


def test_fever_equals_the_official_script() -> None:
    case = REFERENCE["fever"]
    assert [figure.value for figure in fever(*columns(case["rows"])).figures] == pytest.approx(
        case["expected"], abs=1e-9
    )


def test_feverous_equals_the_official_script() -> None:
    case = REFERENCE["feverous"]
    assert [figure.value for figure in feverous(*columns(case["rows"])).figures] == pytest.approx(
        case["expected"], abs=1e-9
    )


def test_fever_score_wants_one_whole_group() -> None:
    scores = fever(["S", "S", "S"], ["S", "S", "S"], [[[A, B]], [[A, B], [C]], [[A]]], [[A], [C], []])
    assert scores.items == (False, True, False)
    assert scores["label-accuracy"].value == 1.0
    assert scores["evidence-precision"].value == pytest.approx((1 + 1 + 1) / 3)  # no prediction counts 1
    assert scores["evidence-recall"].value == pytest.approx(1 / 3)
    assert scores["evidence-f1"].value == pytest.approx(2 * 1 * (1 / 3) / (1 + 1 / 3))


def test_fever_claims_without_enough_information_need_the_label_alone_and_leave_the_evidence_means() -> None:
    scores = fever([NEI, NEI], [NEI, "S"], [[], []], [[A], [A]])
    assert scores.items == (True, False)
    assert scores["evidence-precision"].value is None
    assert scores["evidence-f1"].undefined == "no claim has gold evidence"


def test_fever_counts_the_first_five_sentences() -> None:
    late = [("x", str(at)) for at in range(5)] + [A]
    assert fever(["S"], ["S"], [[[A]]], [late])["fever-score"].value == 0.0


def test_a_fever_label_that_was_not_given_is_wrong() -> None:
    assert fever(["S", NEI], [None, None], [[[A]], []], [[A], []])["fever-score"].value == 0.0


def test_feverous_counts_five_sentences_and_twenty_five_cells() -> None:
    sentences = [("p", f"sentence_{at}") for at in range(7)]
    cells = [("p", f"cell_0_{at}_0") for at in range(30)]
    kept = limit_elements([*cells, ("p", "table_caption_0"), ("p", "title"), *sentences])
    assert kept == (*cells[:25], ("p", "title"), *sentences[:4])


def test_feverous_wants_evidence_for_not_enough_information_too() -> None:
    gold = [[[("p", "sentence_0"), ("p", "cell_0_1_1")]]] * 2
    scores = feverous([NEI, NEI], [NEI, NEI], gold, [[("p", "sentence_0")], list(gold[1][0])])
    assert scores.items == (False, True)


def test_hover_wants_a_sentence_of_every_supporting_document() -> None:
    facts = [[A, B, C]] * 4
    scores = hover(["S"] * 4, ["S", "S", "N", "S"], facts, [[B, C], [A, B], [A, C], [A, B, C]])
    assert scores.items == (True, False, False, True)
    assert scores["every-document"].value == 0.75
    assert scores["all-facts"].value == 0.25


def test_scifact_equals_the_official_evaluator() -> None:
    case = REFERENCE["scifact"]
    gold = [
        [
            GoldAbstract(
                document=name,
                label=parts[0]["label"],
                rationales=tuple(tuple(map(str, part["sentences"])) for part in parts),
            )
            for name, parts in row["evidence"].items()
        ]
        for row in case["gold"]
    ]
    said = [
        [
            PredictedAbstract(document=name, label=each["label"], sentences=tuple(map(str, each["sentences"])))
            for name, each in row["evidence"].items()
        ]
        for row in case["said"]
    ]
    scores = {name.replace("-", "_"): figure.value for name, figure in scifact(gold, said).items()}
    assert scores == pytest.approx(case["expected"], abs=1e-9)


def test_scifact_worked_by_hand() -> None:
    gold = [[GoldAbstract(document="1", label="SUPPORT", rationales=(("0", "1"), ("4",)))], []]
    said = [
        [PredictedAbstract(document="1", label="SUPPORT", sentences=("2", "3", "0", "1", "4"))],
        [PredictedAbstract(document="9", label="SUPPORT", sentences=("0",))],
    ]
    scores = scifact(gold, said)
    assert scores["abstract-label-only-f1"].value == pytest.approx(2 * 1 / (2 + 1))
    assert scores["abstract-rationalized-f1"].value == 0.0  # neither rationale lies in the first three
    assert scores["sentence-selection-precision"].value == pytest.approx(3 / 6)
    assert scores["sentence-label-recall"].value == 1.0


def test_scifact_without_predictions_has_no_precision() -> None:
    scores = scifact([[GoldAbstract(document="1", label="SUPPORT", rationales=(("0",),))]], [[]])
    assert scores["abstract-label-only-precision"].undefined == "nothing was predicted"
    assert scores["abstract-label-only-f1"].value == 0.0
    assert scifact([[]], [[]])["abstract-label-only-f1"].value is None


def test_scifact_refuses_an_abstract_that_stands_twice() -> None:
    with pytest.raises(UsageError, match=r"listed twice .claim 1"):
        scifact([[]], [[PredictedAbstract(document="1", label="SUPPORT")] * 2])
