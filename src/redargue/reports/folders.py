"""Folders other than runs that have reports, and what other packages add to the reports of runs.

A kind of folder is an entry of the group ``redargue.report_folders``: a module or object like :class:`FolderKind`. A
section is an entry of ``redargue.report_sections``: a function that makes a table of a run, or None where it has
nothing to say::

    [project.entry-points."redargue.report_sections"]
    sources = "my_package:sources"
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from redargue.errors import UsageError
from redargue.registry import Registry, a_function, an_instance, described
from redargue.reports import SingleRun
from redargue.reports.exchange import Signature
from redargue.reports.table import Column, Table

if TYPE_CHECKING:
    from jinja2 import Environment


class Wanted(NamedTuple):
    """What is asked of a report.

    Attributes:
        method: the system of a bench to review or queue; empty for the first.
        adjudicated: a completed queue to include.
        csv: a queue as CSV instead of JSON Lines.
        signature: required for claimreview.
        file: the file that a run checked, for sarif, junit and annotation.
        url: address of the annotated page.
    """

    format: str = "html"
    method: str = ""
    adjudicated: Path | None = None
    csv: bool = False
    signature: Signature | None = None
    file: Path | None = None
    url: str = ""


class FolderKind(Protocol):
    """Reports a kind of folder, such as that of a bench."""

    def is_kind(self, folder: Path) -> bool: ...

    def render(self, folder: Path, wanted: Wanted) -> str: ...

    def page(self, folder: Path, around: Environment, **layout: Any) -> str:
        """In the layout of the templates ``around``, which need the values ``layout``."""


kinds: Registry[FolderKind] = Registry(
    "kind of folder", group="redargue.report_folders", extra="lab", missing=an_instance("is_kind", "render", "page")
)
sections: Registry[Callable[[SingleRun], Table | None]] = Registry(
    "report section", group="redargue.report_sections", missing=a_function
)


def kind_of(folder: Path) -> str:
    """The name of a folder's kind; empty if it has none."""
    for name in kinds:
        with kinds.blamed(name):
            if kinds[name].is_kind(folder):
                return name
    return ""


def further_tables(run: SingleRun) -> tuple[Table, ...]:
    """The sections of other packages; one that cannot be made says why in its place."""
    return tuple(table for name in sections if (table := _section(name, run)))


def _section(name: str, run: SingleRun) -> Table | None:
    try:
        table = sections[name](run)
        if table is not None and not isinstance(table, Table):
            raise TypeError(f"it returned {type(table).__name__}, not a Table")
        return _shown(table) if table else None
    except (Exception, SystemExit) as error:  # of another package, whose mistake must not take the report away
        why = error.what if isinstance(error, UsageError) else described(error)
        return Table(f"The section {name!r} could not be made", (Column("Why", "long"),), ((why,),))


def _shown(table: Table) -> Table:
    """The table; raises an error where a row is of another length, or a cell of no type that is shown."""
    rows = tuple(map(tuple, table.rows))
    for row in rows:
        for column, cell in zip(table.columns, row, strict=True):
            column.text(cell)
    return table._replace(rows=rows)
