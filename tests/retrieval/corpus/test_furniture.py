"""What the readers of files leave out, and what they take from it."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pypdf
import pytest

from redargue.retrieval.corpus.documents import Document, sentence_spans
from redargue.retrieval.corpus.ingest import read_file
from redargue.retrieval.corpus.markup import front_matter_end, read_markdown
from redargue.retrieval.corpus.pdf_lines import joined_words, with_whole_sentences, without_running_lines
from support.files import pdf
from support.growth import grows_with_the_square


def page(number: int, *lines: str) -> str:
    return "\n".join([f"Kestrel Motors  Annual Report {number}", *lines, f"Page {number} of 3", "© Kestrel Motors plc"])


def test_running_titles_and_page_numbers_are_left_out() -> None:
    pages = [page(1, "Sales rose."), page(2, "Profit fell.", "Debt fell."), page(3, "Staff grew.")]
    assert without_running_lines(pages) == ["Sales rose.", "Profit fell.\nDebt fell.", "Staff grew."]


@pytest.mark.parametrize(
    "titles",
    [
        [f"Report 2024 | {page}" for page in range(1, 11)],
        [f"Page {page} of 10" for page in range(1, 11)],
        [f"- {page} -" for page in range(17, 27)],  # of a volume
        ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"],
        ["i", "ii", "iii", "iv", "1", "2", "3", "4", "5", "6"],  # front matter has its own
        [f"Manual {chapter}-{page}" for chapter in (1, 2) for page in range(1, 6)],
    ],
)
def test_a_number_that_counts_the_pages_is_left_out_with_its_title(titles: list[str]) -> None:
    bodies = [f"It {word} here." for word in "was had is did can may ran sat ate won".split()]
    assert without_running_lines([f"{title}\n{body}" for title, body in zip(titles, bodies, strict=True)]) == bodies
    assert without_running_lines([f"{body}\n{title}" for title, body in zip(titles, bodies, strict=True)]) == bodies


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Room 1: 80 euros", "Room 2: 95 euros"),
        ("2020 8,120 1,970", "2021 11,340 3,050"),
        ("2020 500", "2021 500"),
        ("On 1 May it costs 80 euros.", "On 2 May it costs 80 euros."),
    ],
)
def test_rows_of_a_table_that_goes_on_the_next_page_stay(first: str, second: str) -> None:
    pages = [f"Prices\n{first}", f"{second}\nBreakfast is free."]
    assert without_running_lines(pages) == pages


def test_a_row_at_the_bottom_and_one_at_the_top_are_no_running_title() -> None:
    words = "one two three four five six".split()
    pages = ["\n".join([*words, "Room 1: 80 euros"]), "\n".join(["Room 2: 80 euros", *reversed(words)])]
    kept = without_running_lines(pages)
    assert "Room 1: 80 euros" in kept[0]
    assert "Room 2: 80 euros" in kept[1]


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
    for between in ("\nNote: sales rose.\n\nProfit fell.\n", "Note: sales rose.\n", "note: none\nProfit fell.\n"):
        assert read_markdown(f"---\n{between}---\nStaff grew.")["text"] == f"---\n{between}---\nStaff grew."


def test_front_matter_has_lists_comments_and_empty_lines() -> None:
    fields = "title: Kestrel\ntags:\n- sales\n  - profit\n\n# draft\nauthors: [\n  A,\n]\nog.image: x.png\n"
    assert read_markdown(f"---\n{fields}---\nSales rose.") == {"text": "Sales rose.", "title": "Kestrel"}
    windows = f"---\n{fields}---\n".replace("\n", "\r\n")
    assert front_matter_end(f"{windows}Sales rose.") == len(windows)


def test_rows_of_a_table_have_the_names_of_their_columns() -> None:
    text = "Prices:\n\n| Ticket | Price |\n|---|---:|\n| Adult | €9 |\n| Child | |\n\nThat is all."
    assert read_markdown(text)["text"] == "Prices:\n\nTicket: Adult; Price: €9.\nTicket: Child.\n\nThat is all."


def test_comments_of_markdown_are_left_out() -> None:
    text = "The port is large.\n\n<!-- TODO: it lost\n5 million euros. -->\nIt is <!-- not --> old --> and <!-- new.\n"
    assert read_markdown(text)["text"] == "The port is large.\n\n\nIt is  old --> and <!-- new.\n"
    assert not grows_with_the_square(read_markdown, "<!-- a" * 100_000)


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


def test_a_line_of_prose_with_two_labels_is_no_row() -> None:
    prose = "The port employs 900 people. She said: the quay is safe; the mayor said: it is not. The café closed."
    found = [prose[start:end] for start, end in sentence_spans(prose)]
    assert [each.partition(" ")[0] for each in found] == ["The", "She", "The"]
    row = "Approx. cost: 9 euros; No. of seats: 40."
    assert list(sentence_spans(row)) == [(0, len(row))]


def test_the_mark_of_a_footnote_ends_a_sentence_after_a_word_of_three_letters() -> None:
    text = "The hall is at Tarn Bay.1\nThe hall is in vol.2 The fleet and fig.3 The quay."
    assert [text[start:end] for start, end in sentence_spans(text)] == text.split("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ex-\nport cable is long.", "The export\ncable is long."),
        ("It lies on the main-\nland.\n3 People", "It lies on the mainland.\n3 People"),
        ("It pays a long-\nterm loan.", "It pays a long-term\nloan."),
        ("The Sulaweb-\nsite is new. It is Sula-website.", "The Sulawebsite\nis new. It is Sula-website."),
        ("A micro-\ntidal basin. Most are micro-tidal.", "A micro-tidal\nbasin. Most are micro-tidal."),
        ("The desalin-\nation of water.", "The desalination\nof water."),
        ("A state-of-\nthe-art plant.", "A state-of-the-art\nplant."),
        ("The UK-\nbased firm, in mid-\nAugust.", "The UK-based\nfirm, in mid-August.\n"),
        ("The pre-\nand post-war years.", "The pre-\nand post-war years."),
        ("From 2024-\n25 it fell –\nslowly.", "From 2024-\n25 it fell –\nslowly."),
        ("A tur\u00ad\nbine.", "A turbine.\n"),
    ],
)
def test_a_word_that_the_end_of_a_line_divides_is_joined(text: str, expected: str) -> None:
    assert joined_words(text).rstrip("\n") == expected.rstrip("\n")


def test_a_sentence_that_the_end_of_a_page_divides_is_on_the_first_of_them() -> None:
    first = "Sales rose in the year.\nThe difference is due to the weather of the spring and to a second"
    second = "campaign of pile driving in the autumn. Trial operation began in May.\n4 Risks"
    moved = with_whole_sentences([first, second])
    assert moved == [f"{first}\ncampaign of pile driving in the autumn.", "Trial operation began in May.\n4 Risks"]
    dated = with_whole_sentences(
        [f"{first[:40]}\nThe samples were taken and inspected there on", "13 March 2025. It is so."]
    )
    assert dated[1] == "It is so."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Sales rose in the year.", "campaign of pile driving. It is so."),  # what it begins with is no rest
        ("The turbines were built in the yard\nTable 3", "total sales of 3. It is so."),
        ("The turbines were built in the yard of Invermore", "Risks\nIt is so."),  # a heading
        ("The turbines were built in the yard", "so " * 900),  # not the end of a sentence
        ("", "so it is. It is so."),
    ],
)
def test_a_page_that_begins_anew_keeps_its_text(first: str, second: str) -> None:
    assert with_whole_sentences([first, second]) == [first, second.strip()]


def test_a_heading_at_the_top_is_apart_from_the_first_sentence(tmp_path: Path) -> None:
    lines = ["Halvorsen Tidal plc", "Annual report and accounts 2025"]
    sentence = "Halvorsen Tidal was founded in 2009 by the engineer Ingrid Halvorsen, who leads it."
    file = tmp_path / "report.pdf"
    file.write_bytes(pdf(") Tj 0 -20 Td (".join([*lines, sentence])))
    (document,) = read_file(file)
    assert isinstance(document, Document)
    assert [" ".join(document.text[a:b].split()) for a, b in sentence_spans(document.text)][-1] == sentence


@pytest.mark.slow
def test_dividing_lines_and_pages_takes_time_in_proportion_to_the_text() -> None:
    began = time.process_time()
    for part in ("a-\n", "ab-", "word-\nword ", "a ", "\n", "-\n"):
        joined_words(part * (200_000 // len(part)))
        with_whole_sentences([part * (20_000 // len(part))] * 10)
    assert time.process_time() - began < 20
