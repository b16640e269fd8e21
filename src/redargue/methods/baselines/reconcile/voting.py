"""The vote of ReConcile (§3.3): each answer weighs as much as its agents' rescaled confidence."""

from __future__ import annotations

from collections.abc import Sequence

FIRST_VOTER = 1e-5


def rescaled_confidence(confidence: float) -> float:
    """The weight of a stated confidence in [0, 1]: models overstate theirs."""
    if confidence == 1:
        return 1.0
    if confidence >= 0.9:
        return 0.8
    if confidence >= 0.8:
        return 0.5
    return 0.3 if confidence > 0.6 else 0.1


def weighted_vote(votes: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Sums of rescaled confidences by answer; the first vote for an answer adds 1e-5, as in the authors' program.

    ``votes`` are answers with their stated confidences in [0, 1], in the order of the agents.
    """
    weights: dict[str, float] = {}
    for answer, confidence in votes:
        weights[answer] = weights.get(answer, FIRST_VOTER) + rescaled_confidence(confidence)
    return weights
