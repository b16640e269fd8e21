"""Who won: the paper's example, where its formula cannot work, ties, and no confidence at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.methods.dual_position.referees import SCORE_DIMENSIONS, Judgement, Vote, debate_outcome

EXAMPLE: list[tuple[Vote, float]] = [("affirmative", 0.9), ("negative", 0.7), ("tie", 0.6)]
TWO_AGAINST_ONE: list[tuple[Vote, float]] = [("negative", 0.8), ("negative", 0.7), ("affirmative", 0.9)]
votes = st.lists(
    st.tuples(st.sampled_from(["affirmative", "negative", "tie"]), st.floats(0, 1, allow_nan=False)),
    min_size=1,
    max_size=9,
)


def test_the_papers_example() -> None:
    for rule in ("mass", "literal"):
        found = debate_outcome(EXAMPLE, rule)
        assert found.winner == "affirmative"
        assert found.consensus == pytest.approx(0.9 / 2.2)
        assert found.weights == {"affirmative": 0.9, "negative": -0.7, "tie": 0.0}
        assert found.masses == {"affirmative": 0.9, "negative": 0.7, "tie": 0.6}


def test_two_surer_referees_win_by_mass_and_cannot_by_the_letter() -> None:  # DPD-1
    by_mass = debate_outcome(TWO_AGAINST_ONE)
    assert by_mass.winner == "negative"
    assert by_mass.consensus == pytest.approx(0.625)
    assert debate_outcome(TWO_AGAINST_ONE, "literal").winner == "affirmative"


def test_shares_and_differences_at_a_bound_are_not_a_matter_of_rounding() -> None:
    share = debate_outcome([("negative", 0.35), ("negative", 0.7), ("negative", 0.45), ("affirmative", 1.0)])
    assert share.consensus == 0.6  # as floats .5999999999999999
    for high in range(1, 20):
        team, other = (dict.fromkeys(SCORE_DIMENSIONS, part / 20) for part in (high + 1, high))
        scores = {f"affirmative_{each}": score for each, score in team.items()}
        scores |= {f"negative_{each}": score for each, score in other.items()}
        assert Judgement(**scores).effective_vote == "tie"  # .05 apart (D4)


@given(votes)
def test_by_the_letter_the_negative_team_never_wins(given: list[tuple[Vote, float]]) -> None:
    assert debate_outcome(given, "literal").winner != "negative"


@given(votes)
def test_swapping_the_sides_swaps_the_winner(given: list[tuple[Vote, float]]) -> None:
    swapped: dict[Vote, Vote] = {"affirmative": "negative", "negative": "affirmative", "tie": "tie"}
    one, other = debate_outcome(given), debate_outcome([(swapped[vote], sure) for vote, sure in given])
    assert other.winner == swapped[one.winner]
    assert other.consensus == pytest.approx(one.consensus)
    assert 0 <= one.consensus <= 1


@pytest.mark.parametrize(
    "given",
    [
        [("affirmative", 0.8), ("negative", 0.8)],
        [("tie", 0.5), ("tie", 0.9)],
        [("affirmative", 0.0), ("negative", 0.0)],
        [("affirmative", 0.0)],
    ],
)
def test_equal_masses_ties_and_no_confidence_are_ties(given: list[tuple[Vote, float]]) -> None:
    assert debate_outcome(given).winner == "tie"


def test_consensus_without_confidence_is_none_at_all() -> None:
    assert debate_outcome([("negative", 0.0), ("affirmative", 0.0)]).consensus == 0.0


def test_the_baselines_confusion_matrix_of_wecheck_is_the_one_that_fits() -> None:
    true_positive, false_positive, false_negative, true_negative = 114, 18, 63, 38
    assert true_positive + false_negative == 177  # FacTool's factual claims
    assert 100 * true_positive / (true_positive + false_positive) == pytest.approx(86.36, abs=0.005)
    assert 100 * true_positive / 177 == pytest.approx(64.41, abs=0.005)
    whole = true_positive + false_positive + false_negative + true_negative
    assert 100 * (true_positive + true_negative) / whole == pytest.approx(65.24, abs=0.005)  # printed 65.23
