"""Spans of a text, in order and without losing or repeating a character."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from lxml import html  # type: ignore[import-untyped]

from redargue.claims import Claim
from redargue.evidence import Quote, QuoteStatus, Side, Source
from redargue.reports.annotated_text import readable_text, segments, shown_parts
from redargue.reports.debate import answer
from redargue.reports.render import render
from redargue.runs.folders import runs_folder
from redargue.text.segment import MAX_LENGTH
from support.reported import R, S, debated, written


def test_segments_hold_the_whole_text_once_whatever_spans_overlap() -> None:
    text = "0123456789"
    for spans in (
        [],
        [(0, 10, "a")],
        [(1, 8, "a"), (2, 4, "b")],
        [(1, 5, "a"), (3, 8, "b")],
        [(5, 6, "b"), (1, 3, "a")],
    ):
        assert "".join(part for part, _ in segments(text, spans)) == text


def test_an_overlap_belongs_to_the_earlier_span_and_every_mark_is_kept() -> None:
    marked = [part for part in segments("0123456789", [(1, 5, "a"), (3, 8, "b"), (4, 6, "c")]) if part[1]]
    assert marked == [("1234", "a"), ("567", "b"), ("", "c")]


def test_of_two_quotations_that_overlap_in_an_answer_the_earlier_is_marked_and_the_other_listed() -> None:
    first, second, elsewhere = (
        Quote(text=words, status=QuoteStatus.NOT_FOUND, agent="a") for words in ("one two", "two three", "never said")
    )
    shown = answer("He said one two three.", (second, first, elsewhere))
    assert [part for part, quote in shown.parts if quote] == ["one two"]
    assert shown.elsewhere == (second, elsewhere)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A **bold *and* slanted** title", "A bold and slanted title"),
        ("- one\n* two", "• one\n• two"),
        ("> said `code *here*` and [a page](https://example.org/x_y_z)", "said code *here* and a page"),
        ("2 * 3 * 4, snake_case_name, #1, 5 ** 2, a_b and c_d", "2 * 3 * 4, snake_case_name, #1, 5 ** 2, a_b and c_d"),
        ("**not closed", "**not closed"),
        ("__init__ and ```x``` and __two words__", "__init__ and ```x``` and two words"),
    ],
)
def test_readers_see_no_marks_of_markdown(text: str, shown: str) -> None:
    assert readable_text(text) == shown


def test_marks_are_left_out_of_a_span_without_moving_it() -> None:
    text = "# Title\n\nThe **bridge** opened. It is red."
    spans = [(9, 31, "first"), (32, 42, "second")]
    parts = list(shown_parts(text, spans))
    assert parts == [
        ("Title\n\n", None),
        ("The bridge opened.", "first"),
        (" ", None),
        ("It is red.", "second"),
        ("", None),
    ]


def test_a_report_lists_sentences_that_were_not_checked_with_the_reason(tmp_path: Path) -> None:
    claim, why = Claim(text="It is red."), "the embedded models cannot read tables"
    unchecked = [
        {"start": 11, "end": 24, "why": {"reason": "table"}},
        {"start": 25, "end": 33, "why": {"reason": "subjective"}},
    ]
    text = {
        "text": "It is red. Wer weiß das? Lovely!!", "kind": "text", "context": "",
        "claims": [{"claim": claim.text, "start": 0, "end": 10}], "unchecked": unchecked,
    }  # fmt: skip
    folder = written(tmp_path / "run", [claim], debated(0, claim, R, "a page", confidence=0.5), text=text)
    page = html.document_fromstring(render(folder))
    counts = "Refuted: 1. 1 sentence was not checked; 1 states nothing that can be checked."
    assert page.xpath("string(//h1/following-sibling::p[not(@class)][1])") == counts
    (table,) = page.xpath("//table[caption='Sentences without a verdict']")
    rows = [[cell.text_content() for cell in row] for row in table.xpath(".//tbody/tr")]
    assert rows == [["11–24", "Wer weiß das?", why], ["25–33", "Lovely!!", "subjective"]]
    assert [mark.text for mark in page.xpath("//mark[@class='unchecked']")] == ["Wer weiß das?", "Lovely!!"]
    marked = page.xpath("//mark[@class='unchecked']/following-sibling::span[1]/text()")
    assert marked == ["[not checked]", "[no claim]"]
    assert page.xpath("//tr[th='Confidence']/td/text()") == ["0.50"]
    assert f"| 11–24 | Wer weiß das? | {why} |" in render(folder, "md")


def test_a_quotation_has_its_file_and_page_and_a_report_no_folder_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    claim = Claim(text="It is red.")
    source = Source(document=str(tmp_path / "papers" / "report.pdf"), title="A report")
    quote = Quote(
        text="red", status=QuoteStatus.VERIFIED, start=0, end=3, passage="0" * 64, source=source, side=Side.FOR, page=3
    )
    folder = written(runs_folder() / "one", [claim], debated(0, claim, S, "a page", quotes=(quote,)))
    assert "A report · papers/report.pdf · page 3 · undated" in render(folder)
    assert "(A report, papers/report.pdf, page 3, found word for word)" in render(folder, "md").replace("\\", "")
    assert str(tmp_path) not in render(folder)
    assert "redargue replay one" in render(folder)


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["_a ", "[a", "![a ", "`a ", "**a *b "])
def test_marks_that_nothing_closes_take_no_longer_than_their_text_is_long(mark: str) -> None:
    text = (mark * MAX_LENGTH)[:MAX_LENGTH]
    began = time.process_time()
    assert readable_text(text) == text
    assert time.process_time() - began < 30
