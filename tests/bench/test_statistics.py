"""Intervals, paired tests, power, Holm, seeds: worked cases, and recorded values of scipy and statsmodels to 1e-9."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.bench.metrics.classification import macro_f1
from redargue.bench.statistics import (
    PairedFlip,
    binomial_p,
    critical_counts,
    flips,
    holm,
    interval,
    interval_of,
    macro_f1_difference,
    macro_f1_interval,
    mcnemar,
    mcnemar_power,
    paired_difference,
    power_analysis,
    seed_agreement,
    smallest_difference,
)
from redargue.errors import UsageError

pytest.importorskip("scipy", reason="needs the extra lab")

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "reference" / "statistics.json").read_text(encoding="utf-8")
)
TESTS = REFERENCE["tests"]
LABELS = ("a", "b", "c")
labelled = st.lists(
    st.tuples(st.sampled_from(LABELS), *[st.sampled_from((*LABELS, None))] * 2), min_size=1, max_size=20
)


@pytest.mark.parametrize("case", REFERENCE["intervals"], ids=lambda case: f"n={len(case['scores'])}")
def test_intervals_equal_scipys_percentile_bootstrap(case: dict[str, Any]) -> None:
    found = interval(case["scores"], draws=case["draws"], seed=case["seed"])
    assert (found.low, found.high) == pytest.approx((case["low"], case["high"]), abs=1e-9)
    gold, said = [list(map(str, case[name])) for name in ("gold", "said")]
    macro = macro_f1_interval(gold, said, labels=["0", "1", "2"], draws=300, seed=case["seed"])
    assert (macro.low, macro.high) == pytest.approx((case["macro_low"], case["macro_high"]), abs=1e-9)


def test_any_statistic_has_an_interval_and_the_means_is_the_same() -> None:
    scores = [0.0, 1.0, 1.0, 0.5, 1.0]
    values = np.array(scores)
    assert interval_of(lambda at: float(values[at].mean()), 5, draws=200) == interval(scores, draws=200)


def test_a_seed_fixes_every_draw_and_another_changes_them() -> None:
    scores = np.random.default_rng(0).random(50).tolist()
    assert interval(scores) == interval(scores)
    assert interval(scores, seed=1).low != interval(scores, seed=2).low


def test_many_items_are_drawn_in_parts_that_equal_one_draw() -> None:
    scores = np.random.default_rng(0).random(50_000)
    samples = np.random.default_rng(3).integers(0, 50_000, (100, 50_000))
    found = interval(scores.tolist(), draws=100, seed=3)
    assert (found.low, found.high) == pytest.approx(np.percentile(scores[samples].mean(axis=1), (2.5, 97.5)))


def test_a_class_that_a_sample_lacks_does_not_lower_the_bounds_of_macro_f1() -> None:
    gold = ["a"] * 6 + ["b"] * 5 + ["c"]
    found = macro_f1_interval(gold, gold, labels=["a", "b", "c"])
    assert [found.value, found.low, found.high] == [1.0, 1.0, 1.0]
    never = macro_f1_interval(gold, gold, labels=["a", "b", "c", "d"])
    assert [never.value, never.low, never.high] == pytest.approx([0.75, 2 / 3, 0.75])


def test_the_interval_of_one_item_is_its_score() -> None:
    found = interval([0.25])
    assert (found.value, found.low, found.high) == (0.25, 0.25, 0.25)
    assert paired_difference([1.0], [0.0]).p_value == pytest.approx(2 / 2001)


def test_an_interval_without_items_is_undefined() -> None:
    for found in (
        interval([]),
        interval_of(lambda _: 0.0, 0),
        macro_f1_interval([], [], labels=LABELS),
        paired_difference([], []),
        macro_f1_difference([], [], [], labels=LABELS),
    ):
        assert (found.value, found.low, found.undefined) == (None, None, "no items")
    with pytest.raises(UsageError, match="0 draws"):
        interval([1.0], draws=0)


def test_a_difference_is_drawn_on_the_same_items() -> None:
    first = [True] * 60 + [False] * 40
    second = [True] * 50 + [False] * 50
    found = paired_difference(first, second)
    assert found.value == pytest.approx(0.1)
    assert found.low is not None
    assert found.low > 0  # never worse on any item, which a comparison of two intervals could not show
    assert found.p_value == pytest.approx(2 / 2001)
    assert paired_difference(first, first).p_value == 1.0


@pytest.mark.slow
@given(labelled)
def test_a_macro_f1_difference_is_antisymmetric(rows: list[tuple[str, str | None, str | None]]) -> None:
    gold, first, second = ([row[at] for row in rows] for at in range(3))
    assert all(gold)
    truth = [label for label in gold if label is not None]
    there = macro_f1_difference(truth, first, second, labels=LABELS, draws=40)
    back = macro_f1_difference(truth, second, first, labels=LABELS, draws=40)
    assert there.value == pytest.approx(-(back.value or 0.0))
    assert there.low == pytest.approx(-(back.high or 0.0))
    assert there.p_value == back.p_value
    scores = [macro_f1(truth, said, labels=LABELS).value or 0.0 for said in (first, second)]
    assert there.value == pytest.approx(scores[0] - scores[1])


def test_mcnemar_equals_scipy_and_statsmodels() -> None:
    ours = [binomial_p(first, second) for first, second in TESTS["splits"]]
    assert ours == pytest.approx(TESTS["binomtest"], abs=1e-9)
    assert ours == pytest.approx(TESTS["mcnemar"], abs=1e-9)


def test_mcnemar_worked_by_hand() -> None:
    first = [True] * 6 + [False] * 4
    second = [True] * 1 + [False] * 5 + [False] * 3 + [True]
    found = mcnemar(first, second)
    assert (found.both, found.first_only, found.second_only, found.neither) == (1, 5, 1, 3)
    assert found.p_value == pytest.approx(2 * (comb(6, 0) + comb(6, 1)) / 2**6)
    assert found.difference == pytest.approx(0.4)
    assert mcnemar(first, first).p_value == 1.0
    assert mcnemar([], []).difference is None


@pytest.mark.slow
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_symmetric_and_a_probability(first: int, second: int) -> None:
    assert 0 < binomial_p(first, second) <= 1
    assert binomial_p(first, second) == binomial_p(second, first)


def test_flips_are_listed_with_what_they_change() -> None:
    found = flips(["a", "a", "a", "a", None], ["a", "b", "b", "a", "a"], ["b", "a", "c", "a", None])
    assert found == (
        PairedFlip(item=0, gold="a", first="a", second="b", kind="lost"),
        PairedFlip(item=1, gold="a", first="b", second="a", kind="gained"),
        PairedFlip(item=2, gold="a", first="b", second="c", kind="changed"),
        PairedFlip(item=4, gold=None, first="a", second=None, kind="changed"),
    )


def test_power_equals_a_sum_over_scipys_distributions() -> None:
    ours = [mcnemar_power(*each) for each in TESTS["chances"]]
    assert ours == pytest.approx(TESTS["power"], abs=1e-9)
    assert ours[-1] < 0.05  # without a difference, the chance of a false alarm


def test_the_smallest_difference_is_found_and_one_step_less_is_not() -> None:
    smallest = smallest_difference(300, 0.2)
    assert smallest is not None
    assert mcnemar_power(300, (0.2 + smallest) / 2, (0.2 - smallest) / 2) >= 0.8
    less = smallest - 1e-4
    assert mcnemar_power(300, (0.2 + less) / 2, (0.2 - less) / 2) < 0.8


def test_more_claims_see_smaller_differences() -> None:
    found = [smallest_difference(n, 0.2) or 1.0 for n in (50, 200, 800)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_six_discordant_items_are_the_fewest_that_can_be_significant() -> None:
    assert critical_counts((0, 5, 6, 8, 9)).tolist() == [-1, -1, 0, 0, 1]
    for m in range(1, 80):
        least = int(critical_counts([m])[0])
        assert least < 0 or binomial_p(least, m - least) <= 0.05
        assert binomial_p(least + 1, m - least - 1) > 0.05
    assert smallest_difference(100, 0.02) is None


def test_a_difference_too_small_to_be_seen_gets_a_warning() -> None:
    first = [True] * 30 + [False] * 20 + [True] * 250
    second = [False] * 30 + [True] * 20 + [True] * 250
    found = power_analysis(mcnemar(first, second))
    assert found.smallest is not None
    assert found.observed == pytest.approx(10 / 300)
    assert found.warning.startswith("Not significant, but the test is weak: with 300 claims, only a difference")
    assert power_analysis(mcnemar([True] * 30 + [False] * 20, [False] * 50)).warning == ""
    assert "No difference can be significant" in power_analysis(mcnemar([True, False], [False, False])).warning
    test = mcnemar([True] * 7 + [True] * 73, [False] * 7 + [True] * 73)
    assert test.p_value < 0.05
    assert "Significant, but fewer than 80%" in power_analysis(test).warning
    assert power_analysis(mcnemar([], [])).undefined == "no items"
    with pytest.raises(UsageError, match="chances"):
        mcnemar_power(10, 0.8, 0.4)


def test_holm_equals_statsmodels() -> None:
    for family, expected in zip(TESTS["families"], TESTS["holm"], strict=True):
        assert holm(family) == pytest.approx(expected, abs=1e-9)


def test_holm_worked_by_hand() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx((0.06, 0.03, 0.06))
    assert holm([]) == ()
    with pytest.raises(UsageError, match="p-value nan"):
        holm([0.1, float("nan")])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_only_raises_p_values_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[at] for at in order] == sorted(adjusted)


def test_fleiss_kappa_equals_statsmodels() -> None:
    for ratings, expected in zip(TESTS["ratings"], TESTS["fleiss"], strict=True):
        runs = [[str(row[at]) for row in ratings] for at in range(len(ratings[0]))]
        assert seed_agreement(runs).kappa.value == pytest.approx(expected, abs=1e-9)


def test_flips_over_seeds_worked_by_hand() -> None:
    found = seed_agreement([["a", "b", "a", None], ["a", "b", "b", None], ["a", "c", "b", None]])
    assert found.flipped.value == 0.5
    assert found.items == (1, 2)
    assert found.agreement.value == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4)


def test_runs_that_say_one_label_throughout_have_no_kappa() -> None:
    found = seed_agreement([["a", "a"], ["a", "a"]])
    assert found.flipped.value == 0.0
    assert found.kappa.undefined == "all runs say one label for all items"
    assert seed_agreement([[], []]).kappa.undefined == "no items"
    with pytest.raises(UsageError, match="1 runs cannot be compared"):
        seed_agreement([["a"]])
    with pytest.raises(UsageError, match="run 1 1, run 2 2"):
        seed_agreement([["a"], ["a", "b"]])
