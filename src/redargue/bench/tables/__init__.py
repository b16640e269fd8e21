"""Published tables as data: rows with the paper's figures, and the systems to run for ours.

Each paper has a TOML file beside this module; a row without ``method`` is a method that redargue does not have.

The record of one system on one data set, as published tables measure it.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import ValidationError, field_validator, model_validator

from redargue.backends import Stability
from redargue.bench.datasets import Example
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.claims import Frozen
from redargue.errors import UsageError, problem_of
from redargue.events import Answered, Scored
from redargue.methods.strangers import recorded_method
from redargue.registry import did_you_mean
from redargue.runs.record import Record, read_events
from redargue.verdicts import Metric, Verdict

NOT_HERE = "not here yet"
PAPERS = ("tool_mad.toml", "mermaid.toml", "dual_position.toml")

AgentMeasure = Literal["mean", "quantile", "above", "settled", "settled-right", "judge-follows", "higher-is-right"]
ClassMeasure = Literal[
    "true-f1", "false-f1", "macro-f1", "two-way", "recall", "precision", "f1", "searches", "positives", "negatives"
]
ResponseMeasure = Literal["response-accuracy", "response-recall", "response-precision", "response-f1"]
_Measure = Literal["accuracy", "gain", AgentMeasure, ClassMeasure, ResponseMeasure]


class CorpusSource(Frozen):
    """Some documents of a corpus: a file of a data set, or if that is empty, one that ``redargue corpus add`` reads."""

    path: str
    dataset: str = ""


class SharedCorpus(Frozen):
    """A corpus that data sets share."""

    documents: tuple[CorpusSource, ...]


class TableDataset(Frozen):
    """A data set as a paper's tables use it; ``files`` are options that are paths in the data folder."""

    title: str
    dataset: str
    path: str  # in the data folder, with or without ``.gz``
    files: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    options: dict[str, str] = {}  # noqa: RUF012
    corpus: str = ""  # empty if the data set has none or includes its evidence
    rag: str = "corpus"  # the tool of the paper's RAG agent
    search: str = "keywords"  # the tool of the paper's search agent, instead of ``live``
    live: str = "Tavily"
    settings: str = ""  # further settings of Tool-MAD
    kind: str = "qa"  # of text, in HaluEval's terms; ``{kind}`` in a row's method
    claims_of: Literal["", "summary", "dialogue"] = ""  # texts whose claims are verified one by one
    limit: int = 300  # default maximum number of claims
    note: str = ""  # differences from the paper


class PublishedRow(Frozen):
    """One row.

    ``method`` is a template of the system with ``{rag}``, ``{search}``, ``{profile}`` and ``{words}``, by default the
    table's. A system that reads another's passages (``~``) must follow that one.
    """

    name: str
    paper: tuple[str, ...] = ()  # figures as printed, by column; "" if only a picture shows them
    method: str = ""
    measure: _Measure = "accuracy"
    against: str = ""  # the system that a gain is over
    metric: Metric = Metric.FAITHFULNESS  # the score to measure
    answers: Literal["all", "right", "wrong", "last"] = "all"  # whose scores are averaged
    at: float = 0.5  # a quantile in [0, 1], or the threshold that a score must exceed
    gate: tuple[float, float] | None = None  # of faithfulness and relevance; None for the run's
    memory_of: str = ""  # system whose memory this one starts with, frozen (proxy memory)
    whole: bool = False  # whether even texts with claims are verified whole
    missing: str = NOT_HERE  # why there is no figure of ours, if there is no method


class PublishedTable(Frozen):
    """One table or figure."""

    name: str  # on the command line
    label: str  # in the paper
    title: str
    sets: tuple[str, ...] = ()  # the columns, unless ``columns`` lists properties of methods
    columns: tuple[str, ...] = ()
    measures: tuple[_Measure, ...] = ()  # per data set, if a row shows more than one figure of it
    shares: bool = False  # whether figures are fractions of one instead of per cent
    average: bool = False  # whether the last column is the mean
    method: str = ""  # default of the rows
    notes: tuple[str, ...] = ()
    rows: tuple[PublishedRow, ...]

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        width = len(self.sets) * (len(self.measures) or 1) + len(self.columns) + self.average
        if self.measures and self.average:
            raise ValueError(f"{self.name}: an average over different measures")
        for row in self.rows:
            if row.paper and len(row.paper) != width:
                raise ValueError(f"{self.name}, {row.name!r}: {len(row.paper)} figures for {width} columns")
            if (row.measure == "gain") != bool(row.against):
                raise ValueError(f"{self.name}, {row.name!r}: `against` is required for gains and allowed only there")
        return self


class Paper(Frozen):
    """All tables of a paper or of its versions, with the claims and the model that its figures were measured with."""

    claims: str
    model: str
    corpora: dict[str, SharedCorpus]
    sets: dict[str, TableDataset]
    tables: tuple[PublishedTable, ...]  # in the file by name

    @field_validator("tables", mode="before")
    @classmethod
    def _with_names(cls, tables: Mapping[str, Mapping[str, object]]) -> list[dict[str, object]]:
        return [{"name": name, **table} for name, table in tables.items()]

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        unknown = {name for table in self.tables for name in table.sets} - self.sets.keys()
        unknown |= {dataset.corpus for dataset in self.sets.values() if dataset.corpus} - self.corpora.keys()
        if unknown:
            raise ValueError(f"undefined names: {', '.join(sorted(unknown))}")
        return self


@cache
def papers() -> tuple[Paper, ...]:
    return tuple(parse((files("redargue.bench.tables") / name).read_text("utf-8"), name) for name in PAPERS)


def parse(text: str, name: str) -> Paper:
    try:
        return Paper.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=name) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ", ".join([name, *map(str, first["loc"])])
        raise UsageError(problem_of(error), where=where) from None


def find_table(name: str) -> tuple[Paper, PublishedTable]:
    known = {table.name: (paper, table) for paper in papers() for table in paper.tables}
    if name not in known:
        raise UsageError(f"unknown table {name!r}", hint=did_you_mean(name, list(known)))
    return known[name]


class AgentAnswer(NamedTuple):
    """One answer of one agent."""

    item: int
    agent: str
    round: int  # from 1
    label: str | None  # None if it could not be read
    right: bool | None  # None if the gold label is hidden
    scores: Mapping[Metric, float]  # those that are defined


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
