"""A published table with our figures beside the paper's."""

from __future__ import annotations

from redargue.bench.tables.comparison import ComparedTable
from redargue.reports.table import Cell, Column, Table


def published_table(compared: ComparedTable) -> Table:
    """A published table: the paper's row above ours, and the reason where ours has no figures."""
    missing = any(len(row.ours) < len(compared.columns) for row in compared.rows)
    rows: list[tuple[Cell, ...]] = []
    for row in compared.rows:
        if row.paper:
            rows.append((row.name, "paper", *row.paper, *(("",) if missing else ())))
        whole = len(row.ours) == len(compared.columns)
        figures = row.ours if whole else (None,) * len(compared.columns)
        reason = ("" if whole else row.ours[0],) if missing else ()
        rows.append(("" if row.paper else row.name, "ours", *figures, *reason))
    columns = (Column("Method", "name"), Column("Source"), *map(Column, compared.columns))
    title = f"{compared.label}. {compared.title} ({compared.name})"
    return Table(title, (*columns, *((Column("Not run"),) if missing else ())), tuple(rows), compared.notes)
