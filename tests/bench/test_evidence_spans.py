"""Quotations in the sentences of a data set's own documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.bench.official_metrics import by_sentence
from redargue.errors import UsageError
from redargue.evidence import Quote, QuoteStatus, Source


def quote(document: str, text: str) -> Quote:
    return Quote(text=text, status=QuoteStatus.VERIFIED, start=0, end=len(text), source=Source(document=document))


ABSTRACT = ["Cells divide. ", "They  divide twice a day in warm water.", "", "Cold water stops them."]


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    rows = [{"doc_id": 7, "title": "On cells", "abstract": ABSTRACT, "structured": False}]
    rows += [{"doc_id": 8, "title": "On dust", "abstract": ["Dust settles."], "structured": False}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("document", "text", "places"),
    [
        ("7", "Cells divide.", ["0"]),
        ("7", "twice a day", ["1"]),
        ("7", "Cells divide. They divide twice a day in warm water.", ["0", "1"]),
        ("7", "a day in warm water. Cold", ["1"]),
        ("7", "in warm water. Cold water stops them.", ["3"]),
        ("7", "They divide twice a day in warm water. Cold water stops them.", ["1", "3"]),
        ("7", "not there", [""]),
        ("9", "Cells divide.", [""]),
    ],
)
def test_a_quotation_stands_in_the_sentences_that_it_shares_most_with(
    abstracts: Path, document: str, text: str, places: list[str]
) -> None:
    given = quote(document, text)
    found = by_sentence("scifact", abstracts, [given])(given)
    assert [each.element for each in found] == places
    assert {each.document for each in found} == {document}


def test_wikipedia_pages_as_fever_has_them(tmp_path: Path) -> None:
    lines = "0\tOrvell is a town .\tTown\ttown\n1\tIt has a bridge .\n2\t\n3\tThe bridge is old ."
    for number, name in ((1, "Velt"), (2, "Orvell")):
        row = {"id": name, "text": "Orvell is a town . It has a bridge .", "lines": lines}
        (tmp_path / f"wiki-00{number}.jsonl").write_text(json.dumps(row) + "\n")
    given = quote("Orvell", "It has a bridge . The bridge is old .")
    found = by_sentence("fever", tmp_path, [given])(given)
    assert [(each.document, each.element) for each in found] == [("Orvell", "1"), ("Orvell", "3")]


def test_what_is_no_corpus_of_sentences_is_refused(abstracts: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus of sentences"):
        by_sentence("felm", abstracts, [])
    path = tmp_path / "claims.jsonl"
    path.write_text('{"doc_id": 1, "claim": "x"}\n')
    with pytest.raises(UsageError, match="abstract"):
        by_sentence("scifact", path, [])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no wiki-\*.jsonl"):
        by_sentence("fever", tmp_path / "empty", [])
