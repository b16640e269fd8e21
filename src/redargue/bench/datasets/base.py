"""What every data set is: examples with a claim, a gold label and what its metrics need."""

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
        document: as the data set names it (a page's title, an abstract's id).
        element: which part of it: a sentence's number as text, or an identifier (``table_caption_0``, ``cell_0_2_1``);
            empty for the whole document.
    """

    document: str
    element: str = ""


class Example(Frozen):
    """One row of a data set.

    Attributes:
        id: the data set's own, or its place in the file.
        claim: the text to check, with context, options, labels and day where the data set has them.
        gold: a label of the claim's label set; None where it is hidden.
        evidence: gold groups: each alone is enough; empty where the data set has none.
        passages: frozen evidence that comes with the row.
        answers: gold question-answer pairs, as AVeriTeC's metric compares them.
        group: the stratum by which the data set is reported (``2-hop``, ``qa``); empty where there is one.
        response: which longer text the claim was taken from; claims with one response are scored together.
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
        name: registered name.
        about: one line: what it is and where it comes from.
        labels: of its claims.
        metric: the official one, by its name in ``evals.official``.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    labels: ClassVar[LabelSet]
    metric: ClassVar[str]

    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file or folder, in its order; gzip is read as such.

        Raises:
            UsageError: not this data set's format: says which field of which row, what stands there, what was expected.
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
