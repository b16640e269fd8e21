"""Data sets of language models' answers: BingCheck, FactCheck-Bench, FacTool-QA, FELM, HaluEval.

BingCheck (Li et al. 2024, Self-Checker): Bing Chat's answers, their claims, and the web pages found for each.

Two forms:

* answers: a file (or a folder of such files) with ``{id: {"query", "response", "fact-checking": {"subclaims": [text,
  …], "queries": [text, …], "search_results": {claim: [{"title", "url", "content": [sentence, …]}, …]},
  "subconclusions": {claim: label}, …}, …}}``;
* FIRE's list: JSON lines ``{"claim", "label"}``, with four labels or two.

FIRE's rule for two labels: supported and partially supported are true, refuted is false, not supported is dropped.

FactCheck-Bench (Wang et al. 2024): ChatGPT's answers, their sentences' claims, and web evidence with stances.

Official rows: ``{"prompt", "response", "sentences": {"sentence1": {"claims": [text, …], "claims_factuality_label":
[true | false | "unknown", …], "claim_checkworthiness": ["factual" | "opinion", …], "auto_evidence": [[text, …], …],
"auto_evidence_url": [[url, …], …], …}, …}, …}``; the lists are as long as ``claims``.

FacTool-QA (Chern et al. 2023): ChatGPT's answers to 50 questions, with the claims in them.

Official rows: ``{"prompt", "response", "claims": [{"claim", "label": true | false}, …], "label": true | false, …}``.

FELM (Chen et al. 2023): ChatGPT's answers of five domains, cut into segments with a label each.

Official rows: ``{"index", "source", "prompt", "response", "segmented_response": [text, …], "labels": [true | false,
…], "comment", "type", "ref", "domain"?}``.

HaluEval (Li et al. 2023): right and hallucinated answers, replies and summaries, and annotated ChatGPT responses.

Official rows (JSON lines, whatever the file's suffix):

* qa: ``{"knowledge", "question", "right_answer", "hallucinated_answer"}``
* dialogue: ``{"knowledge", "dialogue_history", "right_response", "hallucinated_response"}``
* summarization: ``{"document", "right_summary", "hallucinated_summary"}``
* general: ``{"ID", "user_query", "chatgpt_response", "hallucination": "yes" | "no", "hallucination_spans"}``
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from redargue.bench.datasets import Dataset, Example
from redargue.bench.datasets.files import Snapshots
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.inputs.claims import BINGCHECK, FACTCHECK_BENCH, HALLUCINATED, TRUE_FALSE
from redargue.inputs.rows import Row, first_line, keyed_rows, printable_value, rows

_BINARY = {"supported": "true", "partially supported": "true", "refuted": "false"}


class BingCheck(Dataset, name="bingcheck"):
    """Reads both forms; a passage is a whole web page, its sentences joined by line breaks."""

    binary: bool = False  # two labels by FIRE's rule; drops claims that are "not supported"
    with_question: bool = False  # the question as context; the papers' methods see the claim alone

    about = "BingCheck: claims in Bing Chat's answers with the web pages found (Miaoranmmm/SelfChecker)"
    labels = BINGCHECK
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        folder = path.is_dir()
        if not folder and re.match(r'\s*(?:\[|\{\s*"(?:claim|label)")', first_line(path)):
            yield from self._list(path)
            return
        files = answer_files(path) if folder else [path]
        if not files:
            raise UsageError("no .json or .json.gz file in the folder", where=str(path))
        for place, file in enumerate(files, 1):
            for answer in keyed_rows(file):
                yield from self._answer(answer, place if folder else answer.number)

    def _list(self, path: Path) -> Iterator[Example]:
        labels = None
        for row in rows(path):
            if others := row.fields.keys() - {"claim", "label"}:
                raise row.error(f"expected only claim and label, got also {', '.join(sorted(others))}")
            labels = labels or (TRUE_FALSE if row.as_label(row.fields.get("label"), TRUE_FALSE) else BINGCHECK)
            gold = row.label("label", labels)
            if self.binary and labels is BINGCHECK and gold not in _BINARY:
                continue
            claim_labels = TRUE_FALSE if self.binary else labels
            gold = gold if labels is claim_labels else _BINARY[gold]
            yield self.example(row, claim=row.claim("claim", labels=claim_labels), gold=gold)

    def _answer(self, row: Row, place: int) -> Iterator[Example]:
        context = row.text("query") if self.with_question else ""
        labels = TRUE_FALSE if self.binary else BINGCHECK
        checking = row.child("fact-checking")
        claims, queries = checking.texts("subclaims"), checking.texts("queries")
        conclusions, results = checking.child("subconclusions"), checking.child("search_results")
        for number, text in enumerate(claims, 1):
            gold = conclusions.label(text, BINGCHECK)
            if self.binary and gold not in _BINARY:
                continue
            query = queries[number - 1] if len(queries) == len(claims) else ""
            yield self.example(
                row,
                id=f"{row.name}.{number}",
                claim=checking.claim("subclaims", text, labels=labels, context=context),
                gold=_BINARY[gold] if self.binary else gold,
                passages=tuple(_pages(results.children(text), query)),
                response=row.name,
                row=place,
            )


def answer_files(folder: Path) -> list[Path]:
    """The answer files of a folder (``100_….json``, gzipped or not), ordered by number."""
    files = [file for file in folder.iterdir() if file.name.endswith((".json", ".json.gz"))]
    return sorted(files, key=lambda file: (int("0" + re.sub(r"\D.*", "", file.name)), file.name))


def _pages(results: tuple[Row, ...], query: str) -> Iterator[Passage]:
    """Pages with text; a page that could not be fetched has none."""
    for rank, page in enumerate(results, 1):
        text = printable_value("\n".join(page.texts("content")))
        if text.strip():
            yield Passage(title=page.optional("title"), url=page.optional("url"), query=query, rank=rank, text=text)


class FactCheckBench(Dataset, name="factcheck-bench"):
    """Reads the annotated answers: one example per checkworthy claim, with the evidence found for it.

    Opinions have no label and are dropped, as in the official count of 661 claims. A response's id is its row number.
    """

    binary: bool = False  # keeps only true and false claims, as FIRE does
    with_question: bool = False  # the question as context; the papers' methods see the claim alone

    about = "FactCheck-Bench: claims in ChatGPT's answers with web evidence (yuxiaw/Factcheck-GPT)"
    labels = FACTCHECK_BENCH
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            context = row.text("prompt") if self.with_question else ""
            sentences = row.child("sentences")
            for name in sentences.fields:
                yield from self._claims(row, sentences.child(name), name, context)

    def _claims(self, row: Row, sentence: Row, name: str, context: str) -> Iterator[Example]:
        labels = TRUE_FALSE if self.binary else FACTCHECK_BENCH
        claims = sentence.texts("claims")
        fields = ("claim_checkworthiness", "claims_factuality_label", "auto_evidence", "auto_evidence_url")
        columns = [sentence.items(field) for field in fields]
        for field, values in zip(fields, columns, strict=True):
            if len(values) != len(claims):
                raise sentence.field_error(field, f"a list of {len(claims)}, one per claim")
        for number, (text, kind, label, texts, urls) in enumerate(zip(claims, *columns, strict=True), 1):
            if kind == "opinion":
                continue
            gold = sentence.as_label(label, FACTCHECK_BENCH)
            if gold is None:
                raise sentence.field_error("claims_factuality_label", "true, false or 'unknown' for each claim")
            if self.binary and gold not in TRUE_FALSE.names:
                continue
            yield self.example(
                row,
                id=f"{row.number}.{name.removeprefix('sentence')}.{number}",
                claim=sentence.claim("claims", text, labels=labels, context=context),
                gold=gold,
                passages=_passages(sentence, texts, urls),
                response=str(row.number),
            )


def _passages(sentence: Row, texts: object, urls: object) -> tuple[Passage, ...]:
    """Search results of one claim; entries without text are dropped."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise sentence.field_error("auto_evidence", "a list of texts for each claim")
    if not isinstance(urls, list) or len(urls) != len(texts) or not all(isinstance(url, str) for url in urls):
        raise sentence.field_error("auto_evidence_url", "an address for each text of auto_evidence")
    return tuple(
        Passage(text=printable_value(text), url=url, rank=rank)
        for rank, (text, url) in enumerate(zip(texts, urls, strict=True), 1)
        if text.strip()
    )


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


class Felm(Dataset, name="felm"):
    """Reads the official JSON lines; skips segments without a letter or digit.

    A segment (FELM's own unit) has question and answer as context; a response (FIRE's) is true if all its segments are.
    """

    unit: Literal["segment", "response"] = "segment"
    about = "FELM: segments of ChatGPT's answers in five domains (hkust-nlp/felm)"
    labels = TRUE_FALSE
    metric = "macro-f1"

    def __post_init__(self) -> None:
        if self.unit not in ("segment", "response"):
            raise UsageError(f"unknown unit {self.unit!r} for FELM", hint="use segment or response")

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            domain = row.optional("domain")
            name = f"{domain}-{row.key('index')}" if domain else row.key("index")
            segments = row.texts("segmented_response")
            golds = _golds(row, len(segments))
            if self.unit == "response":
                claim = row.claim("response", labels=TRUE_FALSE)
                gold = "true" if all(gold == "true" for gold in golds) else "false"
                yield self.example(row, id=name, claim=claim, gold=gold, group=domain)
                continue
            context = f"Question: {row.text('prompt')}\nAnswer: {row.text('response')}"
            for place, (segment, gold) in enumerate(zip(segments, golds, strict=True), 1):
                if re.search(r"\w", segment):
                    yield self.example(
                        row,
                        id=f"{name}.{place}",
                        claim=row.claim("segmented_response", segment, labels=TRUE_FALSE, context=context),
                        gold=gold,
                        group=domain,
                        response=name,
                    )


def _golds(row: Row, length: int) -> list[str]:
    golds = [row.as_label(value, TRUE_FALSE) for value in row.items("labels")]
    if len(golds) != length or not golds or None in golds:
        raise row.field_error("labels", f"true or false for each of the {length} segments")
    return [gold for gold in golds if gold]


# The fields with the context, with the knowledge (withheld in the official evaluation), and with the two candidates.
_KINDS = {
    "qa": ("question", "knowledge", "right_answer", "hallucinated_answer"),
    "dialogue": ("dialogue_history", "knowledge", "right_response", "hallucinated_response"),
    "summarization": ("document", "document", "right_summary", "hallucinated_summary"),
}


class HaluEval(Dataset, name="halueval"):
    """Reads all four kinds of rows, recognised by their fields; the group is the kind.

    Each candidate of a pair is one example, the right one first. The claim is the text alone; its context is what the
    official evaluation shows (question, dialogue, document, user's request); the knowledge is a passage, so that only
    methods that read evidence see it. *yes* (hallucinated) means refuted.
    """

    question_in_claim: bool = False  # for qa: one text, as in dual-position debate
    about = "HaluEval: right and hallucinated answers, replies, summaries (RUCAIBox/HaluEval)"
    labels = HALLUCINATED
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            kind = next((name for name, fields in _KINDS.items() if set(fields[2:]) & row.fields.keys()), "")
            yield from self._pair(row, kind) if kind else [self._general(row)]

    def _pair(self, row: Row, kind: str) -> Iterator[Example]:
        context_field, knowledge, right, hallucinated = _KINDS[kind]
        context = row.text(context_field)
        passages = (Passage(text=printable_value(row.text(knowledge))),)
        for name, gold, field in (("right", "no", right), ("hallucinated", "yes", hallucinated)):
            if self.question_in_claim and kind == "qa":
                claim = row.claim(field, f"{context.strip()} {row.text(field).strip()}", labels=HALLUCINATED)
            else:
                claim = row.claim(field, labels=HALLUCINATED, context=context)
            yield self.example(row, id=f"{row.number}.{name}", claim=claim, gold=gold, passages=passages, group=kind)

    def _general(self, row: Row) -> Example:
        if "chatgpt_response" not in row.fields:
            kinds = "; ".join(", ".join((context, *candidates)) for context, _, *candidates in _KINDS.values())
            raise row.error(
                f"expected the fields of a HaluEval row, got {', '.join(row.fields) or 'none'}",
                hint=f"a row has {kinds}; or user_query, chatgpt_response, hallucination",
            )
        claim = row.claim("chatgpt_response", labels=HALLUCINATED, context=row.text("user_query"))
        gold = row.label("hallucination", HALLUCINATED)
        return self.example(row, id=row.key("ID"), claim=claim, gold=gold, group="general")
