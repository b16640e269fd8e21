"""Longer texts as one item, and what verdicts cost."""

from __future__ import annotations

import pytest

from redargue.bench.metrics.classification import Binary, factuality, response_accuracy
from redargue.bench.scoring import cost_scores
from redargue.verdicts import Usage


def test_a_response_is_right_only_if_all_its_claims_are() -> None:
    assert response_accuracy(["r", "s", "r", "s"], [True, True, False, True]).value == 0.5
    assert response_accuracy([], []).undefined == "no responses"


def test_a_response_is_factual_only_if_all_its_claims_are() -> None:
    names = ["a", "a", "b", "b", "c", "d", "d", "e"]
    gold = [True, True, True, False, True, True, True, False]
    said = [True, True, False, None, False, None, True, None]
    found = factuality(names, gold, said)
    # a called factual and is; b called false and is; c called false and is not; d and e are not called
    assert found.counts == Binary(tp=1, fp=1, fn=2, tn=1)
    assert found.accuracy.value == pytest.approx(2 / 5)
    assert found.precision.value == 1.0
    assert found.recall.value == pytest.approx(1 / 3)
    assert found.f1.value == pytest.approx(2 * 1 / (1 + 3))
    assert found.coverage.value == pytest.approx(3 / 5)


def test_where_nothing_is_called_factual_precision_is_undefined() -> None:
    found = factuality(["a"], [False], [False])
    assert found.precision.undefined == "no response was called factual"
    assert found.recall.undefined == "no response is factual"
    assert found.f1.value == 0.0


def usage(usd: float | None) -> Usage:
    return Usage(calls=3, searches=2, prompt_tokens=100, completion_tokens=20, usd=usd, by_agent={"judge": 1})


def test_costs_are_summed_and_wrong_verdicts_count_in_the_price_of_a_correct_one() -> None:
    found = cost_scores([usage(0.1), usage(0.2), usage(0.3)], right=[True, False, True], seconds=[1.0, 2.0, 3.0])
    assert (found.usage.calls, found.tokens, found.usage.by_agent) == (9, 360, {"judge": 3})
    each = {figure.name: figure.value for figure in (*found.per_item(), *found.per_correct())}
    assert each["calls-per-item"] == 3
    assert each["usd-per-correct"] == pytest.approx(0.3)
    assert each["seconds-per-correct"] == 3.0
    assert each["tokens-per-correct"] == 180


def test_one_item_without_a_price_leaves_the_sum_undefined_and_says_so() -> None:
    found = cost_scores([usage(0.1), usage(None)], right=[False, False])
    each = {figure.name: figure.undefined for figure in (*found.per_item(), *found.per_correct())}
    assert found.usage.usd is None
    assert each["usd-per-item"] == "1 of 2 items have no price"
    assert each["calls-per-correct"] == "no verdict is correct"
    assert each["seconds-per-item"] == "it was not measured"
    assert cost_scores([usage(0.1)]).per_correct()[0].undefined == "no gold labels"


def test_no_items_cost_nothing_measurable() -> None:
    assert {figure.undefined for figure in cost_scores([]).per_item()} == {"no items", "it was not measured"}
