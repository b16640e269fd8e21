"""Labels against gold labels; equality with scikit-learn to 1e-9, on values that ``reference/make.py`` froze."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.responses_figures import reconstruct_counts
from hypothesis import given
from hypothesis import strategies as st

from redargue.bench.metrics import MetricValue, f1_score, mean, ratio
from redargue.bench.metrics.classification import (
    Binary,
    NonAnswers,
    accuracy,
    apply_rule,
    class_scores,
    confusion,
    coverage,
    exact_match,
    macro_f1,
    scores_by_rule,
)
from redargue.errors import UsageError

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "reference" / "statistics.json").read_text(encoding="utf-8")
)
TF = ("True", "False")
LABELS = ("a", "b", "c")
answers = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, None))), min_size=1, max_size=30)


@pytest.mark.parametrize("case", REFERENCE["classification"], ids=lambda case: f"n={len(case['gold'])}")
def test_scores_equal_scikit_learn(case: dict[str, Any]) -> None:
    gold, said, labels = case["gold"], case["said"], case["labels"]
    matrix = confusion(gold, said, labels=labels)
    scores = class_scores(matrix)
    assert accuracy(gold, said).value == pytest.approx(case["accuracy"], abs=1e-9)
    assert macro_f1(gold, said, labels=labels).value == pytest.approx(case["macro_f1"], abs=1e-9)
    assert [list(row) for row in matrix.counts] == case["confusion"]
    assert [score.support for score in scores] == case["support"]
    for name in ("precision", "recall", "f1"):
        ours = [getattr(score, name).value or 0.0 for score in scores]  # scikit-learn puts 0 where we say undefined
        assert ours == pytest.approx(case[name], abs=1e-9)


def test_a_class_without_gold_and_predictions_counts_zero_in_macro_f1() -> None:
    scores = class_scores(confusion(["a", "a"], ["a", "a"], labels=["a", "b"]))
    assert [score.f1.value for score in scores] == [1.0, 0.0]
    assert macro_f1(["a", "a"], ["a", "a"], labels=["a", "b"]).value == 0.5


def test_precision_of_a_class_that_was_never_predicted_is_undefined_and_says_why() -> None:
    second = class_scores(confusion(["a", "b"], ["a", "a"], labels=["a", "b"]))[1]
    assert second.precision.value is None
    assert second.precision.undefined == "'b' was never predicted"
    assert second.recall.value == 0.0


def test_without_items_nothing_is_a_number() -> None:
    for figure in (accuracy([], []), coverage([]), exact_match([], []), macro_f1([], [], labels=TF)):
        assert figure.value is None
        assert figure.undefined == "no items"


def test_three_rules_give_three_scores_worked_by_hand() -> None:
    gold = ["True", "True", "True", "False", "False", "False"]
    said = ["True", "True", None, "False", None, "True"]
    wrong, dropped, negative = scores_by_rule(gold, said, labels=TF, negative="False")
    assert [rule.rule for rule in (wrong, dropped, negative)] == list(NonAnswers)
    assert coverage(said).value == pytest.approx(4 / 6)
    assert wrong.accuracy.value == pytest.approx(3 / 6)  # True: 2·2/(3+3); False: 2·1/(3+1)
    assert wrong.macro_f1.value == pytest.approx((4 / 6 + 2 / 4) / 2)
    assert dropped.accuracy.value == pytest.approx(3 / 4)  # True: 2·2/(2+3); False: 2·1/(2+1)
    assert dropped.macro_f1.value == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert negative.accuracy.value == pytest.approx(4 / 6)  # True: 2·2/(3+3); False: 2·2/(3+3)
    assert negative.macro_f1.value == pytest.approx(4 / 6)
    assert dropped.accuracy.n == 4


def test_labels_without_a_negative_one_leave_the_third_rule_undefined() -> None:
    last = scores_by_rule(["A"], [None], labels=["A", "B"], negative=None)[2]
    assert last.accuracy.value is None
    assert "negative" in last.accuracy.undefined
    with pytest.raises(UsageError, match="negative"):
        apply_rule(NonAnswers.NEGATIVE, ["A"], [None])


def test_dropping_every_item_is_undefined() -> None:
    dropped = scores_by_rule(["True"], [None], labels=TF, negative="False")[1]
    assert dropped.accuracy.undefined == dropped.macro_f1.undefined == "no items"


def test_a_printed_row_of_wecheck_is_whole_counts() -> None:
    counts = reconstruct_counts(positives=177, negatives=56, precision=0.8636, recall=0.6441)
    assert counts == Binary(tp=114, fp=18, fn=63, tn=38)
    assert round(100 * counts.accuracy, 2) == 65.24  # printed 65.23


def test_a_row_that_no_counts_give_is_refused() -> None:
    with pytest.raises(UsageError, match="no whole counts"):
        reconstruct_counts(positives=177, negatives=56, precision=0.8636, recall=0.65)
    with pytest.raises(UsageError, match="no whole counts"):
        reconstruct_counts(positives=10, negatives=1, precision=0.5, recall=1.0)


@given(tp=st.integers(1, 200), fp=st.integers(0, 200), fn=st.integers(0, 200), tn=st.integers(0, 200))
def test_reconstruction_finds_the_counts_that_were_printed(tp: int, fp: int, fn: int, tn: int) -> None:
    found = reconstruct_counts(
        positives=tp + fn, negatives=fp + tn, precision=tp / (tp + fp), recall=tp / (tp + fn), digits=9
    )
    assert found == Binary(tp=tp, fp=fp, fn=fn, tn=tn)


def test_a_label_outside_the_set_is_refused_and_shown() -> None:
    with pytest.raises(UsageError, match=r"'maybe' is not a label .*predicted labels, item 1"):
        confusion(["a"], ["maybe"], labels=LABELS)
    with pytest.raises(UsageError, match="gold 1, predicted 2"):
        accuracy(["a"], ["a", "b"])


def test_exact_match_forgives_case_spaces_and_marks_around() -> None:
    assert exact_match(["New York", "42", "a b"], ['"new  york."', "24", None]).value == pytest.approx(1 / 3)


def test_a_figure_is_a_value_or_a_reason_and_never_nan() -> None:
    assert ratio("x", 1, 0, empty="nothing").undefined == "nothing"
    assert f1_score(0, 0) == 0.0
    with pytest.raises(ValueError, match="a value or a reason"):
        MetricValue(name="x", value=None)
    with pytest.raises(ValueError, match="finite number"):
        MetricValue(name="x", value=float("nan"))
    assert mean("x", [0.1] * 10).value == 0.1


@pytest.mark.slow
@given(answers)
def test_scores_stay_in_bounds_and_do_not_depend_on_the_order(pairs: list[tuple[str, str | None]]) -> None:
    gold, said = [g for g, _ in pairs], [s for _, s in pairs]
    back = gold[::-1], said[::-1]
    for rule, turned in zip(
        scores_by_rule(gold, said, labels=LABELS, negative="b"),
        scores_by_rule(*back, labels=LABELS, negative="b"),
        strict=True,
    ):
        assert rule == turned
        assert rule.macro_f1.value is None or 0 <= rule.macro_f1.value <= 1
    matrix = confusion(gold, said, labels=LABELS)
    assert matrix.n == len(pairs)
    assert sum(matrix.unanswered) == said.count(None)


@pytest.mark.slow
@given(answers)
def test_counting_non_answers_wrong_never_beats_another_rule_in_accuracy(pairs: list[tuple[str, str | None]]) -> None:
    gold, said = [g for g, _ in pairs], [s for _, s in pairs]
    wrong, dropped, negative = scores_by_rule(gold, said, labels=LABELS, negative="b")
    assert wrong.accuracy.value is not None
    assert negative.accuracy.value is not None
    assert wrong.accuracy.value <= negative.accuracy.value
    assert dropped.accuracy.value is None or wrong.accuracy.value <= dropped.accuracy.value
