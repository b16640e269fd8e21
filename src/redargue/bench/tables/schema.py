"""What a published table is, as data: rows with the paper's own figures, and what to run for ours.

One TOML file a paper lies beside this module; a method that redargue does not have yet is a row without ``method``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from redargue.claims import Frozen
from redargue.errors import UnknownName, UsageError
from redargue.registry import did_you_mean
from redargue.verdicts import Metric

NOT_HERE = "not here yet"
PAPERS = ("tool_mad.toml", "mermaid.toml", "dual_position.toml")

Measure = Literal[
    "accuracy",
    "gain",
    "mean",
    "quantile",
    "above",
    "settled",
    "settled-right",
    "judge-follows",
    "higher-is-right",
    "true-f1",
    "false-f1",
    "macro-f1",
    "two-way",
    "recall",
    "precision",
    "f1",
    "searches",
    "response-accuracy",
    "response-recall",
    "response-precision",
    "response-f1",
]


class Part(Frozen):
    """Some documents of a corpus.

    Attributes:
        path: in the data folder, with or without ``.gz``.
        dataset: whose documents are read out of it; empty for a file that ``redargue corpus add`` takes as it is.
    """

    path: str
    dataset: str = ""


class SharedCorpus(Frozen):
    """A corpus that data sets share."""

    documents: tuple[Part, ...]


class TableDataset(Frozen):
    """A data set as a paper's tables use it.

    Attributes:
        title: the paper's name for it.
        dataset: registered name.
        path: in the data folder, with or without ``.gz``.
        files: options of the data set that are files, likewise.
        options: its other options.
        corpus: what is searched here; empty where there is nothing, or where the data set brings its evidence along.
        rag: the tool of the paper's RAG agent.
        search: the tool that stands in for the paper's search agent's.
        live: what the paper has in its place.
        settings: further ones of Tool-MAD on this set.
        kind: of its texts, as HaluEval calls it; ``{kind}`` in a row's method.
        limit: claims at most, unless the user says so: fewer where a claim takes many seconds.
        note: what of it is not the paper's; empty where there is nothing to say.
    """

    title: str
    dataset: str
    path: str
    files: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    options: dict[str, str] = {}  # noqa: RUF012
    corpus: str = ""
    rag: str = "corpus"
    search: str = "keywords"
    live: str = "Tavily"
    settings: str = ""
    kind: str = "qa"
    limit: int = 300
    note: str = ""


class PublishedRow(Frozen):
    """One row.

    Attributes:
        name: as the paper has it, or what of the paper's text it tells.
        paper: its figures as they are printed, one a column; empty strings where only a picture shows them; nothing
            at all for a row of ours.
        method: the system, with ``{rag}``, ``{search}``, ``{profile}`` and ``{words}``; the table's by default. One
            that reads what another has read (``~``) stands below that one.
        measure: what a cell shows.
        against: the system that a gain is over.
        metric: the score that is measured.
        answers: whose scores are averaged: all, those of right or of wrong answers, those of the last round.
        at: a quantile in [0, 1], or the threshold that a score has to exceed.
        gate: thresholds of faithfulness and relevance; None for the run's own.
        memory_of: the system whose evidence memory this one is given, frozen (proxy memory).
        missing: why there is no figure of ours, where there is no method.
    """

    name: str
    paper: tuple[str, ...] = ()
    method: str = ""
    measure: Measure = "accuracy"
    against: str = ""
    metric: Metric = Metric.FAITHFULNESS
    answers: Literal["all", "right", "wrong", "last"] = "all"
    at: float = 0.5
    gate: tuple[float, float] | None = None
    memory_of: str = ""
    missing: str = NOT_HERE


class PublishedTable(Frozen):
    """One table or figure.

    Attributes:
        name: on the command line.
        label: in the paper.
        title: what it shows.
        sets: its columns, by name.
        columns: its columns where they are properties of methods instead.
        measures: what is measured on each data set, where a row shows more than one figure of it.
        shares: whether the paper prints shares of one and not per cent; so are ours.
        average: whether the mean over all columns is the last one.
        method: of the rows that name none.
        notes: what a reader has to know of it.
        rows: in the paper's order.
    """

    name: str
    label: str
    title: str
    sets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    shares: bool = False
    average: bool = False
    method: str = ""
    notes: tuple[str, ...] = ()
    rows: tuple[PublishedRow, ...]

    @model_validator(mode="after")
    def _even(self) -> Self:
        wide = len(self.sets) * (len(self.measures) or 1) + len(self.columns) + self.average
        if self.measures and self.average:
            raise ValueError(f"{self.name}: an average over different measures")
        for row in self.rows:
            if row.paper and len(row.paper) != wide:
                raise ValueError(f"{self.name}, {row.name!r}: {len(row.paper)} figures for {wide} columns")
            if (row.measure == "gain") != bool(row.against):
                raise ValueError(f"{self.name}, {row.name!r}: a gain is against another system, and nothing else is")
        return self


class Paper(Frozen):
    """All tables of a paper, or of several versions of it.

    Attributes:
        claims: what its figures were measured on.
        model: who played the roles.
        corpora: by name.
        sets: by name.
        tables: in order.
    """

    claims: str
    model: str
    corpora: dict[str, SharedCorpus]
    sets: dict[str, TableDataset]
    tables: tuple[PublishedTable, ...]

    @model_validator(mode="after")
    def _named(self) -> Self:
        unknown = {name for table in self.tables for name in table.sets} - self.sets.keys()
        unknown |= {each.corpus for each in self.sets.values() if each.corpus} - self.corpora.keys()
        if unknown:
            raise ValueError(f"nothing is called {', '.join(sorted(unknown))}")
        return self


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper whose tables are here."""
    return tuple(parse((files("redargue.bench.tables") / name).read_text("utf-8"), name) for name in PAPERS)


def parse(text: str, name: str) -> Paper:
    """A paper's tables.

    Raises:
        UsageError: not TOML, or not of this form; says where.
    """
    try:
        return Paper.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=name) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ", ".join([name, *map(str, first["loc"])])
        raise UsageError(str(first["msg"]).removeprefix("Value error, "), where=where) from None


def find_table(name: str) -> tuple[Paper, PublishedTable]:
    """A table by its name.

    Raises:
        UnknownName: there is none.
    """
    known = {table.name: (paper, table) for paper in papers() for table in paper.tables}
    if name not in known:
        raise UnknownName(f"unknown table {name!r}", hint=did_you_mean(name, list(known)))
    return known[name]
