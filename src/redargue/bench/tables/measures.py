"""Computes a cell of a published table from one system's record on one data set.

Some measures are over two classes, of claims or of whole responses; the positive class is true (factual). Claims whose
gold label is neither are omitted, and a verdict that is neither is wrong.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np

from redargue.bench.metrics import NO_ITEMS, MetricValue, mean, undefined
from redargue.bench.metrics.classification import accuracy, class_scores, confusion, factuality, macro_f1
from redargue.bench.official_metrics import with_interval
from redargue.bench.statistics import interval, paired_difference
from redargue.bench.tables import AgentAnswer, PublishedCell, PublishedRow
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


def measure_cell(row: PublishedRow, cell: PublishedCell, against: PublishedCell | None = None) -> MetricValue:
    """The value of a cell; shares and gains as fractions of one."""
    if row.measure == "gain":
        assert against is not None
        gain = paired_difference(cell.hits, against.hits)
        return MetricValue(name="gain", **gain.model_dump(include={"value", "undefined", "n", "low", "high"}))
    if row.measure in MEASURES:
        return MEASURES[row.measure](cell)
    if row.measure in _SHARES:
        select, empty = _SHARES[row.measure]
        hits = select(cell, row)
        return with_interval(mean(row.measure, hits), interval(hits)) if hits else undefined(row.measure, empty)
    values = _values(cell, row)
    if row.measure == "quantile" and values:
        return MetricValue(name="quantile", value=float(np.quantile(values, row.at)), n=len(values))
    # Shares above a threshold have no interval: the answers of one debate are not independent.
    measured = [value > row.at for value in values] if row.measure == "above" else values
    return mean(row.measure, measured, empty="no such answer is scored")


def _values(cell: PublishedCell, row: PublishedRow) -> list[float]:
    last: dict[int, int] = {}
    for answer in cell.answers:
        last[answer.item] = max(last.get(answer.item, 0), answer.round)
    selected: Callable[[AgentAnswer], bool] = {
        "all": lambda answer: True,
        "right": lambda answer: answer.right is True,
        "wrong": lambda answer: answer.right is False,
        "last": lambda answer: answer.round == last[answer.item],
    }[row.answers]
    return [answer.scores[row.metric] for answer in cell.answers if row.metric in answer.scores and selected(answer)]


def _settled(cell: PublishedCell, row: PublishedRow) -> list[tuple[bool, bool]]:
    """For each claim with answers: whether round 1 settles it under the gate, and whether its label is right."""
    gate = cell.gate(row)
    first_rounds: dict[int, list[AgentAnswer]] = defaultdict(list)
    for answer in cell.answers:
        if answer.round == 1:
            first_rounds[answer.item].append(answer)
    settled = []
    for answers in first_rounds.values():
        agreed = len({answer.label for answer in answers}) == 1 and answers[0].label is not None
        scores = [answer.scores for answer in answers]
        passed = all(score.get(metric, -math.inf) > limit for score in scores for metric, limit in gate.items())
        settled.append((agreed and passed, bool(answers[0].right)))
    return settled


def _ahead(cell: PublishedCell, row: PublishedRow) -> list[tuple[int, AgentAnswer]]:
    """For each judge-decided claim with different last answers: the last answer of the highest-scoring agent."""
    debates: dict[int, dict[str, list[AgentAnswer]]] = defaultdict(lambda: defaultdict(list))
    for answer in cell.answers:
        debates[answer.item][answer.agent].append(answer)
    ahead = []
    for item, agents in debates.items():
        if cell.verdicts[item].decided_by != "judge":
            continue
        scored = {
            agent: statistics.fmean(values)
            for agent, answers in agents.items()
            if (values := [answer.scores[row.metric] for answer in answers if row.metric in answer.scores])
        }
        last = {agent: max(agents[agent], key=lambda answer: answer.round) for agent in scored}
        order = sorted(scored, key=lambda agent: -scored[agent])
        labels = {answer.label for answer in last.values()}
        if len(labels) > 1 and scored[order[0]] != scored[order[1]]:
            ahead.append((item, last[order[0]]))
    return ahead


NO_CONTEST = "the judge never decided between debaters with different answers and scores"


_Hits = Callable[[PublishedCell, PublishedRow], list[bool]]
_SHARES: dict[str, tuple[_Hits, str]] = {  # and why a share without items is undefined
    "accuracy": (lambda cell, row: cell.hits, NO_ITEMS),
    "settled": (lambda cell, row: [settled for settled, _ in _settled(cell, row)], "no claim has an answer"),
    "settled-right": (lambda cell, row: [hit for settled, hit in _settled(cell, row) if settled], "none is settled"),
    "judge-follows": (
        lambda cell, row: [cell.verdicts[item].label == answer.label for item, answer in _ahead(cell, row)],
        NO_CONTEST,
    ),
    "higher-is-right": (lambda cell, row: [bool(answer.right) for _, answer in _ahead(cell, row)], NO_CONTEST),
}
