"""Examples and the interface of data sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, dataclass_transform

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.inputs.rows import Row
from redargue.registry import Registry, having


class GoldEvidence(Frozen):
    """One piece of gold evidence.

    Attributes:
        document: page title or abstract id, as the data set writes it.
        element: sentence number or an identifier like ``cell_0_2_1``; empty for the whole document.
    """

    document: str
    element: str = ""


class Example(Frozen):
    """One row of a data set.

    Attributes:
        id: the data set's id, or the row number.
        gold: a label of the claim's label set; None if hidden.
        evidence: gold groups, each sufficient on its own.
        answers: gold question-answer pairs (AVeriTeC).
        group: stratum (``2-hop``, ``qa``); empty if there is only one.
        response: id of the longer text that contains the claim; its claims are scored together.
        row: in the file, from 1.
    """

    id: str
    claim: Claim
    gold: str | None
    evidence: tuple[tuple[GoldEvidence, ...], ...] = ()
    passages: tuple[Passage, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    group: str = ""
    response: str = ""
    row: int = Field(ge=1)

    @classmethod
    def of(cls, row: Row, /, *, claim: Claim, gold: str | None, **attributes: Any) -> Example:
        """The example in a row; its id defaults to the row number."""
        return cls(**{"id": str(row.number), "row": row.number, "claim": claim, "gold": gold, **attributes})


@dataclass_transform(kw_only_default=True)
class Dataset(ABC):
    """Reads one data set's official format.

    A subclass is registered under its ``name``, and made a dataclass whose fields are the data set's options.

    Attributes:
        about: one-line description and source.
        metric: the official metric, a name registered in ``bench.official_metrics``.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    labels: ClassVar[LabelSet]
    metric: ClassVar[str]

    def __init_subclass__(cls, *, name: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = name
        if lacks := having("about", "labels", "metric")(cls):
            raise TypeError(f"the data set {cls.__qualname__}: {lacks}; see docs/extending.md")
        datasets.register(name)(dataclass(kw_only=True)(cls))

    @abstractmethod
    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file or folder, gzipped or not, in its order.

        Raises:
            UsageError: not in this data set's format; names the row, the field, its value and what was expected.
        """


def _missing(entry: object) -> str:
    return "" if isinstance(entry, type) and issubclass(entry, Dataset) else "it is not a subclass of Dataset"


datasets: Registry[type[Dataset]] = Registry(
    "data set",
    builtin={
        "averitec": "redargue.bench.datasets.averitec:Averitec",
        "bingcheck": "redargue.bench.datasets.bingcheck:BingCheck",
        "factcheck-bench": "redargue.bench.datasets.factcheck_bench:FactCheckBench",
        "factool-qa": "redargue.bench.datasets.factool_qa:FacToolQa",
        "faviq": "redargue.bench.datasets.faviq:Faviq",
        "felm": "redargue.bench.datasets.felm:Felm",
        "fever": "redargue.bench.datasets.fever:Fever",
        "feverous": "redargue.bench.datasets.feverous:Feverous",
        "fire": "redargue.bench.datasets.fire:FireDataset",
        "halueval": "redargue.bench.datasets.halueval:HaluEval",
        "hover": "redargue.bench.datasets.hover:Hover",
        "medqa": "redargue.bench.datasets.medqa:MedQa",
        "mermaid-runs": "redargue.bench.datasets.mermaid_runs:MermaidRuns",
        "pubmedqa": "redargue.bench.datasets.pubmedqa:PubMedQa",
        "scifact": "redargue.bench.datasets.scifact:SciFact",
        "snapshots": "redargue.bench.datasets.fire:Snapshots",
        "table": "redargue.bench.datasets.table:TableFile",
    },
    group="redargue.datasets",
    missing=_missing,
)
