"""FELM (Chen et al. 2023): ChatGPT's answers of five domains, cut into segments with a label each.

Official rows: ``{"index", "source", "prompt", "response", "segmented_response": [text, …], "labels": [true | false,
…], "comment", "type", "ref", "domain"?}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from redargue.bench.datasets.base import Dataset, Example
from redargue.errors import UsageError
from redargue.inputs.claims import TRUE_FALSE
from redargue.inputs.rows import Row, rows


class Felm(Dataset, name="felm"):
    """Reads the official JSON lines; skips segments without a letter or digit.

    A segment (FELM's own unit) has question and answer as context; a response (FIRE's) is true if all its segments are.
    """

    unit: Literal["segment", "response"] = "segment"
    about = "FELM: segments of ChatGPT's answers in five domains (hkust-nlp/felm)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def __post_init__(self) -> None:
        if self.unit not in ("segment", "response"):
            raise UsageError(f"unknown unit {self.unit!r} for FELM", hint="use segment or response")

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            domain = row.optional("domain")
            name = f"{domain}-{row.key('index')}" if domain else row.key("index")
            segments = row.texts("segmented_response")
            golds = _golds(row, len(segments))
            if self.unit == "response":
                claim = row.claim("response", labels=TRUE_FALSE)
                gold = "true" if all(gold == "true" for gold in golds) else "false"
                yield self.example(row, id=name, claim=claim, gold=gold, group=domain)
                continue
            context = f"Question: {row.text('prompt')}\nAnswer: {row.text('response')}"
            for place, (segment, gold) in enumerate(zip(segments, golds, strict=True), 1):
                if re.search(r"\w", segment):
                    yield self.example(
                        row,
                        id=f"{name}.{place}",
                        claim=row.claim("segmented_response", segment, labels=TRUE_FALSE, context=context),
                        gold=gold,
                        group=domain,
                        response=name,
                    )


def _golds(row: Row, length: int) -> list[str]:
    golds = [row.as_label(value, TRUE_FALSE) for value in row.items("labels")]
    if len(golds) != length or not golds or None in golds:
        raise row.field_error("labels", f"true or false for each of the {length} segments")
    return [gold for gold in golds if gold]
