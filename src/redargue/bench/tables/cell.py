"""The record of one system on one data set, as published tables measure it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from redargue.backends.base import Stability
from redargue.bench.datasets.base import Example
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.bench.tables.schema import PublishedRow
from redargue.errors import UsageError
from redargue.events import Answered, Scored
from redargue.methods.strangers import recorded_method
from redargue.runs.record import Record, read_events
from redargue.verdicts import Metric, Verdict


class AgentAnswer(NamedTuple):
    """One answer of one agent.

    Attributes:
        round: from 1.
        label: None if it could not be read.
        right: None if the gold label is hidden.
        scores: those that are defined.
    """

    item: int
    agent: str
    round: int
    label: str | None
    right: bool | None
    scores: Mapping[Metric, float]


class PublishedCell(NamedTuple):
    """A run of one system on one data set."""

    examples: tuple[Example, ...]
    verdicts: tuple[Verdict, ...]
    answers: tuple[AgentAnswer, ...]
    folder: Path

    @property
    def gold(self) -> list[str]:
        """Gold labels; a hidden one is empty, which equals no label."""
        return [example.gold or "" for example in self.examples]

    @property
    def hits(self) -> list[bool]:
        """Whether each verdict is correct, for claims with a gold label."""
        pairs = zip(self.gold, self.verdicts, strict=True)
        return [verdict.label == gold for gold, verdict in pairs if gold]

    def gate(self, line: PublishedRow) -> dict[Metric, float]:
        """The thresholds of a row, by default those of the recorded debates."""
        if line.gate:
            return dict(zip((Metric.FAITHFULNESS, Metric.RELEVANCE), line.gate, strict=True))
        manifest = Record(self.folder, mode="replay").manifest
        method = recorded_method(manifest.spec.method, manifest.spec.settings)
        limits = method.limits(Stability(*manifest.backend.stability)) if method else {}
        if not limits:
            raise UsageError(f"{manifest.spec.method!r} has no thresholds", where=line.name)
        return dict(limits)


def read_cell(bench: Bench, system: System) -> PublishedCell:
    folder = bench.folder / system.slug
    answers: dict[tuple[int, str, int], AgentAnswer] = {}
    scores: dict[tuple[int, str, int], dict[Metric, float]] = defaultdict(dict)
    for event in read_events(folder):
        if isinstance(event, Answered):
            key = event.item, event.agent, event.round
            gold = bench.examples[event.item].gold
            right = None if gold is None else event.label == gold
            answers[key] = AgentAnswer(*key, event.label, right, scores[key])
        elif isinstance(event, Scored) and event.score.value is not None:
            scores[event.item, event.agent, event.round][event.score.metric] = event.score.value
    verdicts = tuple(outcome.verdict for outcome in bench.outcomes(system))
    return PublishedCell(bench.examples, verdicts, tuple(answers.values()), folder)
