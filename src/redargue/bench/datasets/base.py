"""Examples and the interface of data sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.registry import Registry


class GoldEvidence(Frozen):
    """One piece of gold evidence.

    Attributes:
        document: the data set's name for it (a page title, an abstract id).
        element: sentence number as text, or an identifier (``table_caption_0``, ``cell_0_2_1``); empty for the whole
            document.
    """

    document: str
    element: str = ""


class Example(Frozen):
    """One row of a data set.

    Attributes:
        id: the data set's id, or the row number.
        gold: a label of the claim's label set; None if hidden.
        evidence: gold groups, each sufficient on its own.
        passages: frozen evidence of the row.
        answers: gold question-answer pairs (AVeriTeC).
        group: stratum by which the data set is reported (``2-hop``, ``qa``); empty if there is only one.
        response: id of the longer text that the claim was taken from; its claims are scored together.
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


class Dataset(Protocol):
    """Reads one data set's official format.

    Attributes:
        about: one-line description and source.
        metric: the official metric, a name registered in ``bench.official_metrics``.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    labels: ClassVar[LabelSet]
    metric: ClassVar[str]

    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file or folder, gzipped or not, in its order.

        Raises:
            UsageError: not in this data set's format; names the row, the field, its value and what was expected.
        """
        ...


DATASETS = {
    "averitec": "redargue.bench.datasets.averitec:Averitec",
    "bingcheck": "redargue.bench.datasets.bingcheck:BingCheck",
    "factcheck-bench": "redargue.bench.datasets.factcheck_bench:FactCheckBench",
    "factool-qa": "redargue.bench.datasets.factool_qa:FacToolQa",
    "faviq": "redargue.bench.datasets.faviq:Faviq",
    "felm": "redargue.bench.datasets.felm:Felm",
    "fever": "redargue.bench.datasets.fever:Fever",
    "feverous": "redargue.bench.datasets.feverous:Feverous",
    "fire": "redargue.bench.datasets.fire:Fire",
    "halueval": "redargue.bench.datasets.halueval:HaluEval",
    "hover": "redargue.bench.datasets.hover:Hover",
    "medqa": "redargue.bench.datasets.medqa:MedQa",
    "mermaid-runs": "redargue.bench.datasets.mermaid_runs:MermaidRuns",
    "pubmedqa": "redargue.bench.datasets.pubmedqa:PubMedQa",
    "scifact": "redargue.bench.datasets.scifact:SciFact",
    "snapshots": "redargue.bench.datasets.snapshots:Snapshots",
    "table": "redargue.bench.datasets.table:Table",
}

datasets: Registry[type[Dataset]] = Registry("data set", builtin=DATASETS, group="redargue.datasets")
