"""A text with its claims marked in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from redargue.reports.load import SingleRun
from redargue.reports.phrases import label_of, outcome_text
from redargue.reports.table import Cell, Column, Table, number
from redargue.reports.tables import shortened
from redargue.text.extract import Extraction
from redargue.text.report import outcome
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


class Sentence(NamedTuple):
    """A span with its claims (item and label) and their least favourable outcome, empty before one finishes."""

    claims: tuple[tuple[int, str], ...]
    worst: str


def sentences(run: SingleRun, extraction: Extraction) -> list[tuple[int, int, Sentence]]:
    items_at: dict[tuple[int, int], list[int]] = {}
    for item, claim in enumerate(extraction.claims):
        items_at.setdefault((claim.start, claim.end), []).append(item)
    spans = []
    for (start, end), items in items_at.items():
        verdicts = [run.verdicts.get(item) for item in items]
        claims = tuple((item, label_of(verdict)) for item, verdict in zip(items, verdicts, strict=True))
        spans.append((start, end, Sentence(claims, _worst(verdicts))))
    return spans


def _worst(verdicts: Sequence[Verdict | None]) -> str:
    names = {
        "error" if verdict.error or verdict.unchecked else "unsure" if verdict.unsure else str(verdict.meaning)
        for verdict in verdicts
        if verdict
    }
    return next((name for name in WORST_FIRST if name in names), "")


def text_outcome(run: SingleRun) -> str:
    if run.unfinished:
        claims = f"{run.unfinished} claim{'s have' if run.unfinished > 1 else ' has'} not finished"
        return f"{claims}: there is no result for the text yet."
    verdicts = list(run.verdicts.values())
    sentences = run.text[1].unchecked if run.text else ()
    return outcome_text(outcome(verdicts, sentences), verdicts)


def text_table(run: SingleRun, text: Text, extraction: Extraction) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            item + 1,
            f"{claim.start}–{claim.end}",
            shortened(text.text[claim.start : claim.end]),
            shortened(claim.claim),
            label_of(run.verdicts.get(item)),
        )
        for item, claim in enumerate(extraction.claims)
    )
    columns = (
        number("No."),
        Column("Characters"),
        Column("The text says", "long"),
        Column("Claim", "long"),
        Column("Verdict"),
    )
    return Table("Claims in the text", columns, rows, (text_outcome(run),))
