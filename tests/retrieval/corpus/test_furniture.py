"""What the readers of files leave out, and what they take from it."""

from __future__ import annotations

import io
from pathlib import Path

import pypdf

from redargue.retrieval.corpus.documents import Document, sentence_spans
from redargue.retrieval.corpus.ingest import read_file
from redargue.retrieval.corpus.markup import read_markdown
from redargue.retrieval.corpus.running_lines import without_running_lines
from support.files import pdf


def page(number: int, *lines: str) -> str:
    return "\n".join([f"Kestrel Motors  Annual Report {number}", *lines, f"Page {number} of 3", "© Kestrel Motors plc"])


def test_running_titles_and_page_numbers_are_left_out() -> None:
    pages = [page(1, "Sales rose."), page(2, "Profit fell.", "Debt fell."), page(3, "Staff grew.")]
    assert without_running_lines(pages) == ["Sales rose.", "Profit fell.\nDebt fell.", "Staff grew."]


def test_a_line_that_states_something_stays_where_it_is_first() -> None:
    pages = ["The figures were audited.\nSales rose.", "The figures were audited.\nProfit fell."]
    assert without_running_lines(pages) == ["The figures were audited.\nSales rose.", "Profit fell."]


def test_the_only_page_and_lines_within_pages_stay() -> None:
    assert without_running_lines(["Report 1\nSales rose."]) == ["Report 1\nSales rose."]
    middle = "one\ntwo\nthree\nTotal sales\nfour\nfive\nsix"
    pages = [middle, middle.translate(str.maketrans("oe", "ua"))]
    assert all("Tutal" in page or "Total sales" in page for page in without_running_lines(pages))


def test_a_pdf_is_read_without_its_running_lines(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter()
    for number, text in enumerate(("Sales rose.", "Profit fell.", "Staff grew."), 1):
        content = f"Annual Report {number}) Tj 0 -20 Td ({text}"
        writer.append(io.BytesIO(pdf(content)))
    file = tmp_path / "report.pdf"
    with file.open("wb") as out:
        writer.write(out)
    (document,) = read_file(file)
    assert isinstance(document, Document)
    assert "Annual" not in document.text
    assert [each.strip() for each in document.text.split("\f")] == ["Sales rose.", "Profit fell.", "Staff grew."]


def test_front_matter_gives_title_and_date_and_is_left_out_of_the_text() -> None:
    text = '---\ntitle: "A new plant"\ndate: 2026-05-12\ndraft: false\n---\n\n# Kestrel\nSales rose.\n'
    assert read_markdown(text) == {
        "text": "# Kestrel\nSales rose.\n",
        "title": "A new plant",
        "published": "2026-05-12",
    }
    assert read_markdown("# Kestrel\nSales rose.") == {"text": "# Kestrel\nSales rose.", "title": "Kestrel"}


def test_a_rule_is_not_front_matter() -> None:
    assert read_markdown("Sales rose.\n\n---\n\ntitle: none\n")["text"].startswith("Sales rose.")
    assert read_markdown("---\nSales rose.")["text"] == "---\nSales rose."


def test_rows_of_a_table_have_the_names_of_their_columns() -> None:
    text = "Prices:\n\n| Ticket | Price |\n|---|---:|\n| Adult | €9 |\n| Child | |\n\nThat is all."
    assert read_markdown(text)["text"] == "Prices:\n\nTicket: Adult; Price: €9.\nTicket: Child.\n\nThat is all."


def test_a_table_in_code_stays_as_it_is() -> None:
    text = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"
    assert read_markdown(text)["text"] == text


def test_each_row_of_a_table_is_a_sentence_of_its_own() -> None:
    rows = ["days: Sunday; last train: 21:12.", "days: Saturday; last train: 23:12."]
    text = "\n".join(["The timetable is below.", *rows, "It is valid from June."])
    assert [text[start:end] for start, end in sentence_spans(text)] == text.split("\n")


def test_a_row_is_not_split_between_its_cells() -> None:
    rows = ["Ship: MV Halla; Passengers: 420; Cars: 80.", "Ship: MV Orm; Built: in 1998. Refitted in 2014; Cars: 60."]
    text = "\n".join(["The fleet has two ships; both are new.", *rows])
    assert [text[start:end] for start, end in sentence_spans(text)][-2:] == rows
