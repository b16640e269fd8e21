"""FAVIQ (Park et al. 2022): lower-case claims written from questions that people asked (sets A and R).

Official rows: ``{"id", "claim", "label", "positive_evidence": {"id", "title", "text"}, "negative_evidence": {…}}``; the
test rows of set A have no answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.claims import TWO
from redargue.evidence import Passage
from redargue.inputs.rows import Row, printable_value, rows


class Faviq(Dataset, name="faviq"):
    """Reads the official JSON lines; the gold document is the positive passage's id."""

    with_evidence: bool = False  # the positive passage, which was chosen knowing the answer
    about = "FAVIQ: claims written from questions that people asked (faviq/faviq)"
    labels = TWO
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            hidden = row.is_unlabelled(("label", "positive_evidence"), ("id", "claim"))
            passage = _passage(row)
            yield self.example(
                row,
                hidden=hidden,
                id=row.key("id"),
                evidence=((GoldEvidence(document=passage.document),),) if passage else (),
                passages=(passage,) if passage and self.with_evidence else (),
            )


def _passage(row: Row) -> Passage | None:
    if not row.fields.get("positive_evidence"):
        return None
    fields = row.child("positive_evidence")
    return Passage(document=fields.key("id"), title=fields.optional("title"), text=printable_value(fields.text("text")))
