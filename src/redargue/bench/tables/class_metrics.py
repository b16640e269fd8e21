"""Measures of tables over two classes, for claims and for whole responses.

The positive class is true (factual). Claims whose gold label is neither are omitted, and a verdict that is neither is
wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from redargue.bench.metrics.base import MetricValue, ratio, undefined
from redargue.bench.metrics.classification import ClassScores, class_scores, confusion
from redargue.bench.metrics.responses import Factuality, factuality
from redargue.bench.tables.cell import Cell
from redargue.claims import LabelSet, Meaning

TRUE, FALSE = "true", "false"
SIDES = {Meaning.SUPPORTED: TRUE, Meaning.REFUTED: FALSE}


class _Two(NamedTuple):
    """Claims of two classes: the response, gold label and predicted label of each."""

    responses: list[str]
    gold: list[str]
    said: list[str | None]


def _two(cell: Cell) -> _Two:
    two = _Two([], [], [])
    for example, verdict in zip(cell.examples, cell.verdicts, strict=True):
        if gold := _side(example.claim.labels, example.gold):
            two.responses.append(example.response)
            two.gold.append(gold)
            two.said.append(_side(example.claim.labels, verdict.label))
    return two


def _side(labels: LabelSet, label: str | None) -> str | None:
    return SIDES.get(labels.meaning(label)) if label else None


def _classes(cell: Cell) -> tuple[ClassScores, ClassScores]:
    two = _two(cell)
    true, false = class_scores(confusion(two.gold, two.said, labels=(TRUE, FALSE)))
    return true, false


def _macro(cell: Cell) -> MetricValue:
    true, false = _classes(cell)
    return MetricValue(name="macro-f1", value=((true.f1.value or 0) + (false.f1.value or 0)) / 2, n=true.f1.n)


def _accuracy(cell: Cell) -> MetricValue:
    true, false = _classes(cell)
    return ratio("accuracy", true.hits + false.hits, true.support + false.support, empty="no claims")


def _searches(cell: Cell) -> MetricValue:
    return MetricValue(
        name="searches", value=float(sum(verdict.usage.searches for verdict in cell.verdicts)), n=len(cell.verdicts)
    )


def _whole(name: str) -> Callable[[Cell], MetricValue]:
    def measure(cell: Cell) -> MetricValue:
        two = _two(cell)
        if not all(two.responses):
            return undefined(name, "the claims do not say which response they were taken from")
        found: Factuality = factuality(
            two.responses, [label == TRUE for label in two.gold], [None if s is None else s == TRUE for s in two.said]
        )
        figure: MetricValue = getattr(found, name)
        return figure

    return measure


MEASURES: dict[str, Callable[[Cell], MetricValue]] = {
    "true-f1": lambda cell: _classes(cell)[0].f1,
    "false-f1": lambda cell: _classes(cell)[1].f1,
    "macro-f1": _macro,
    "two-way": _accuracy,
    "recall": lambda cell: _classes(cell)[0].recall,
    "precision": lambda cell: _classes(cell)[0].precision,
    "f1": lambda cell: _classes(cell)[0].f1,
    "response-accuracy": _whole("accuracy"),
    "response-recall": _whole("recall"),
    "response-precision": _whole("precision"),
    "response-f1": _whole("f1"),
    "searches": _searches,
}
