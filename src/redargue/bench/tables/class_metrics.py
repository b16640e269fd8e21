"""Measures over two classes, of claims and of whole responses; the positive class is true (factual).

Claims whose gold label is neither are omitted, and a verdict that is neither is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from redargue.bench.metrics.base import MetricValue, undefined
from redargue.bench.metrics.classification import accuracy, class_scores, confusion, macro_f1
from redargue.bench.metrics.responses import factuality
from redargue.bench.tables.schema import PublishedCell
from redargue.claims import LabelSet, Meaning

TRUE, FALSE = "true", "false"
_SIDES = {Meaning.SUPPORTED: TRUE, Meaning.REFUTED: FALSE}


def _labels(cell: PublishedCell) -> list[tuple[str, str, str | None]]:
    """The response, gold side and predicted side of each claim with a gold side."""
    return [
        (example.response, gold, _side(example.claim.labels, verdict.label))
        for example, verdict in zip(cell.examples, cell.verdicts, strict=True)
        if (gold := _side(example.claim.labels, example.gold))
    ]


def _side(labels: LabelSet, label: str | None) -> str | None:
    return _SIDES.get(labels.meaning(label)) if label else None


def _columns(cell: PublishedCell) -> tuple[list[str], list[str | None]]:
    labels = _labels(cell)
    return [gold for _, gold, _ in labels], [predicted for *_, predicted in labels]


def _of_class(cell: PublishedCell, label: str, name: str) -> MetricValue:
    scores = class_scores(confusion(*_columns(cell), labels=(TRUE, FALSE)))
    figure: MetricValue = getattr(scores[label == FALSE], name)
    return figure


def _searches(cell: PublishedCell) -> MetricValue:
    searches = sum(verdict.usage.searches for verdict in cell.verdicts)
    return MetricValue(name="searches", value=float(searches), n=len(cell.verdicts))


def _texts(cell: PublishedCell, side: str) -> MetricValue:
    """The number of texts of a class: responses of whose claims all, or not all, are true, and claims without one."""
    factual: dict[str, bool] = {}
    for example in cell.examples:
        if gold := _side(example.claim.labels, example.gold):
            name = example.response or f"claim {example.id}"
            factual[name] = factual.get(name, True) and gold == TRUE
    counts = sum(value == (side == TRUE) for value in factual.values())
    return MetricValue(name="texts", value=float(counts), n=len(factual))


def _of_responses(cell: PublishedCell, name: str) -> MetricValue:
    labels = _labels(cell)
    responses = [response for response, _, _ in labels]
    if not all(responses):
        return undefined(name, "the claims do not say which response they were taken from")
    calls = [None if label is None else label == TRUE for *_, label in labels]
    figure: MetricValue = getattr(factuality(responses, [gold == TRUE for _, gold, _ in labels], calls), name)
    return figure


MEASURES: dict[str, Callable[[PublishedCell], MetricValue]] = {
    "true-f1": partial(_of_class, label=TRUE, name="f1"),
    "false-f1": partial(_of_class, label=FALSE, name="f1"),
    "macro-f1": lambda cell: macro_f1(*_columns(cell), labels=(TRUE, FALSE)),
    "two-way": lambda cell: accuracy(*_columns(cell)),
    **{name: partial(_of_class, label=TRUE, name=name) for name in ("recall", "precision", "f1")},
    **{f"response-{name}": partial(_of_responses, name=name) for name in ("accuracy", "recall", "precision", "f1")},
    "searches": _searches,
    "positives": partial(_texts, side=TRUE),
    "negatives": partial(_texts, side=FALSE),
}
