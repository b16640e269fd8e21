"""FacTool-QA (Chern et al. 2023): ChatGPT's answers to 50 questions, with the claims in them.

Official rows: ``{"prompt", "response", "claims": [{"claim", "label": true | false}, …], "label": true | false, …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.datasets.labels import TRUE_FALSE
from redargue.bench.datasets.rows import rows
from redargue.bench.datasets.snapshots import Snapshots
from redargue.claims import LabelSet


@datasets.register("factool-qa")
class FacToolQa:
    """Reads ``knowledge_qa.jsonl``: one example a claim, grouped by the answer that it was taken from."""

    name: ClassVar[str] = "factool-qa"
    about: ClassVar[str] = "FacTool-QA: claims in ChatGPT's answers (GAIR-NLP/factool)"
    labels: ClassVar[LabelSet] = TRUE_FALSE
    metric: ClassVar[str] = "macro-f1"

    def __init__(self, *, with_question: bool = False, evidence: Path | None = None) -> None:
        """Sets how claims are given.

        Args:
            with_question: puts the question into the context; the papers' methods see the claim alone.
            evidence: frozen searches (the data set ``snapshots``) whose passages claims of the same text bring along; a
                claim that is not there has those of the other claims of its answer.
        """
        self.with_question, self.evidence = with_question, evidence

    def read(self, path: Path) -> Iterator[Example]:
        """The claims of a file, in its order; an answer is named by its row's number.

        A row's own label has to be what its claims' labels make it: an answer is true if all its claims are.
        """
        found = {each.claim.text: each.passages for each in Snapshots().read(self.evidence)} if self.evidence else {}
        for row in rows(path):
            question = row.text("prompt")
            claims = row.children("claims")
            golds = [each.label("label", TRUE_FALSE) for each in claims]
            if row.label("label", TRUE_FALSE) != ("true" if all(gold == "true" for gold in golds) else "false"):
                raise row.wrong("label", "true if all of its claims are true, else false,")
            beside = tuple(each for claim in claims for each in found.get(claim.text("claim"), ()))
            for place, (each, gold) in enumerate(zip(claims, golds, strict=True), 1):
                yield Example(
                    id=f"{row.number}.{place}",
                    claim=each.claim("claim", labels=TRUE_FALSE, context=question if self.with_question else ""),
                    gold=gold,
                    passages=found.get(each.text("claim"), beside),
                    response=str(row.number),
                    row=row.number,
                )
