"""Fitted thresholds keep the target risk, or the budget, and say which."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from redargue.errors import UsageError
from redargue.methods.base import configure
from redargue.methods.cascade.fit import DELTA, GRID, Fit, FitRow, StageRow, binomial_tail, early_stops, lost

STAGES = ("reader", "single-reader", "debate")


def stage(score: float | None, *, right: bool, calls: int, may_decide: bool = True) -> StageRow:
    facts = {"tokens": 100 * calls, "usd": 0.001 * calls, "seconds": 0.1}
    return StageRow(label="SUPPORTS", right=right, score=score, may_decide=may_decide, calls=calls, **facts)


def drawn(rng: random.Random, count: int) -> tuple[FitRow, ...]:
    """Claims with calibrated scores: a stage is right with the probability of its score."""
    scores = [(1 - 0.6 * rng.random() ** 2, 1 - 0.6 * rng.random() ** 2) for _ in range(count)]
    return tuple(
        (
            stage(first, right=rng.random() < first, calls=0),
            stage(second, right=rng.random() < second, calls=1),
            stage(None, right=rng.random() < 0.9, calls=12),
        )
        for first, second in scores
    )


def fit_of(rows: tuple[FitRow, ...]) -> Fit:
    return Fit(redargue="0", backend="b", stages=STAGES, debate="tool-mad", sample={}, rows=rows)


def test_the_p_value_is_the_binomial_tail() -> None:
    for successes, trials, probability in ((0, 10, 0.3), (3, 40, 0.05), (12, 60, 0.2), (5, 5, 0.5)):
        exact = sum(
            math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes + 1)
        )
        assert binomial_tail(successes, trials, probability) == pytest.approx(exact, rel=1e-9)


@pytest.mark.slow
def test_the_risk_exceeds_the_target_in_at_most_delta_of_many_fits() -> None:
    """The realised risk is that of 10,000 further claims of the same kind."""
    rng = random.Random(7)
    further = drawn(rng, 10_000)
    exceeded = stopped = 0
    for _ in range(40):
        chosen = fit_of(drawn(rng, 400)).at_risk(0.1)
        early, wrong = early_stops(further, chosen.thresholds)
        stopped += early > 0
        exceeded += early > 0 and wrong / early > 0.1
    assert stopped == 40  # the thresholds are not empty promises: claims do stop
    assert exceeded <= 40 * DELTA


@pytest.mark.slow
def test_the_loss_exceeds_the_target_in_at_most_delta_of_many_fits_and_more_claims_stop_than_for_a_risk() -> None:
    rng = random.Random(11)
    further = drawn(rng, 10_000)
    exceeded = by_loss = by_risk = 0
    for _ in range(40):
        fit = fit_of(drawn(rng, 400))
        chosen = fit.at_loss(0.05)
        exceeded += lost(further, chosen.thresholds) / len(further) > 0.05
        by_loss += chosen.early
        by_risk += fit.at_risk(0.05).early
    assert exceeded <= 40 * DELTA
    assert by_loss > by_risk > 0


def test_a_loss_that_hides_behind_gains_counts() -> None:
    """A reader that is right where the debate is wrong does not make up for one that is wrong where it is right."""
    rows = tuple(
        (stage(1.0, right=number % 2 == 0, calls=0), stage(None, right=number % 2 == 1, calls=9))
        for number in range(200)
    )
    assert lost(rows, (0.5,)) == 100
    chosen = Fit(redargue="0", backend="b", stages=("reader", "debate"), debate="tool-mad", sample={}, rows=rows)
    assert chosen.at_loss(0.2).thresholds == (None,)


def test_scores_that_say_nothing_never_stop() -> None:
    rng = random.Random(3)
    rows = tuple(
        (
            stage(rng.random(), right=rng.random() < 0.5, calls=0),
            stage(rng.random(), right=rng.random() < 0.5, calls=1),
            stage(None, right=True, calls=9),
        )
        for _ in range(500)
    )
    chosen = fit_of(rows).at_risk(0.1)
    assert chosen.thresholds == (None, None)
    assert "every claim goes to the last stage" in chosen.guarantee


def test_a_claim_that_may_not_be_decided_never_stops_whatever_its_score() -> None:
    rows = tuple(
        (stage(0.99, right=True, calls=0, may_decide=False), stage(None, right=True, calls=9)) for _ in range(9)
    )
    assert early_stops(rows, (GRID[-1],)) == (0, 0)


@pytest.mark.slow
def test_a_budget_is_kept_on_the_fitted_claims() -> None:
    fit = fit_of(drawn(random.Random(1), 300))
    chosen = fit.within_budget("4calls")
    assert "no guarantee on the risk" in chosen.guarantee
    dear = fit.within_budget("0.012usd")
    assert dear.early < chosen.early  # more money, more debates
    with pytest.raises(UsageError, match="several limits"):
        fit.within_budget("4calls,1usd")


def test_settings_take_their_thresholds_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text(fit_of(drawn(random.Random(5), 400)).model_dump_json())
    settings = configure("cascade", "hardened", {"fitted": str(path), "target_risk": 0.1}).settings
    assert settings.thresholds == Fit.read(path).at_risk(0.1).thresholds
    assert "at most 0.1 get a wrong label, with probability 0.9" in settings.guarantee
    losing = configure("cascade", "hardened", {"fitted": str(path), "target_loss": 0.05}).settings
    assert losing.thresholds == Fit.read(path).at_loss(0.05).thresholds
    assert "at most 0.05 of all claims get a wrong label that the last stage" in losing.guarantee
    path.unlink()  # recorded settings need no file
    assert type(settings).model_validate(settings.model_dump(mode="json")) == settings


def test_a_fit_of_another_cascade_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text(fit_of(drawn(random.Random(5), 50)).model_dump_json())
    with pytest.raises(UsageError, match="fitted for reader -> single-reader -> debate with tool-mad"):
        configure("cascade", "hardened", {"fitted": str(path), "debate": "mermaid"})
    path.write_text("{}")
    with pytest.raises(UsageError, match="is not a fitted cascade"):
        configure("cascade", "hardened", {"fitted": str(path)})
