"""The tables of a bench as files for a paper: CSV with plain numbers, and LaTeX (booktabs)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from redargue.bench.compare import Comparison
from redargue.bench.reports import tables
from redargue.bench.reports.frontier import frontier_table
from redargue.bench.reports.rounds import rounds_table
from redargue.errors import UsageError
from redargue.files import make_folder, replacing
from redargue.reports.table import Cell, Column, Link, Table
from redargue.sanitize import csv_cell

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "’": "'",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def publishable(comparison: Comparison) -> tuple[Table, ...]:
    """The tables with figures, in the order of the report."""
    confusions = (tables.confusion_table(at, row) for at, row in enumerate(comparison.rows))
    named = (table and table._replace(title=f"Confusion of {table.title}") for table in confusions)
    last = (frontier_table(comparison), rounds_table(comparison), tables.classes(comparison), *named)
    made = (*tables.results_table(comparison), tables.pairs(comparison), *last)
    return tuple(table for table in made if table and table.rows)


def write_tables(made: Iterable[Table], folder: Path) -> list[Path]:
    """Writes each table as ``NAME.csv`` and ``NAME.tex``; raises UsageError where the folder cannot be written."""
    written = []
    try:
        make_folder(folder)
        for table in made:
            name = re.sub(r"[^a-z0-9]+", "-", table.title.casefold()).strip("-")[:60]
            for suffix, text in ((".csv", table_csv(table)), (".tex", table_latex(table, name))):
                written.append(folder / f"{name}{suffix}")
                with replacing(written[-1]) as file:
                    file.write(text.encode())
    except OSError as error:
        what = f"cannot write tables to {str(folder)!r}: {error.strerror}"
        raise UsageError(what, where="--tables", hint="name another folder") from error
    return written


def table_csv(table: Table) -> str:
    """Numbers unrounded and without units; an interval has columns of its own, and what is not known is empty."""
    cells = list(zip(*table.rows, strict=True))
    wide = [any(_ends(cell) != ("", "") for cell in column) for column in cells]
    header: list[str] = []
    for column, has_interval in zip(table.columns, wide, strict=True):
        header += [column.title, *([f"{column.title}, low", f"{column.title}, high"] if has_interval else [])]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(csv_cell, header))
    for row in table.rows:
        values: list[str] = []
        for cell, has_interval in zip(row, wide, strict=True):
            values += [_plain(cell), *(_ends(cell) if has_interval else ())]
        writer.writerow(values)
    return text.getvalue()


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str | Link):
        return csv_cell(cell if isinstance(cell, str) else cell.text)
    return _number(cell if isinstance(cell, int | float) else cell.value)


def _ends(cell: Cell) -> tuple[str, str]:
    if cell is None or isinstance(cell, str | Link | int | float):
        return "", ""
    return _number(cell.low), _number(cell.high)


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def table_latex(table: Table, name: str) -> str:
    """A ``table`` float; it needs the package booktabs."""
    sides = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    rows = [_row(map(_escaped, (column.title for column in table.columns))), r"\midrule"]
    rows += [_row(map(_latex, table.columns, row)) for row in table.rows]
    notes = "\n".join(rf"\par\footnotesize {_escaped(note)}" for note in table.notes)
    lines = (
        "% \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\label{{tab:{name}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *filter(None, [notes]),
        r"\end{table}",
    )
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex(column: Column, cell: Cell) -> str:
    text = _escaped(column.text(cell))
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text) if column.is_number(cell) else text


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))
