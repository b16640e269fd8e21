"""BingCheck (Li et al. 2024, Self-Checker): Bing Chat's answers, their claims, and the web pages found for each.

Two forms:

* answers: a file (or a folder of such files) with ``{id: {"query", "response", "fact-checking": {"subclaims": [text,
  …], "queries": [text, …], "search_results": {claim: [{"title", "url", "content": [sentence, …]}, …]},
  "subconclusions": {claim: label}, …}, …}}``;
* FIRE's list: JSON lines ``{"claim", "label"}``, with four labels or two.

FIRE's rule for two labels: supported and partially supported are true, refuted is false, not supported is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.inputs.claims import BINGCHECK, TRUE_FALSE
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
