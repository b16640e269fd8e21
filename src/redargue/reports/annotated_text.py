"""A text with its claims marked in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from redargue import words
from redargue.reports import SingleRun
from redargue.reports.phrases import label_of, outcome_text
from redargue.reports.table import Cell, Column, Table, cut
from redargue.text import outcome, unchecked_reasons
from redargue.text.extract import Extraction
from redargue.text.segment import Text
from redargue.verdicts import Verdict

WORST_FIRST = ("refuted", "error", "conflicting", "unsure", "not_enough", "supported")

Mark = TypeVar("Mark")


def segments(text: str, spans: Iterable[tuple[int, int, Mark]]) -> Iterator[tuple[str, Mark | None]]:
    """The whole text in pieces, each with the mark of its span; an overlap belongs to the earlier span."""
    position = 0
    for start, end, mark in sorted(spans, key=lambda span: span[:2]):
        start = max(start, position)
        yield text[position:start], None
        yield text[start:end], mark
        position = max(end, position)
    yield text[position:], None


_LINE_MARK = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+|>(?![ \t]*[$€£¥]?\d)[ \t]?)|^[ \t]*(?P<item>[-*+])(?=[ \t])", re.M)
# Bounded, because marks that nothing closes would otherwise be followed to the end of a long line, each one.
_LINK = re.compile(r"(!?\[)[^\]\n]{0,500}(\]\([^)\s]{0,2000}\))")
_PAIR = re.compile(  # not a fence of several backticks, nor a name such as __init__
    r"(?<![\w*_`])(?P<mark>\*\*\*?|__(?!\w+__)|\*|_(?!_)|`(?!`))(?=\S)(?P<inside>[^\n]{0,500}?\S)(?P=mark)(?![\w*_`])"
)


def without_markdown(text: str) -> dict[int, str]:
    """What is shown instead of the characters of Markdown's marks, by their offsets: nothing, or a list's bullet."""
    instead: dict[int, str] = {}
    for found in _LINE_MARK.finditer(text):
        if found["item"]:
            instead[found.start("item")] = "•"
        else:
            instead |= dict.fromkeys(range(*found.span()), "")
    for found in _LINK.finditer(text):
        instead |= dict.fromkeys((*range(*found.span(1)), *range(*found.span(2))), "")
    _pairs(text, 0, len(text), instead)
    return instead


def _pairs(text: str, start: int, end: int, instead: dict[int, str]) -> None:
    """Emphasis and code, also one within another."""
    for found in _PAIR.finditer(text, start, end):
        inside = found.span("inside")
        marks = (*range(found.start(), inside[0]), *range(inside[1], found.end()))
        instead.update(dict.fromkeys(marks, ""))
        if found["mark"] != "`":
            _pairs(text, *inside, instead)


def shown_parts(text: str, spans: Iterable[tuple[int, int, Mark]]) -> Iterator[tuple[str, Mark | None]]:
    """The pieces of a text for readers: without the marks of Markdown."""
    instead = without_markdown(text)
    position = 0
    for piece, mark in segments(text, spans):
        places = range(position, position + len(piece))
        position += len(piece)
        yield "".join(instead.get(at, text[at]) for at in places), mark


def readable_text(text: str) -> str:
    """A text without the marks of Markdown."""
    return "".join(part for part, _ in shown_parts(text, ()))


class _Sentence(NamedTuple):
    """A span with its claims (item and label) and their least favourable outcome, empty before one finishes.

    ``why``: of a sentence without a claim, whether it may state something all the same.
    """

    claims: tuple[tuple[int, str], ...]
    worst: str
    why: str = ""


def annotated_sentences(run: SingleRun, extraction: Extraction) -> list[tuple[int, int, _Sentence]]:
    spans = {}
    for sentence in extraction.unchecked:
        why = "not checked" if sentence.why.may_state else "no claim"
        spans[sentence.start, sentence.end] = _Sentence((), "unchecked", why)
    items_at: dict[tuple[int, int], list[int]] = {}
    for item, claim in enumerate(extraction.claims):
        items_at.setdefault((claim.start, claim.end), []).append(item)
    for span, items in items_at.items():
        claims = tuple((item, label_of(run.verdicts.get(item))) for item in items)
        outcomes = {_outcome(run.verdicts[item]) for item in items if item in run.verdicts}
        worst = next((name for name in WORST_FIRST if name in outcomes), "")
        spans[span] = _Sentence(claims, worst)
    return [(*span, sentence) for span, sentence in spans.items()]


def _outcome(verdict: Verdict) -> str:
    if verdict.error or verdict.unchecked:
        return "error"
    return "unsure" if verdict.unsure else str(verdict.meaning)


def text_outcome(run: SingleRun) -> str:
    if run.unfinished:
        claims = f"{run.unfinished} claim{'s have' if run.unfinished > 1 else ' has'} not finished"
        return f"{claims}: there is no result for the text yet."
    verdicts = list(run.verdicts.values())
    unread = unchecked_reasons(run.text[1].unchecked) if run.text else ()
    return outcome_text(outcome(verdicts, unread=bool(unread)), verdicts)


def unchecked_table(text: Text, extraction: Extraction) -> Table:
    """The sentences without a claim, each with the reason."""
    rows: list[tuple[Cell, ...]] = []
    for sentence in extraction.unchecked:
        said = cut(readable_text(text.text[sentence.start : sentence.end]), 400, " …")
        rows.append((f"{sentence.start}–{sentence.end}", said, words.unchecked(sentence.why)))
    titles = ("Sentence", "Reason")
    columns = (Column("Characters"), *(Column(title, "long") for title in titles))
    return Table("Sentences without a verdict", columns, tuple(rows))
