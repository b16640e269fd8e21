"""The rows of tables as sentences, each cell with the name of its column, because a chunk may lack the head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

LONGEST_HEAD = 60  # characters of the name of a column
WIDEST_TABLE = 64  # columns that a cell may span
MOST_REPEATED = 20  # times the text of a table, whose cells may span any number of rows and columns


class TableCell(NamedTuple):
    """A cell of a table, which may span several columns and rows."""

    words: str
    columns: int = 1
    rows: int = 1


def cells_spanned(written: str) -> int:
    """How many columns or rows a cell spans by its attribute; 1 where that is not a positive number."""
    return max(int(written), 1) if re.fullmatch(r"\s*[0-9]{1,5}\s*", written) else 1


def rows_of_cells(rows: Sequence[Sequence[TableCell]]) -> list[list[str]]:
    """The words of each row's cells, in all the rows and columns that a cell spans; of a cell without others, once."""
    written: list[list[str]] = []
    below: dict[int, TableCell] = {}  # by column, the rest of a cell that spans further rows
    for cells in rows:
        above, below = below, {}
        row: list[str] = []
        left = iter(cells)
        while len(row) < WIDEST_TABLE:
            at = len(row)
            if at in above:
                cell = above.pop(at)
            elif (following := next(left, None)) is not None:
                is_alone = len(cells) == 1 and not above and not row
                free = min(above, default=WIDEST_TABLE) - at
                cell = following._replace(columns=1 if is_alone else min(following.columns, free))
            elif above:
                cell = TableCell("")
            else:
                break
            row += [cell.words] * cell.columns
            if cell.rows > 1:
                rest = TableCell(cell.words, rows=cell.rows - 1)
                below |= dict.fromkeys(range(at, len(row)), rest)
        written.append([*row, *(cell.words for cell in left)])
    size = sum(len(cell.words) for cells in rows for cell in cells)
    if sum(len(words) for row in written for words in row) > MOST_REPEATED * size:
        return [[cell.words for cell in cells] for cells in rows]
    return written


def joined_heads(rows: Iterable[tuple[bool, list[str]]]) -> list[tuple[bool, list[str]]]:
    """The rows, each with whether it is a head; heads that follow each other are one, in which names are joined."""
    joined: list[tuple[bool, list[str]]] = []
    for is_head, row in rows:
        names = row
        if is_head and joined and joined[-1][0] and len(joined[-1][1]) == len(row):
            _, above = joined.pop()
            names = [name if name == over else f"{over} {name}".strip() for over, name in zip(above, row, strict=True)]
        joined.append((is_head, names))
    return joined


def names_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of a table without a marked head names its columns; of two columns, it may be a fact."""
    return len(rows[0]) > 2 and _is_head(rows[0], rows[1], ())


def is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row may name the columns of the others."""
    if len(rows) < 2 or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return False
    return max(map(len, rows[0])) <= LONGEST_HEAD and sum(map(bool, rows[0])) > len(rows[0]) / 2


def named_cells(head: Sequence[str], row: Sequence[str]) -> str:
    """A table's row as a sentence; cells beyond the head have no name, and empty ones are left out."""
    names = [*head, *[""] * (len(row) - len(head))]
    named = (f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell)
    joined = "; ".join(named)
    return f"{joined.removesuffix('.')}." if joined else ""


def sheet_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of a sheet as sentences; tables side by side, with an empty column between them, follow each other."""
    if not any(any(row) and any(after) for row, after in pairwise(rows)):  # a blank row below each ends no table
        rows = [row for row in rows if any(row)]
    filled = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    edges = [at for at, (left, right) in enumerate(pairwise(filled), 1) if right - left > 1]
    parts = [filled[begin:end] for begin, end in pairwise([0, *edges, len(filled)])]
    if min(map(len, parts)) < 2:  # the empty column only sets a column apart
        parts = [filled]
    for part in filter(None, parts):
        yield from named_rows([row[part[0] : part[-1] + 1] for row in rows])


def named_rows(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows of tables as sentences, each cell with the name of its column.

    The first row of several cells is the head. Below a blank row or a caption, another table may begin: it has its own
    head or, where it is not certain which row that is, no names, since those of the table above may be wrong.
    """
    head: Sequence[str] | None = None
    last: Sequence[str] = ()  # the row above, of those below the head
    blank = line = False  # whether one is above the row
    for row, after in pairwise([*rows, ()]):
        cells = [cell for cell in row if cell]
        if not cells:
            blank = True
        elif len(cells) == 1 and _is_line(row, head, last=not any(after)):
            yield cells[0]
            line = True
        elif head is None or ((blank or line) and _is_head(row, after, head)):
            yield from _without_rows(head, last)
            head, last = row, ()
            blank = line = False
        else:
            if blank and last and (line or not _goes_on(row, last, single=not any(after))):
                head = ()
            yield named_cells(head, row)
            last = row
            blank = line = False
    yield from _without_rows(head, last)


def _without_rows(head: Sequence[str] | None, last: Sequence[str]) -> Iterator[str]:
    if head and not last:
        yield "; ".join(filter(None, head))


def _is_line(row: Sequence[str], head: Sequence[str] | None, *, last: bool) -> bool:
    """Whether the only cell of a row is a caption or a note; at the end of two columns, one may just be empty."""
    text = "".join(row)
    if len(row) == 1 or ": " in text or text.endswith((".", ":", "!", "?")):
        return True
    return bool(row[0]) and (not last or head is None or sum(map(bool, head)) > 2)


def _is_head(row: Sequence[str], after: Sequence[str], head: Sequence[str]) -> bool:
    """Whether a row names the columns of those below it: it begins as the last head did, or has words above figures."""
    if max(map(len, row)) > LONGEST_HEAD or not any(after):
        return False
    if head and row[0] and row[0] == head[0]:
        return True
    above_figures = any(name and cell and cell_type(cell) != "words" for name, cell in zip(row, after, strict=False))
    return above_figures and all(cell_type(name) == "words" for name in row if name)


def _goes_on(row: Sequence[str], last: Sequence[str], *, single: bool) -> bool:
    """Whether a row below a blank one belongs to the table above: it has figures and years in the same columns."""
    types = [{cell_type(cell), cell_type(above)} for cell, above in zip(row, last, strict=False) if cell and above]
    return all(len(both) == 1 for both in types) and (single or any(both != {"words"} for both in types))


def cell_type(cell: str) -> str:
    if _YEAR.fullmatch(cell):
        return "year"
    return "figure" if _FIGURE.fullmatch(cell) else "words"


_FIGURE = re.compile(r"[\W_]*+\d[\d\W]*+\w{0,3}")  # "31,200", "£18.4m", "25 km"
_YEAR = re.compile(r"(?:19|20)\d\d")
