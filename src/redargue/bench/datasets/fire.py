"""The claim files that FIRE (Xie et al. 2025) made of FacTool-QA, FELM-WK, BingCheck and FactCheck-Bench.

MERMAID uses them too. Rows: ``{"claim", "label": true | false | "true" | "false", …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.datasets.labels import TRUE_FALSE
from redargue.bench.datasets.rows import rows
from redargue.claims import LabelSet


@datasets.register("fire")
class Fire:
    """Reads the JSON lines; ids are row numbers."""

    name: ClassVar[str] = "fire"
    about: ClassVar[str] = "claims binarised as in FIRE and MERMAID (mbzuai-nlp/fire)"
    labels: ClassVar[LabelSet] = TRUE_FALSE
    metric: ClassVar[str] = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            yield row.example(
                claim=row.claim("claim", labels=TRUE_FALSE),
                gold=row.label("label", TRUE_FALSE),
            )
