"""Frozen evidence: binarised claims, each with the passages that real searches returned for it.

Rows: ``{"claim", "label": "true" | "false", "passages": [{"query", "title", "url", "publisher", "text"}, …]}``. They
compare readers with retrieval held fixed; reports must say that language-model agents wrote the queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.bench.datasets.labels import TRUE_FALSE
from redargue.bench.datasets.rows import Row, printable, rows
from redargue.evidence import Passage


class Snapshots(Dataset, name="snapshots"):
    """Reads the JSON lines; a passage's rank is its position among those of its query."""

    about = "claims with frozen evidence: what real searches returned (shared data)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            yield row.example(
                claim=row.claim("claim", labels=TRUE_FALSE),
                gold=row.label("label", TRUE_FALSE),
                passages=tuple(_passages(row)),
            )


def _passages(row: Row) -> Iterator[Passage]:
    ranks: Counter[str] = Counter()
    for fields in row.children("passages"):
        query = fields.optional("query")
        ranks[query] += 1
        metadata = {name: fields.optional(name) for name in ("title", "url", "publisher")}
        yield Passage(text=printable(fields.text("text")), **metadata, query=query, rank=ranks[query])
