"""FacTool-QA (Chern et al. 2023): ChatGPT's answers to 50 questions, with the claims in them.

Official rows: ``{"prompt", "response", "claims": [{"claim", "label": true | false}, …], "label": true | false, …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.bench.datasets.fire import Snapshots
from redargue.inputs.claims import TRUE_FALSE
from redargue.inputs.rows import rows


class FacToolQa(Dataset, name="factool-qa"):
    """Reads ``knowledge_qa.jsonl``: one example per claim, grouped by answer; an answer's id is its row number.

    A row's label must follow from its claims' labels: an answer is true if all its claims are. A claim that
    ``evidence`` lacks gets the passages of the other claims of its answer.
    """

    with_question: bool = False  # the question as context; the papers' methods see the claim alone
    evidence: Path | None = None  # frozen searches (data set ``snapshots``), by the claim's text

    about = "FacTool-QA: claims in ChatGPT's answers (GAIR-NLP/factool)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        snapshots = Snapshots().read(self.evidence) if self.evidence else ()
        searched = {snapshot.claim.text: snapshot.passages for snapshot in snapshots}
        for row in rows(path):
            question = row.text("prompt")
            claims = row.children("claims")
            golds = [claim.label("label", TRUE_FALSE) for claim in claims]
            if row.label("label", TRUE_FALSE) != ("true" if all(gold == "true" for gold in golds) else "false"):
                raise row.field_error("label", "true if all its claims are true, otherwise false")
            of_answer = tuple(passage for claim in claims for passage in searched.get(claim.text("claim"), ()))
            for number, (claim, gold) in enumerate(zip(claims, golds, strict=True), 1):
                yield self.example(
                    row,
                    id=f"{row.number}.{number}",
                    claim=claim.claim("claim", labels=TRUE_FALSE, context=question if self.with_question else ""),
                    gold=gold,
                    passages=searched.get(claim.text("claim"), of_answer),
                    response=str(row.number),
                )
