"""The claim files that FIRE (Xie et al. 2025) made of FacTool-QA, FELM-WK, BingCheck and FactCheck-Bench.

MERMAID uses them too. Rows: ``{"claim", "label": true | false | "true" | "false", …}``; frozen evidence adds what real
searches returned for each claim: ``"passages": [{"query", "title", "url", "publisher", "text"}, …]``. It compares
readers with retrieval held fixed; reports must say that language-model agents wrote the queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.evidence import Passage
from redargue.inputs.claims import TRUE_FALSE
from redargue.inputs.rows import Row, printable_value, rows


class FireDataset(Dataset, name="fire"):
    """Reads the JSON lines; ids are row numbers."""

    about = "claims binarised as in FIRE and MERMAID (mbzuai-nlp/fire)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        yield from map(self.example, rows(path))


class Snapshots(FireDataset, name="snapshots"):
    """Reads the passages too; a passage's rank is its position among those of its query."""

    about = "claims with frozen evidence: what real searches returned (shared data)"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            yield self.example(row, passages=tuple(_passages(row)))


def _passages(row: Row) -> Iterator[Passage]:
    ranks: Counter[str] = Counter()
    for fields in row.children("passages"):
        query = fields.optional("query")
        ranks[query] += 1
        metadata = {name: fields.optional(name) for name in ("title", "url", "publisher")}
        yield Passage(text=printable_value(fields.text("text")), **metadata, query=query, rank=ranks[query])
