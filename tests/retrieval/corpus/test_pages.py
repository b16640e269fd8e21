"""A quotation from a document with pages says on which one it begins."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pypdf
import pytest

from redargue.cli.app import run
from redargue.evidence import Passage
from redargue.quotes import find_quote
from redargue.retrieval.corpus.ingest import read_file
from retrieval.corpus.words import Opener
from support.files import pdf

LIT = "The lighthouse at Cape Ansel was first lit in 1871."


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A PDF file of four pages; the second is empty, the last has the sentence."""
    writer = pypdf.PdfWriter()
    for text in ("Bread is made of flour.", "", "Water boils at 100 degrees. " * 120, LIT):
        writer.append(io.BytesIO(pdf(text)))
    file = tmp_path / "book.pdf"
    with file.open("wb") as out:
        writer.write(out)
    return file


def test_a_quotation_of_a_pdf_has_its_page_and_file(book: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["ground", "--answer", LIT, "--context", str(book), "--method", "single-reader", "--no-record", "-q"]
    assert run([*command, "--json"]) == 0
    (claim,) = json.loads(capfd.readouterr().out)["claims"]
    quote = claim["verdict"]["quotes"][0]
    assert (quote["page"], quote["source"]["document"]) == (4, str(book))
    assert run(command) == 0
    assert f"{book.name}, page 4" in " ".join(capfd.readouterr().out.split())


@pytest.mark.slow
def test_a_pdf_of_several_pages_is_checked_as_a_text(book: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["ground", "--answer", str(book), "--context", LIT, "--method", "single-reader", "--no-record", "--json"])
        == 0
    )
    report = json.loads(capfd.readouterr().out)
    assert "\f" not in report["text"]
    assert all(report["text"][claim["start"] : claim["end"]] == claim["stated"] for claim in report["claims"])


def test_headings_of_a_pdf_are_apart_from_the_sentence_below(tmp_path: Path) -> None:
    lines = [
        "It is old.",
        "2 Depth",
        "The harbour of Skarn has a depth of 6.5 metres.",
        "The head of the large and",
        "Old Port agrees.",
    ]
    (tmp_path / "plan.pdf").write_bytes(pdf(") Tj 0 -16 Td (".join(lines)))
    (document,) = read_file(tmp_path / "plan.pdf")
    assert document.text == "\n".join([*lines[:2], "", *lines[2:]])  # type: ignore[union-attr]


def test_a_corpus_knows_the_pages_of_its_documents(book: Path, tmp_path: Path, opened: Opener) -> None:
    (document,) = read_file(book)
    text = tmp_path / "plain.txt"
    text.write_text("Bread is made of rye in Orvell.")
    (plain,) = read_file(text)
    corpus = opened()
    corpus.add([document, plain])  # type: ignore[list-item]
    for search in (corpus.search, corpus.search_keywords):
        found = search(LIT, 1)[0]
        assert found.page in (3, 4)  # a passage may begin before the sentence
        assert find_quote(LIT, (found,)).page == 4
        assert search("flour", 1)[0].page == 1
        assert search("rye in Orvell", 1)[0].page == 0


def test_pages_are_counted_from_where_a_passage_begins() -> None:
    assert [Passage(text="a\fb\fc", page=page).page_at(4) for page in (0, 1, 7)] == [0, 3, 9]
