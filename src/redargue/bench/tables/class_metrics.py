"""Measures over two classes, of claims and of whole responses; the positive class is true (factual).

Claims whose gold label is neither are omitted, and a verdict that is neither is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from redargue.bench.metrics.base import MetricValue, ratio, undefined
from redargue.bench.metrics.classification import ClassScores, class_scores, confusion
from redargue.bench.metrics.responses import factuality
from redargue.bench.tables.cell import Cell
from redargue.claims import LabelSet, Meaning

TRUE, FALSE = "true", "false"
SIDES = {Meaning.SUPPORTED: TRUE, Meaning.REFUTED: FALSE}


class _Labels(NamedTuple):
    """The response, gold label and predicted label of claims of two classes."""

    responses: list[str]
    gold: list[str]
    said: list[str | None]


def _labels(cell: Cell) -> _Labels:
    labels = _Labels([], [], [])
    for example, verdict in zip(cell.examples, cell.verdicts, strict=True):
        if gold := _side(example.claim.labels, example.gold):
            labels.responses.append(example.response)
            labels.gold.append(gold)
            labels.said.append(_side(example.claim.labels, verdict.label))
    return labels


def _side(labels: LabelSet, label: str | None) -> str | None:
    return SIDES.get(labels.meaning(label)) if label else None


def _classes(cell: Cell) -> tuple[ClassScores, ClassScores]:
    _, gold, said = _labels(cell)
    true, false = class_scores(confusion(gold, said, labels=(TRUE, FALSE)))
    return true, false


def _macro(cell: Cell) -> MetricValue:
    true, false = _classes(cell)
    return MetricValue(name="macro-f1", value=((true.f1.value or 0) + (false.f1.value or 0)) / 2, n=true.f1.n)


def _accuracy(cell: Cell) -> MetricValue:
    true, false = _classes(cell)
    return ratio("accuracy", true.hits + false.hits, true.support + false.support, empty="no claims")


def _searches(cell: Cell) -> MetricValue:
    searches = sum(verdict.usage.searches for verdict in cell.verdicts)
    return MetricValue(name="searches", value=float(searches), n=len(cell.verdicts))


def _of_responses(cell: Cell, name: str) -> MetricValue:
    responses, gold, said = _labels(cell)
    if not all(responses):
        return undefined(name, "the claims do not say which response they were taken from")
    calls = [None if label is None else label == TRUE for label in said]
    figure: MetricValue = getattr(factuality(responses, [label == TRUE for label in gold], calls), name)
    return figure


MEASURES: dict[str, Callable[[Cell], MetricValue]] = {
    "true-f1": lambda cell: _classes(cell)[0].f1,
    "false-f1": lambda cell: _classes(cell)[1].f1,
    "macro-f1": _macro,
    "two-way": _accuracy,
    "recall": lambda cell: _classes(cell)[0].recall,
    "precision": lambda cell: _classes(cell)[0].precision,
    "f1": lambda cell: _classes(cell)[0].f1,
    **{f"response-{name}": partial(_of_responses, name=name) for name in ("accuracy", "recall", "precision", "f1")},
    "searches": _searches,
}
