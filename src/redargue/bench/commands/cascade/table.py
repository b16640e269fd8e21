"""The thresholds of a fit as a table."""

from __future__ import annotations

from collections.abc import Iterable

from redargue.bench.reports.tables import SHARE
from redargue.methods.cascade.fit import DELTA, Fit, FitRow, lost, stop_of
from redargue.reports.table import DASH, Cell, Column, Table, number
from redargue.sanitize import counted


def fitted_thresholds(fit: Fit, targets: Iterable[float], *, by_loss: bool = False) -> Table:
    """The thresholds of a cascade for several target risks (or losses), and what they do to the claims of the fit."""
    last = (None,) * (len(fit.stages) - 1)
    rows: list[tuple[Cell, ...]] = []
    for target in targets:
        chosen = fit.at_loss(target) if by_loss else fit.at_risk(target)
        wrong = lost(fit.rows, chosen.thresholds) if by_loss else chosen.wrong
        shown = [DASH if value is None else f"{value:g}" for value in chosen.thresholds]
        rows.append((f"{target:g}", *shown, chosen.early, wrong, *right_and_calls(fit.rows, chosen.thresholds)))
    rows.append(("every stage", *[DASH] * len(last), 0, 0, *right_and_calls(fit.rows, last)))
    columns = (
        Column("Target loss" if by_loss else "Target risk"),
        *(Column(f"Threshold of the {stage}") for stage in fit.stages[:-1]),
        *(number(title, ",") for title in ("End early", "Lost by it" if by_loss else "Wrong among them")),
        number("Accuracy", SHARE),
        number("Calls per claim", ".1f"),
    )
    promised = (
        "at most the target's share of all claims gets a wrong label that the last stage would have had right"
        if by_loss
        else "at most the target's share of the verdicts before the last stage is wrong"
    )
    notes = (
        f"With probability {1 - DELTA:g} over the labelled claims, {promised}, for claims drawn as "
        "these were and the same models, prompts and corpus. Nothing is "
        "promised for the last stage. Each row holds by itself: choose the target before you see the table. "
        "A dash: the stage never stops. Accuracy and calls are of the fitted claims "
        "themselves: measure them on others.",
    )
    return Table(f"A cascade fitted on {counted(len(fit.rows), 'labelled claim')}", columns, tuple(rows), notes)


def right_and_calls(rows: tuple[FitRow, ...], thresholds: tuple[float | None, ...]) -> tuple[float, float]:
    """Accuracy and calls per claim of a cascade with these thresholds on recorded rows."""
    ends = [row[stop_of(row, thresholds)] for row in rows]
    return sum(end.right for end in ends) / len(ends), sum(end.calls for end in ends) / len(ends)
