"""The claim files that FIRE (Xie et al. 2025) made of FacTool-QA, FELM-WK, BingCheck and FactCheck-Bench.

MERMAID uses them too. Rows: ``{"claim", "label": true | false | "true" | "false", …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.bench.datasets.labels import TRUE_FALSE
from redargue.bench.datasets.rows import rows


class Fire(Dataset, name="fire"):
    """Reads the JSON lines; ids are row numbers."""

    about = "claims binarised as in FIRE and MERMAID (mbzuai-nlp/fire)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            yield row.example(
                claim=row.claim("claim", labels=TRUE_FALSE),
                gold=row.label("label", TRUE_FALSE),
            )
