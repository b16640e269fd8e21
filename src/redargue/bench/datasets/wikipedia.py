"""Data sets over Wikipedia: FEVER, FEVEROUS, HoVer, FAVIQ.

FEVER (Thorne et al. 2018): claims over Wikipedia, with gold sentences.

Official rows: ``{"id", "verifiable", "label", "claim", "evidence": [[[annotation, evidence id, page, line], …], …]}``;
a test set has only ``id`` and ``claim``.

FEVEROUS (Aly et al. 2021): claims over Wikipedia's sentences, lists and tables.

Official rows: ``{"id", "claim", "label", "evidence": [{"content": ["Page_cell_0_2_1", …], "context": {…}}, …],
"annotator_operations", "expected_challenge", "challenge"}``; the first row of a file may be a dummy. Also the
sentence-only form, a JSON list whose ``evidence`` is text: a line ``Page<tab>sentence`` for each gold sentence.

HoVer (Jiang et al. 2020): claims that take two to four Wikipedia pages.

Official rows, in a JSON list: ``{"uid", "claim", "supporting_facts": [[title, sentence number], …], "label",
"num_hops", "hpqa_id"}``; a test set has neither facts nor labels.

FAVIQ (Park et al. 2022): lower-case claims written from questions that people asked (sets A and R).

Official rows: ``{"id", "claim", "label", "positive_evidence": {"id", "title", "text"}, "negative_evidence": {…}}``; the
test rows of set A have no answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from redargue.bench.datasets import Dataset, Example, GoldEvidence
from redargue.claims import FEVER, TWO
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.inputs.claims import HOVER
from redargue.inputs.rows import Row, printable_value, rows
from redargue.retrieval.corpus.documents import Document


class Fever(Dataset, name="fever"):
    """Reads the official JSON lines; gold evidence keeps FEVER's page names and line numbers."""

    about = "FEVER: claims over Wikipedia with gold sentences (fever.ai)"
    labels = FEVER
    metric = "fever"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            hidden = row.is_unlabelled(("label", "verifiable", "evidence"), ("id", "claim"))
            groups = () if hidden else _groups(row)
            yield self.example(row, hidden=hidden, id=row.key("id"), evidence=groups)


def _groups(row: Row) -> tuple[tuple[GoldEvidence, ...], ...]:
    groups: dict[tuple[GoldEvidence, ...], None] = {}
    for place, group in enumerate(row.items("evidence")):
        if not isinstance(group, list) or not all(isinstance(item, list) and len(item) == 4 for item in group):
            raise row.error(f"evidence[{place}]: expected a list of [annotation, evidence id, page, line], got {group}")
        named = [item[2:] for item in group if item[2] is not None]
        for page, line in named:
            if not isinstance(page, str) or not isinstance(line, int):
                raise row.error(f"evidence[{place}]: expected a page name and a line number, got {[page, line]}")
        if named:
            groups[tuple(GoldEvidence(document=page, element=str(line)) for page, line in named)] = None
    return tuple(groups)


def qrels(path: Path) -> dict[str, frozenset[str]]:
    """Gold passages of the pooled corpus by claim id, from rows ``{"fever_id", "passage_id", …}``."""
    gold: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows(path):
        gold[row.key("fever_id")].add(row.key("passage_id"))
    return {claim: frozenset(passages) for claim, passages in gold.items()}


def wiki_sentences(path: Path, names: frozenset[str]) -> dict[str, dict[str, str]]:
    r"""The numbered lines of some of FEVER's Wikipedia pages, from a file or the folder ``wiki-pages``.

    Official rows: ``{"id": page, "text", "lines": "0\tsentence\tlinks…\n1\t…"}``.
    """
    files = sorted(path.glob("wiki-*.jsonl*")) if path.is_dir() else [path]
    if not files:
        raise UsageError("no wiki-*.jsonl", where=str(path), hint="FEVER's wiki-pages have such names")
    pages: dict[str, dict[str, str]] = {}
    for row in chain.from_iterable(map(rows, files)):
        if row.key("id") in names:
            lines = (line.split("\t") for line in row.text("lines").split("\n"))
            pages[row.key("id")] = {line[0]: line[1] for line in lines if len(line) > 1 and line[0].isdigit()}
    return pages


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
                evidence=() if hidden else _cell_groups(row, sentences),
                passages=sentences if self.with_evidence else (),
                group=row.optional("challenge"),
            )


def _cell_groups(row: Row, sentences: tuple[Passage, ...]) -> tuple[tuple[GoldEvidence, ...], ...]:
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


class Hover(Dataset, name="hover"):
    """Reads the official JSON list; groups are ``2-hop``, ``3-hop``, ``4-hop``."""

    hops: int = 0  # keeps only claims that take this number of pages; 0 for all
    about = "HoVer: claims over two to four Wikipedia pages (hover-nlp/hover)"
    labels = HOVER
    metric = "hover"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            if self.hops and row.integer("num_hops") != self.hops:
                continue
            hidden = row.is_unlabelled(("label", "supporting_facts"), ("uid", "claim", "num_hops", "hpqa_id"))
            yield self.example(
                row,
                hidden=hidden,
                id=row.key("uid"),
                evidence=() if hidden else (_facts(row),),
                group=f"{row.integer('num_hops')}-hop",
            )


def _facts(row: Row) -> tuple[GoldEvidence, ...]:
    facts = []
    for fact in row.items("supporting_facts"):
        if not isinstance(fact, list) or [type(part) for part in fact] != [str, int]:
            raise row.error(f"supporting_facts: expected [title, sentence number], got {fact}")
        facts.append(GoldEvidence(document=fact[0], element=str(fact[1])))
    return tuple(dict.fromkeys(facts))


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
