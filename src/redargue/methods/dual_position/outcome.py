"""Who won a debate, from the referees' votes and confidences (Dual-Position Debate, §3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from redargue.methods.dual_position.referees import Vote

OutcomeRule = Literal["mass", "literal"]
VALUES: dict[Vote, int] = {"affirmative": 1, "negative": -1, "tie": 0}


class DebateOutcome(NamedTuple):
    """The outcome of a vote.

    Attributes:
        winner: a tie also where two outcomes have the same weight, or no referee has any confidence.
        consensus: share of all confidence that is behind the winner, in [0, 1]; 0 where there is no confidence (D3).
        masses: the sum of confidences behind each vote, M_o = Σ C_j · [V_j = o].
        weights: the paper's signed sums, W_o = Σ V_j · C_j · [V_j = o]; the negative one is at most 0.
    """

    winner: Vote
    consensus: float
    masses: dict[Vote, float]
    weights: dict[Vote, float]


def debate_outcome(votes: Sequence[tuple[Vote, float]], rule: OutcomeRule = "mass") -> DebateOutcome:
    """The outcome of a round, from each referee's vote and confidence in [0, 1].

    The paper takes the largest signed weight. That of a tie is always 0 and that of the negative team at most 0, so the
    negative team cannot win (D1): ``literal`` is that rule; ``mass``, the default, compares confidences.
    """
    masses = {vote: sum((confidence for cast, confidence in votes if cast == vote), 0.0) for vote in VALUES}
    weights = {vote: VALUES[vote] * mass for vote, mass in masses.items()}
    compared = masses if rule == "mass" else weights
    most = max(compared.values())
    leading = [vote for vote, value in compared.items() if abs(value - most) < 1e-12]
    winner: Vote = leading[0] if len(leading) == 1 and (most > 0 or rule == "literal") else "tie"
    whole = sum(masses.values())
    return DebateOutcome(winner, masses[winner] / whole if whole else 0.0, masses, weights)
