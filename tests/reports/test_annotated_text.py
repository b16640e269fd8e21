"""Spans of a text, in order and without losing or repeating a character."""

from __future__ import annotations

from redargue.evidence import Quote, QuoteStatus
from redargue.reports.annotated_text import segments
from redargue.reports.html.debate import answer


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
