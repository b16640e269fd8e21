"""PubMedQA, PQA-L (Jin et al. 2019): yes-no-maybe questions asked by titles of PubMed articles.

Official form: an object, ``{pmid: {"QUESTION", "CONTEXTS": [text, …], "LABELS", "MESHES", "YEAR", "final_decision",
"LONG_ANSWER", …}, …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.claims import YES_NO_MAYBE
from redargue.evidence import Passage
from redargue.inputs.rows import Row, keyed_rows, printable_value
from redargue.retrieval.corpus.documents import Document

_REST = ("QUESTION", "CONTEXTS", "LABELS", "MESHES", "YEAR", "LONG_ANSWER")


class PubMedQa(Dataset, name="pubmedqa"):
    """Reads ``ori_pqal.json``; ids are PubMed ids, and the gold document is the article."""

    with_evidence: bool = False  # provides the abstract without its conclusion as passages
    about = "PubMedQA PQA-L: questions of PubMed articles (pubmedqa/pubmedqa)"
    labels = YES_NO_MAYBE
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in keyed_rows(path):
            hidden = row.is_unlabelled(("final_decision", "reasoning_required_pred", "reasoning_free_pred"), _REST)
            passages = _passages(row)
            yield self.example(
                row,
                id=row.name,
                claim=row.claim("QUESTION", labels=YES_NO_MAYBE),
                gold=None if hidden else row.label("final_decision", YES_NO_MAYBE),
                evidence=((GoldEvidence(document=row.name),),),
                passages=passages if self.with_evidence else (),
            )


def pubmedqa_documents(path: Path) -> Iterator[Document]:
    """The abstracts without their conclusions, which answer the questions."""
    for row in keyed_rows(path):
        text = "\n".join(printable_value(text) for text in row.texts("CONTEXTS"))
        yield Document(id=row.name, text=text, published=row.optional("YEAR"))


def _passages(row: Row) -> tuple[Passage, ...]:
    year = row.optional("YEAR")
    return tuple(
        Passage(document=row.name, published=year, text=printable_value(text), rank=rank)
        for rank, text in enumerate(row.texts("CONTEXTS"), 1)
    )
