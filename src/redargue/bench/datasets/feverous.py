"""FEVEROUS (Aly et al. 2021): claims over Wikipedia's sentences, lists and tables.

Official rows: ``{"id", "claim", "label", "evidence": [{"content": ["Page_cell_0_2_1", …], "context": {…}}, …],
"annotator_operations", "expected_challenge", "challenge"}``; the first row of a file may be a dummy. Also the
sentence-only form, a JSON list whose ``evidence`` is text: a line ``Page<tab>sentence`` for each gold sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.claims import FEVER
from redargue.evidence import Passage
from redargue.inputs.rows import Row, printable_value, rows
from redargue.retrieval.corpus.documents import Document

_ELEMENT = re.compile(
    r"(?P<document>.+?)_(?P<element>(?:sentence|header_cell|cell|table_caption|item|section|title|table|list)(?:_\d+)*)"
)
_LINK = re.compile(r"\[\[[^\[\]|]*\|([^\[\]]*)\]\]")


class Feverous(Dataset, name="feverous"):
    """Reads both forms and skips the file's dummy row; an element of gold evidence has a name like ``cell_0_2_1``."""

    with_evidence: bool = False  # the gold sentences of the sentence-only form as passages
    about = "FEVEROUS: claims over Wikipedia's sentences and tables (fever.ai)"
    labels = FEVER
    metric = "feverous"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            if row.number == 1 and all(row.fields.get(name, "missing") == "" for name in ("id", "claim", "label")):
                continue
            hidden = row.is_unlabelled(("label", "evidence"), ("id", "claim", "challenge", "expected_challenge"))
            sentences = _sentences(row) if isinstance(row.fields.get("evidence"), str) else ()
            yield self.example(
                row,
                hidden=hidden,
                id=row.key("id"),
                evidence=() if hidden else _groups(row, sentences),
                passages=sentences if self.with_evidence else (),
                group=row.optional("challenge"),
            )


def _groups(row: Row, sentences: tuple[Passage, ...]) -> tuple[tuple[GoldEvidence, ...], ...]:
    if sentences:  # they name pages without elements
        return (tuple(GoldEvidence(document=page) for page in dict.fromkeys(each.document for each in sentences)),)
    groups = []
    for group in row.children("evidence"):
        matches = [match for name in group.texts("content") if (match := _ELEMENT.fullmatch(name))]
        if len(matches) < len(group.items("content")):
            raise group.field_error("content", "a page and its element, like 'Page_sentence_3' or 'Page_cell_0_2_1'")
        groups.append(tuple(GoldEvidence(**match.groupdict()) for match in matches))
    return tuple(groups)


def _sentences(row: Row) -> tuple[Passage, ...]:
    """The evidence of the sentence-only form, with links replaced by their visible text."""
    passages = []
    for rank, line in enumerate(row.text("evidence").split("\n"), 1):
        page, tab, sentence = line.partition("\t")
        if not tab or not page.strip() or not sentence.strip():
            raise row.error(f"evidence: expected a line 'page<tab>sentence', got {line[:60]!r}")
        text = printable_value(_LINK.sub(r"\1", sentence)).strip()
        passages.append(Passage(document=page, title=page, text=text, rank=rank))
    return tuple(passages)


def feverous_documents(path: Path) -> Iterator[Document]:
    """The pages of the sentence-only form, each with the gold sentences of all claims."""
    pages: dict[str, dict[str, None]] = {}
    for row in rows(path):
        if not isinstance(row.fields.get("evidence"), str):
            raise row.field_error("evidence", "lines 'page<tab>sentence' (the sentence-only form)")
        for sentence in _sentences(row):
            pages.setdefault(sentence.document, {})[sentence.text] = None
    for page, texts in pages.items():
        yield Document(id=page, title=page, text=" ".join(texts))
