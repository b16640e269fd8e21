"""FAVIQ (Park et al. 2022): lower-cased claims made from questions that people asked (sets A and R).

Official rows: ``{"id", "claim", "label", "positive_evidence": {"id", "title", "text"}, "negative_evidence": {…}}``; the
test rows of set A have no answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from redargue.bench.datasets.base import Example, GoldEvidence, datasets
from redargue.bench.datasets.rows import Row, printable, rows
from redargue.claims import TWO, LabelSet
from redargue.evidence import Passage


@datasets.register("faviq")
class Faviq:
    """Reads the official JSON lines; the gold document is the positive passage's id.

    Args:
        with_evidence: provides the positive passage, which was chosen knowing the answer.
    """

    name: ClassVar[str] = "faviq"
    about: ClassVar[str] = "FAVIQ: claims made of questions people asked (faviq/faviq)"
    labels: ClassVar[LabelSet] = TWO
    metric: ClassVar[str] = "accuracy"

    def __init__(self, *, with_evidence: bool = False) -> None:
        self.with_evidence = with_evidence

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            hidden = row.is_unlabelled(("label", "positive_evidence"), ("id", "claim"))
            passage = _passage(row)
            yield row.example(
                id=row.key("id"),
                claim=row.claim("claim", labels=TWO),
                gold=None if hidden else row.label("label", TWO),
                evidence=((GoldEvidence(document=passage.document),),) if passage else (),
                passages=(passage,) if passage and self.with_evidence else (),
            )


def _passage(row: Row) -> Passage | None:
    if not row.fields.get("positive_evidence"):
        return None
    fields = row.child("positive_evidence")
    return Passage(document=fields.key("id"), title=fields.optional("title"), text=printable(fields.text("text")))
