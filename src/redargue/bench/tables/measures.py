"""Computes a cell of a published table from one system's record on one data set."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from redargue.bench.metrics.base import NO_ITEMS, MetricValue, mean, undefined
from redargue.bench.official_metrics import with_interval
from redargue.bench.statistics.bootstrap import interval, paired_difference
from redargue.bench.tables import class_metrics as classes
from redargue.bench.tables.cell import AgentAnswer, Cell
from redargue.bench.tables.schema import PublishedRow


def measure_cell(line: PublishedRow, cell: Cell, against: Cell | None = None) -> MetricValue:
    """The value of a cell; shares and gains as fractions of one."""
    if line.measure == "gain":
        assert against is not None
        gain = paired_difference(cell.hits, against.hits)
        return MetricValue(name="gain", **gain.model_dump(include={"value", "undefined", "n", "low", "high"}))
    if line.measure in classes.MEASURES:
        return classes.MEASURES[line.measure](cell)
    return _MEASURES[line.measure](cell, line)


def _share(name: str, hits: Sequence[bool], empty: str) -> MetricValue:
    return with_interval(mean(name, hits), interval(hits)) if hits else undefined(name, empty)


def _values(cell: Cell, line: PublishedRow) -> list[float]:
    last: dict[int, int] = {}
    for answer in cell.answers:
        last[answer.item] = max(last.get(answer.item, 0), answer.round)
    selected: Callable[[AgentAnswer], bool] = {
        "all": lambda answer: True,
        "right": lambda answer: answer.right is True,
        "wrong": lambda answer: answer.right is False,
        "last": lambda answer: answer.round == last[answer.item],
    }[line.answers]
    return [answer.scores[line.metric] for answer in cell.answers if line.metric in answer.scores and selected(answer)]


def _quantile(cell: Cell, line: PublishedRow) -> MetricValue:
    values = _values(cell, line)
    if not values:
        return undefined("quantile", "no answer is scored")
    return MetricValue(name="quantile", value=float(np.quantile(values, line.at)), n=len(values))


def _above(cell: Cell, line: PublishedRow) -> MetricValue:
    # Without an interval: the answers of one debate are not independent.
    return mean("above", [value > line.at for value in _values(cell, line)], empty="no answer is scored")


def _settled(cell: Cell, line: PublishedRow) -> list[tuple[bool, bool]]:
    """For each claim with answers: whether round 1 settles it under the gate, and whether its label is right."""
    gate = cell.gate(line)
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


def _settled_share(cell: Cell, line: PublishedRow) -> MetricValue:
    return _share("settled", [settled for settled, _ in _settled(cell, line)], "no claim has an answer")


def _settled_right(cell: Cell, line: PublishedRow) -> MetricValue:
    return _share("settled-right", [right for settled, right in _settled(cell, line) if settled], "none is settled")


def _ahead(cell: Cell, line: PublishedRow) -> list[tuple[int, AgentAnswer]]:
    """For each claim that the judge decided between different answers: the last answer of the highest-scoring agent."""
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
            if (values := [answer.scores[line.metric] for answer in answers if line.metric in answer.scores])
        }
        last = {agent: max(agents[agent], key=lambda answer: answer.round) for agent in scored}
        order = sorted(scored, key=lambda agent: -scored[agent])
        labels = {answer.label for answer in last.values()}
        if len(labels) > 1 and scored[order[0]] != scored[order[1]]:
            ahead.append((item, last[order[0]]))
    return ahead


NO_CONTEST = "the judge never decided between debaters with different answers and scores"


def _judge_follows(cell: Cell, line: PublishedRow) -> MetricValue:
    hits = [cell.verdicts[item].label == answer.label for item, answer in _ahead(cell, line)]
    return _share("judge-follows", hits, NO_CONTEST)


def _higher_is_right(cell: Cell, line: PublishedRow) -> MetricValue:
    return _share("higher-is-right", [bool(answer.right) for _, answer in _ahead(cell, line)], NO_CONTEST)


_MEASURES: dict[str, Callable[[Cell, PublishedRow], MetricValue]] = {
    "accuracy": lambda cell, line: _share("accuracy", cell.hits, NO_ITEMS),
    "mean": lambda cell, line: mean("mean", _values(cell, line), empty="no such answer is scored"),
    "quantile": _quantile,
    "above": _above,
    "settled": _settled_share,
    "settled-right": _settled_right,
    "judge-follows": _judge_follows,
    "higher-is-right": _higher_is_right,
}
