"""Data sets of medicine and science: PubMedQA, MedQA, SciFact.

PubMedQA, PQA-L (Jin et al. 2019): yes-no-maybe questions asked by titles of PubMed articles.

Official form: an object, ``{pmid: {"QUESTION", "CONTEXTS": [text, …], "LABELS", "MESHES", "YEAR", "final_decision",
"LONG_ANSWER", …}, …}``.

MedQA-USMLE (Jin et al. 2021): examination questions with four or five options.

Official rows: ``{"question", "answer", "options": {"A": …}, "meta_info": "step1" | "step2&3", "answer_idx", …}``.

SciFact (Wadden et al. 2020): scientific claims over abstracts, with gold sentences.

Official rows: ``{"id", "claim", "evidence": {doc_id: [{"sentences": [0, …], "label": "SUPPORT" | "CONTRADICT"}, …]},
"cited_doc_ids": [doc_id, …]}``; a claim without evidence has not enough information; a test row has only id and claim.
Corpus rows: ``{"doc_id", "title", "abstract": [sentence, …], "structured"}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets import Dataset, Example, GoldEvidence
from redargue.claims import OPTIONS, YES_NO_MAYBE, LabelSet, Meaning
from redargue.evidence import Passage
from redargue.inputs.claims import SCIFACT, SCIFACT_DECIDED
from redargue.inputs.rows import Row, keyed_rows, printable_value, rows
from redargue.retrieval.corpus.documents import Document

_PUBMEDQA_FIELDS = ("QUESTION", "CONTEXTS", "LABELS", "MESHES", "YEAR", "LONG_ANSWER")


class PubMedQa(Dataset, name="pubmedqa"):
    """Reads ``ori_pqal.json``; ids are PubMed ids, and the gold document is the article."""

    with_evidence: bool = False  # provides the abstract without its conclusion as passages
    about = "PubMedQA PQA-L: questions of PubMed articles (pubmedqa/pubmedqa)"
    labels = YES_NO_MAYBE
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in keyed_rows(path):
            hidden = row.is_unlabelled(
                ("final_decision", "reasoning_required_pred", "reasoning_free_pred"), _PUBMEDQA_FIELDS
            )
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


_MEDQA_FIELDS = ("question", "options", "meta_info", "metamap_phrases")


class MedQa(Dataset, name="medqa"):
    """Reads the official JSON lines; a claim's labels are the letters of its options."""

    about = "MedQA-USMLE: examination questions with options (jind11/MedQA)"
    labels = OPTIONS
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            options = _options(row)
            letters = LabelSet(name=OPTIONS.name, labels=OPTIONS.labels[: len(options)], in_prose=False)
            hidden = row.is_unlabelled(("answer", "answer_idx"), _MEDQA_FIELDS)
            gold = None if hidden else row.label("answer_idx", letters)
            if gold and row.text("answer").strip() != options[letters.names.index(gold)].strip():
                raise row.field_error("answer", f"the text of option {gold}")
            claim = row.claim("question", labels=letters, options=options)
            yield self.example(row, claim=claim, gold=gold, group=row.optional("meta_info"))


def _options(row: Row) -> tuple[str, ...]:
    fields = row.child("options")
    letters = sorted(fields.fields)
    if letters != list(OPTIONS.names[: len(letters)]) or len(letters) < 2:
        raise row.field_error("options", "an object with the keys A, B, … (at most E)")
    return tuple(fields.text(letter) for letter in letters)


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
