"""What a cell of a published table shows, computed from one contender's record on one data set."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from redargue.backends.base import Stability
from redargue.errors import UsageError
from redargue.evals.contender import Contender
from redargue.evals.datasets.base import Example
from redargue.evals.harness import Bench
from redargue.evals.metrics.base import Figure, mean, undefined
from redargue.evals.metrics.classification import accuracy
from redargue.evals.official import with_bounds
from redargue.evals.papers.tables import Line
from redargue.evals.statistics.bootstrap import interval, paired_difference
from redargue.events import Answered, Event, Scored
from redargue.ledger.record import Record, read_events
from redargue.protocols.tool_mad_settings import ToolMadSettings
from redargue.verdicts import Metric, Verdict


class Told(NamedTuple):
    """One answer of one agent.

    Attributes:
        item: the claim's place.
        agent: who answered.
        round: from 1.
        label: None where it could not be read.
        right: whether it is the gold label; None where that is hidden.
        scores: those that the debate computed and that are defined.
    """

    item: int
    agent: str
    round: int
    label: str | None
    right: bool | None
    scores: Mapping[Metric, float]


class Cell(NamedTuple):
    """One contender on one data set.

    Attributes:
        examples: what was checked.
        verdicts: one an example.
        answers: of all agents and rounds.
        folder: of the run.
    """

    examples: tuple[Example, ...]
    verdicts: tuple[Verdict, ...]
    answers: tuple[Told, ...]
    folder: Path

    @property
    def gold(self) -> list[str]:
        """Gold labels; a hidden one is empty, and nothing equals it."""
        return [example.gold or "" for example in self.examples]

    @property
    def hits(self) -> list[bool]:
        """Which verdicts are right, of the claims with a gold label."""
        pairs = zip(self.examples, self.verdicts, strict=True)
        return [verdict.label == example.gold for example, verdict in pairs if example.gold]

    def gate(self, line: Line) -> dict[Metric, float]:
        """The thresholds of a row, or those with which the debates were held.

        Raises:
            UsageError: the method has none.
        """
        if line.gate:
            return dict(zip((Metric.FAITHFULNESS, Metric.RELEVANCE), line.gate, strict=True))
        about = Record(self.folder, mode="replay").about
        if about["method"] != "tool-mad":
            raise UsageError(f"{about['method']!r} has no thresholds", where=line.name)
        return ToolMadSettings(**about["settings"]).limits(Stability(*about["stability"]))


def recorded(bench: Bench, contender: Contender) -> Cell:
    """What is recorded of a contender that has finished."""
    folder = bench.folder / contender.slug
    verdicts = tuple(outcome.verdict for outcome in bench.outcomes(contender))
    return Cell(bench.examples, verdicts, tuple(_answers(read_events(folder), bench.examples)), folder)


def _answers(events: Iterable[Event], examples: Sequence[Example]) -> list[Told]:
    found: dict[tuple[int, str, int], Told] = {}
    scores: dict[tuple[int, str, int], dict[Metric, float]] = {}
    for event in events:
        if isinstance(event, Answered):
            key = event.item, event.agent, event.round
            gold = examples[event.item].gold
            right = None if gold is None else event.label == gold
            found[key] = Told(*key, event.label, right, scores.setdefault(key, {}))
        elif isinstance(event, Scored) and event.score.value is not None:
            scores.setdefault((event.item, event.agent, event.round), {})[event.score.metric] = event.score.value
    return list(found.values())


def measured(line: Line, cell: Cell, against: Cell | None = None) -> Figure:
    """The figure of a cell; shares and gains as parts of one."""
    if line.measure == "gain":
        assert against is not None
        found = paired_difference(cell.hits, against.hits)
        return Figure(
            name="gain", value=found.value, undefined=found.undefined, n=found.n, low=found.low, high=found.high
        )
    return _MEASURES[line.measure](cell, line)


def _accuracy(cell: Cell, line: Line) -> Figure:
    kept = [(gold, verdict.label) for gold, verdict in zip(cell.gold, cell.verdicts, strict=True) if gold]
    figure = accuracy([gold for gold, _ in kept], [said for _, said in kept])
    return with_bounds(figure, interval(cell.hits)) if kept else figure


def _share(name: str, hits: Sequence[bool], empty: str) -> Figure:
    return with_bounds(mean(name, hits), interval(hits)) if hits else undefined(name, empty)


def _values(cell: Cell, line: Line) -> list[float]:
    last: dict[int, int] = {}
    for each in cell.answers:
        last[each.item] = max(last.get(each.item, 0), each.round)
    wanted: Callable[[Told], bool] = {
        "all": lambda each: True,
        "right": lambda each: each.right is True,
        "wrong": lambda each: each.right is False,
        "last": lambda each: each.round == last[each.item],
    }[line.answers]
    return [each.scores[line.metric] for each in cell.answers if line.metric in each.scores and wanted(each)]


def _mean(cell: Cell, line: Line) -> Figure:
    return mean("mean", _values(cell, line), empty="no such answer is scored")


def _quantile(cell: Cell, line: Line) -> Figure:
    values = _values(cell, line)
    if not values:
        return undefined("quantile", "no answer is scored")
    return Figure(name="quantile", value=float(np.quantile(values, line.at)), n=len(values))


def _above(cell: Cell, line: Line) -> Figure:
    # Without an interval: the answers of one debate are not independent.
    return mean("above", [value > line.at for value in _values(cell, line)], empty="no answer is scored")


def _settled(cell: Cell, line: Line) -> list[tuple[int, bool, bool]]:
    """Of each claim with answers: its place, whether round 1 settles it under the gate, and rightly."""
    gate = cell.gate(line)
    rounds: dict[int, list[Told]] = {}
    for each in cell.answers:
        if each.round == 1:
            rounds.setdefault(each.item, []).append(each)
    found = []
    for item, told in rounds.items():
        agreed = len({each.label for each in told}) == 1 and told[0].label is not None
        passed = all(each.scores.get(metric, -math.inf) > limit for each in told for metric, limit in gate.items())
        found.append((item, agreed and passed, bool(told[0].right)))
    return found


def _how_settled(cell: Cell, line: Line) -> Figure:
    return _share("settled", [settled for _, settled, _ in _settled(cell, line)], "no claim has an answer")


def _settled_right(cell: Cell, line: Line) -> Figure:
    return _share("settled-right", [right for _, settled, right in _settled(cell, line) if settled], "none is settled")


def _ahead(cell: Cell, line: Line) -> list[tuple[int, Told]]:
    """Of each claim that the judge decided between different answers: the last one of who has the highest mean."""
    debates: dict[int, dict[str, list[Told]]] = {}
    for each in cell.answers:
        debates.setdefault(each.item, {}).setdefault(each.agent, []).append(each)
    found = []
    for item, agents in debates.items():
        if cell.verdicts[item].decided_by != "judge":
            continue
        scored = {
            agent: statistics.fmean(values)
            for agent, told in agents.items()
            if (values := [each.scores[line.metric] for each in told if line.metric in each.scores])
        }
        last = {agent: max(agents[agent], key=lambda each: each.round) for agent in scored}
        order = sorted(scored, key=lambda agent: -scored[agent])
        if len(order) < 2 or scored[order[0]] == scored[order[1]] or len({each.label for each in last.values()}) < 2:
            continue
        found.append((item, last[order[0]]))
    return found


NO_CONTEST = "the judge never decided between debaters with different answers and scores"


def _judge_follows(cell: Cell, line: Line) -> Figure:
    ahead = _ahead(cell, line)
    return _share("judge-follows", [cell.verdicts[item].label == told.label for item, told in ahead], NO_CONTEST)


def _higher_is_right(cell: Cell, line: Line) -> Figure:
    return _share("higher-is-right", [bool(told.right) for _, told in _ahead(cell, line)], NO_CONTEST)


_MEASURES: dict[str, Callable[[Cell, Line], Figure]] = {
    "accuracy": _accuracy,
    "mean": _mean,
    "quantile": _quantile,
    "above": _above,
    "settled": _how_settled,
    "settled-right": _settled_right,
    "judge-follows": _judge_follows,
    "higher-is-right": _higher_is_right,
}
