"""Calibration, risk and coverage: worked cases, and equality with scikit-learn on frozen values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.bench.metrics.classification import aurc, brier, calibration_error, reliability, risk_coverage
from redargue.errors import UsageError

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "reference" / "statistics.json").read_text(encoding="utf-8")
)
answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@pytest.mark.parametrize("case", REFERENCE["calibration"], ids=lambda case: f"n={len(case['right'])}")
def test_brier_score_and_bins_equal_scikit_learn(case: dict[str, Any]) -> None:
    confidence, right = case["confidence"], case["right"]
    held = [each for each in reliability(confidence, right) if each.n]
    assert brier(confidence, right).value == pytest.approx(case["brier"], abs=1e-9)
    assert [each.accuracy for each in held] == pytest.approx(case["bin_accuracy"], abs=1e-9)
    assert [each.confidence for each in held] == pytest.approx(case["bin_confidence"], abs=1e-9)
    weighted = sum(
        each.n * abs(accuracy - confidence)
        for each, accuracy, confidence in zip(held, case["bin_accuracy"], case["bin_confidence"], strict=True)
    )
    assert calibration_error(confidence, right).value == pytest.approx(weighted / len(right), abs=1e-9)


def test_calibration_error_worked_by_hand() -> None:
    error = calibration_error([0.9, 0.9, 0.9, 0.9, 0.6], [True, True, True, False, True])
    assert error.value == pytest.approx(4 / 5 * 0.15 + 1 / 5 * 0.4)


@pytest.mark.parametrize(("value", "place"), [(0.0, 0), (0.1, 0), (0.3, 2), (0.30000001, 3), (0.7, 6), (1.0, 9)])
def test_an_edge_belongs_to_the_bin_below(value: float, place: int) -> None:
    assert [each.n for each in reliability([value], [True])].index(1) == place


def test_risk_grows_with_coverage_where_confidence_orders_well() -> None:
    points = risk_coverage([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    assert [(point.threshold, point.coverage, point.risk) for point in points] == [
        (0.9, 0.25, 0.0),
        (0.8, 0.75, pytest.approx(1 / 3)),
        (0.1, 1.0, 0.5),
    ]


def test_aurc_worked_by_hand() -> None:
    assert aurc([0.9, 0.8, 0.7, 0.1], [True, False, True, False]).value == pytest.approx(
        (0 + 1 / 2 + 1 / 3 + 2 / 4) / 4
    )
    assert aurc([0.5, 0.5], [True, False]).value == pytest.approx(0.5)  # of one confidence: errors spread evenly


def test_without_confidences_nothing_is_defined() -> None:
    for figure in (calibration_error([], []), brier([], []), aurc([], [])):
        assert figure.undefined == "no answer has a confidence"
    assert risk_coverage([], []) == ()


@pytest.mark.parametrize("bad", [1.2, -0.1, float("nan")])
def test_a_confidence_outside_zero_and_one_is_refused(bad: float) -> None:
    for metric in (calibration_error, brier, aurc):
        with pytest.raises(UsageError, match=r"is not in \[0, 1\] .item 2"):
            metric([0.5, bad], [True, True])


@pytest.mark.slow
@given(answers)
def test_all_stay_in_bounds_and_do_not_depend_on_the_order(pairs: list[tuple[float, bool]]) -> None:
    confidence, right = [c for c, _ in pairs], [r for _, r in pairs]
    assert sum(each.n for each in reliability(confidence, right)) == len(pairs)
    for metric in (calibration_error, brier, aurc):
        value, back = metric(confidence, right).value, metric(confidence[::-1], right[::-1]).value
        assert value is not None
        assert -1e-12 <= value <= 1 + 1e-12
        assert value == pytest.approx(back, abs=1e-12)
