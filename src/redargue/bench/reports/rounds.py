"""What debates would have decided had they ended after an earlier round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redargue.bench.compare import ComparedSystem, Comparison
from redargue.bench.reports.tables import SYSTEM, key
from redargue.reports.table import Cell, Table, number


class RoundScores(NamedTuple):
    """The outcome had every debate ended after this round: shares of all claims with a majority, and a right one."""

    round: int
    debating: int  # claims that had this round
    agreed: float
    right: float


def by_round(comparison: Comparison, row: ComparedSystem) -> tuple[RoundScores, ...]:
    """Majorities after each round; a claim whose debate ended earlier keeps its last round's."""
    known = [
        (ask, prediction) for ask, prediction in zip(comparison.claims, row.said, strict=True) if ask.gold is not None
    ]
    if not any(prediction.labels for _, prediction in known):
        return ()
    scores = []
    for at in range(1, max(len(prediction.labels) for _, prediction in known) + 1):
        votes = [(ask.gold, majority_label(prediction.labels[:at][-1:])) for ask, prediction in known]
        agreed, right = sum(label is not None for _, label in votes), sum(gold == label for gold, label in votes)
        debating = sum(len(prediction.labels) >= at for _, prediction in known)
        scores.append(RoundScores(at, debating, agreed / len(known), right / len(known)))
    return tuple(scores)


def majority_label(rounds: Sequence[tuple[str | None, ...]]) -> str | None:
    """The label that more than half of the debaters of the round gave; None without one."""
    if not rounds or not rounds[0]:
        return None
    label, count = Counter(rounds[0]).most_common(1)[0]
    return label if 2 * count > len(rounds[0]) else None


BY_ROUND = (
    "The share of all claims that would be right had each debate ended after round r with the label that more than "
    "half of its debaters gave. Without such a majority (two debaters who disagree) a claim counts as wrong; a debate "
    "that had already ended keeps its last round. “Verdict” is the actual outcome, judge included."
)


def rounds_table(comparison: Comparison) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for at, row in enumerate(comparison.rows):
        scores = by_round(comparison, row)
        rows += [(*key(at, row), str(score.round), score.debating, score.agreed, score.right) for score in scores]
        if scores:
            rows.append((*key(at, row), "Verdict", row.scores.n, None, row.scores.figure("accuracy").value))
    columns = (number("Round"), number("Claims still debated", ","), number("Majority", ".3f"), number("Right", ".3f"))
    return Table("Accuracy by round", (*SYSTEM, *columns), tuple(rows), (BY_ROUND,)) if rows else None
