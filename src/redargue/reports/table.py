"""Tables: typed columns, rows of values, notes. The terminal, Markdown and HTML writers all take this model."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

DASH = "–"


class _Estimate(Protocol):
    """A number with the ends of its interval, each None if it is not known; ``undefined`` says why there is none."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def undefined(self) -> str: ...


class Link(NamedTuple):
    """A cell that links to an anchor in the same document; only HTML shows the link."""

    text: str
    anchor: str


Cell: TypeAlias = str | int | float | _Estimate | Link | None


class Column(NamedTuple):
    """A column; ``unit`` precedes its numbers; ``name`` and ``long`` are wide, ``key`` is the letter of a system."""

    title: str
    kind: Literal["text", "name", "long", "number", "key"] = "text"
    format: str = ""
    unit: str = ""

    def text(self, cell: Cell) -> str:
        if cell is None:
            return DASH
        if isinstance(cell, str):
            return cell
        if isinstance(cell, Link):
            return cell.text
        if isinstance(cell, int | float):
            return self._number(cell)
        if cell.value is None:
            return f"undefined: {cell.undefined}"
        if cell.low is None or cell.high is None:
            return self._number(cell.value)
        return f"{self._number(cell.value)} ({self._number(cell.low)} to {self._number(cell.high)})"

    def is_number(self, cell: Cell) -> bool:
        """Whether the cell is set as a number: right-aligned and on one line."""
        if self.kind != "number" or isinstance(cell, str | Link):
            return False
        return cell is None or isinstance(cell, int | float) or cell.value is not None

    def _number(self, number: float) -> str:
        return f"{self.unit}{number:{self.format}}"


def cut(text: str, length: int, rest: str = "…") -> str:
    """At most so many characters of a text, followed by ``rest`` where it has more."""
    return text if len(text) <= length else text[:length] + rest


def letter(at: int) -> str:
    """The name of an entry in a list: A to Z, then a number."""
    return chr(ord("A") + at) if at < 26 else str(at + 1)


def number(title: str, format: str = "", *, unit: str = "") -> Column:  # noqa: A002
    return Column(title, "number", format, unit)


class Table(NamedTuple):
    """A table; ``notes`` say what a reader must know to read it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def text_rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(column.text(cell) for column, cell in zip(self.columns, row, strict=True)) for row in self.rows
        )
