"""The table of a run's claims."""

from __future__ import annotations

from collections.abc import Collection

from redargue.reports.load import SingleRun
from redargue.reports.phrases import label_of
from redargue.reports.table import Cell, Column, Link, Table, number

_CLAIM_SHOWN = 400  # characters of a claim in a table


def shortened_cell(claim: str) -> str:
    return claim if len(claim) <= _CLAIM_SHOWN else f"{claim[:_CLAIM_SHOWN]} …"


def run_table(run: SingleRun, shown: Collection[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for item, verdict in run.verdicts.items():
        label = label_of(verdict)
        sides = (sum(quote.found and quote.side == side for quote in verdict.quotes) for side in ("for", "against"))
        cell = Link(label, f"c-{item}") if item in shown else label
        found = (*sides, len(verdict.gaps), verdict.usage.calls)
        rows.append((item + 1, shortened_cell(verdict.claim.text), cell, verdict.shown_confidence, *found))
    counts = (number(title, ",") for title in ("Quotes for", "Quotes against", "Gaps", "Calls"))
    columns = (number("No."), Column("Claim", "long"), Column("Verdict"), number("Confidence", ".2f"), *counts)
    note = "“Not enough” does not mean that a claim is partly true."
    return Table("What was found for each claim", columns, tuple(rows), (note,))
