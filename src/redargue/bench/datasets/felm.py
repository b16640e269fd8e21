"""FELM (Chen et al. 2023): ChatGPT's answers of five domains, cut into segments with a label each.

Official rows: ``{"index", "source", "prompt", "response", "segmented_response": [text, …], "labels": [true | false,
…], "comment", "type", "ref", "domain"?}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.datasets.labels import TRUE_FALSE
from redargue.bench.datasets.rows import Row, rows
from redargue.claims import LabelSet
from redargue.errors import UsageError


@datasets.register("felm")
class Felm:
    """Reads the official JSON lines, by segment as FELM is scored or by response as FIRE uses it."""

    name: ClassVar[str] = "felm"
    about: ClassVar[str] = "FELM: segments of ChatGPT's answers in five domains (hkust-nlp/felm)"
    labels: ClassVar[LabelSet] = TRUE_FALSE
    metric: ClassVar[str] = "macro-f1"

    def __init__(self, *, unit: Literal["segment", "response"] = "segment") -> None:
        """Sets what a claim is.

        Args:
            unit: ``segment``, with question and answer as its context; or ``response``, alone and true if all of its
                segments are.
        """
        if unit not in ("segment", "response"):
            raise UsageError(f"unit {unit!r} of FELM", hint="segment or response")
        self.unit = unit

    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file, in its order; segments without a letter or digit hold nothing to check."""
        for row in rows(path):
            domain = row.optional("domain")
            name = f"{domain}-{row.key('index')}" if domain else row.key("index")
            segments = row.texts("segmented_response")
            golds = _golds(row, len(segments))
            if self.unit == "response":
                yield Example(
                    id=name,
                    claim=row.claim("response", labels=TRUE_FALSE),
                    gold="true" if all(gold == "true" for gold in golds) else "false",
                    group=domain,
                    row=row.number,
                )
                continue
            context = f"Question: {row.text('prompt')}\nAnswer: {row.text('response')}"
            for place, (segment, gold) in enumerate(zip(segments, golds, strict=True), 1):
                if re.search(r"\w", segment):
                    yield Example(
                        id=f"{name}.{place}",
                        claim=row.claim("segmented_response", segment, labels=TRUE_FALSE, context=context),
                        gold=gold,
                        group=domain,
                        response=name,
                        row=row.number,
                    )


def _golds(row: Row, length: int) -> list[str]:
    found = [row.as_label(value, TRUE_FALSE) for value in row.items("labels")]
    if len(found) != length or not found or None in found:
        raise row.wrong("labels", f"true or false for each of the {length} segments")
    return [gold for gold in found if gold]
