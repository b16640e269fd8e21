"""SciFact (Wadden et al. 2020): scientific claims over abstracts, with gold sentences.

Official rows: ``{"id", "claim", "evidence": {doc_id: [{"sentences": [0, …], "label": "SUPPORT" | "CONTRADICT"}, …]},
"cited_doc_ids": [doc_id, …]}``; a claim without evidence has not enough information; a test row has only id and claim.
Corpus rows: ``{"doc_id", "title", "abstract": [sentence, …], "structured"}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.claims import Meaning
from redargue.inputs.claims import SCIFACT, SCIFACT_DECIDED
from redargue.inputs.rows import Row, rows
from redargue.retrieval.corpus.documents import Document


class SciFact(Dataset, name="scifact"):
    """Reads the official claims; each rationale is a gold group of one abstract's sentences, numbered from 0."""

    decided: bool = False  # only what an abstract supports or contradicts, as FOLK and MERMAID do
    about = "SciFact: scientific claims over abstracts (allenai/scifact)"
    labels = SCIFACT
    metric = "scifact"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            hidden = row.is_unlabelled(("evidence", "cited_doc_ids"), ("id", "claim"))
            gold, groups = (None, ()) if hidden else _rationales(row)
            if self.decided and not groups:
                continue
            claim = row.claim("claim", labels=SCIFACT_DECIDED if self.decided else SCIFACT)
            yield self.example(row, id=row.key("id"), claim=claim, gold=gold, evidence=groups)


def _rationales(row: Row) -> tuple[str | None, tuple[tuple[GoldEvidence, ...], ...]]:
    evidence = row.child("evidence")
    golds: set[str] = set()
    groups = []
    for document in evidence.fields:
        for rationale in evidence.children(document):
            label = rationale.label("label", SCIFACT)
            numbers = rationale.items("sentences")
            if not numbers or not all(type(number) is int for number in numbers):
                raise rationale.field_error("sentences", "a list of sentence numbers")
            if SCIFACT.meaning(label) is Meaning.NOT_ENOUGH:
                raise rationale.field_error("label", "SUPPORT or CONTRADICT")
            golds.add(label)
            groups.append(tuple(GoldEvidence(document=document, element=str(number)) for number in numbers))
    if len(golds) > 1:
        raise row.error("evidence: expected one label, but the rationales both support and contradict the claim")
    return (golds.pop() if golds else SCIFACT.named(Meaning.NOT_ENOUGH)), tuple(groups)


def scifact_qrels(path: Path) -> dict[str, frozenset[str]]:
    """Ids of the abstracts to be retrieved (``cited_doc_ids``), by claim id."""
    return {row.key("id"): frozenset(map(str, row.items("cited_doc_ids"))) for row in rows(path)}


def abstracts(path: Path) -> dict[str, tuple[str, ...]]:
    """The sentences of each abstract of ``corpus.jsonl``, by document id."""
    return {row.key("doc_id"): row.texts("abstract") for row in rows(path)}


def abstract_sentences(path: Path, names: frozenset[str]) -> dict[str, dict[str, str]]:
    """The numbered sentences of some abstracts of ``corpus.jsonl``, from 0."""
    by_id = abstracts(path)
    return {name: {str(at): text for at, text in enumerate(by_id[name])} for name in names if name in by_id}


def scifact_documents(path: Path) -> Iterator[Document]:
    """The abstracts of ``corpus.jsonl``, sentences joined by a space."""
    for row in rows(path):
        sentences = (sentence.strip() for sentence in row.texts("abstract"))
        yield Document(id=row.key("doc_id"), title=row.text("title"), text=" ".join(sentences))
