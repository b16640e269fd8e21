"""Tables on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from io import StringIO
from typing import TextIO

from rich.console import Console, Group
from rich.table import Table as Grid
from rich.text import Text

from redargue.reports.table import Table
from redargue.sanitize import printable

_UNLIMITED = 10_000  # characters per line where the output is not a terminal
LONG = 60  # characters per line of a column of prose


def print_tables(tables: Iterable[Table], *, file: TextIO | None = None) -> None:
    """Prints tables to standard output: folded to the width of a terminal, in full width in a pipe or a file."""
    console = Console(file=file or sys.stdout, highlight=False)
    unlimited = console.options.update(max_width=_UNLIMITED)
    for table in tables:
        if not console.is_terminal:
            print(table_text(table), file=console.file)
            continue
        width = console.measure(_grid(table), options=unlimited).maximum
        folded = width > console.width and table.columns[-1].kind == "long"
        console.print(_renderable(_prose_below(table) if folded else table), "")


def table_text(table: Table) -> str:
    """The table as plain text in full width, without trailing spaces."""
    text = StringIO()
    Console(file=text, width=_UNLIMITED, highlight=False, color_system=None).print(_renderable(table))
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


def _prose_below(table: Table) -> Table:
    """The table with its last column as notes, each after the first two cells of its row."""
    last = table.columns[-1].title
    notes = (f"{' '.join(row[:2])}, {last.lower()} {row[-1]}" for row in table.text_rows)
    rows = tuple(row[:-1] for row in table.rows)
    return Table(table.title, table.columns[:-1], rows, (*notes, *table.notes))


def _renderable(table: Table) -> Group:
    title = [Text(printable(table.title, lines=False), style="bold")] if table.title else []
    mark = "- " if len(table.notes) > 1 else ""
    notes = (Text(mark + printable(note, lines=False), style="dim") for note in table.notes)
    return Group(*title, _grid(table), *notes)


def _grid(table: Table) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        grid.add_column(
            Text(printable(column.title, lines=False)),
            justify="right" if column.kind == "number" else "left",
            max_width=LONG if column.kind == "long" else None,
            overflow="fold",
        )
    for row in table.text_rows:
        grid.add_row(*(Text(printable(cell, lines=False)) for cell in row))
    return grid
