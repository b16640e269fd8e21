"""What debates would have come to had they ended with an earlier round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redargue.evals.comparison import Comparison, Row
from redargue.evals.report.facts import KEY, Cell, Table, letter, number


class RoundScores(NamedTuple):
    """What a debate would have come to had it ended with a round.

    Attributes:
        round: from 1.
        debating: claims that held this round.
        agreed: share of all claims on which more than half of the debaters gave one label.
        right: share of all claims on which that label is the gold label.
    """

    round: int
    debating: int
    agreed: float
    right: float


def by_round(comparison: Comparison, row: Row) -> tuple[RoundScores, ...]:
    """Majorities after each round; a claim whose debate ended earlier keeps its last round's."""
    known = [(ask, each) for ask, each in zip(comparison.claims, row.said, strict=True) if ask.gold is not None]
    if not any(each.labels for _, each in known):
        return ()
    found = []
    for at in range(1, max(len(each.labels) for _, each in known) + 1):
        votes = [(ask.gold, majority(each.labels[min(at, len(each.labels)) - 1 :][:1])) for ask, each in known]
        agreed, right = sum(label is not None for _, label in votes), sum(gold == label for gold, label in votes)
        held = sum(len(each.labels) >= at for _, each in known)
        found.append(RoundScores(at, held, agreed / len(known), right / len(known)))
    return tuple(found)


def majority(rounds: Sequence[tuple[str | None, ...]]) -> str | None:
    """The label that more than half of the debaters of the round gave; None without one."""
    if not rounds or not rounds[0]:
        return None
    label, count = Counter(rounds[0]).most_common(1)[0]
    return label if 2 * count > len(rounds[0]) else None


BY_ROUND = (
    "Had each debate ended with round r and the label that more than half of its debaters gave been taken: the share "
    "of all claims that would be right. Without such a majority (two debaters who disagree) a claim counts as wrong; a "
    "debate that had ended before keeps its last round. “Verdict” is what really came out, judge included."
)


def rounds(comparison: Comparison) -> Table | None:
    """The figures behind accuracy by round."""
    lines: list[tuple[Cell, ...]] = []
    for at, row in enumerate(comparison.rows):
        for each in by_round(comparison, row):
            shares = (number(each.agreed), number(each.right))
            lines.append((letter(at), row.spec, str(each.round), str(each.debating), *shares))
        if by_round(comparison, row):
            final = number(row.scores.figure("accuracy").value)
            lines.append((letter(at), row.spec, "Verdict", str(row.scores.n), "–", final))
    head = (KEY, "Contender", "Round", "Claims still debated", "Majority", "Right")
    return Table("Accuracy by round", head, tuple(lines), BY_ROUND) if lines else None
