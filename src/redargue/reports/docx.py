"""The report of a run as a Word document, for an editor's desk; needs the extra ``documents``."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.registry import install
from redargue.reports.annotated_text import text_outcome, unchecked_table
from redargue.reports.folders import further_tables
from redargue.reports.load import load_run
from redargue.reports.overview import risk_tables, run_rows
from redargue.reports.phrases import label_counts
from redargue.reports.reproducibility import run_commands, run_facts, run_table
from redargue.reports.table import Column, Table
from redargue.sanitize import counted, printable

_WIDTHS = {"number": 0.5, "long": 3.0}  # inches of a column, of a page of 11 inches


def run_docx(folder: Path) -> bytes:
    """The claims by risk, each beside its nearest sentence, then how the run was done; no model is called."""
    try:
        import docx
        from docx.enum.section import WD_ORIENT
    except ImportError:
        raise UsageError("a Word document is written with python-docx", hint=install("documents")) from None
    run = load_run(folder)
    document: Any = docx.Document()
    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = section.page_height, section.page_width
    title = f"{'A text of ' if run.text else ''}{counted(len(run.verdicts), 'claim')}"
    properties = document.core_properties
    properties.title, properties.author, properties.comments = title, "redargue", ""
    properties.created = properties.modified = datetime.now(UTC)
    document.add_heading(title, 0)
    document.add_paragraph(f"{label_counts(run.verdicts.values()) or 'No claims'}.")
    if run.text:
        document.add_paragraph().add_run(text_outcome(run)).bold = True
    tables = risk_tables(run_rows(run)) if run.text else (run_table(run, ()),)
    for table in (*tables, *([unchecked_table(*run.text)] if run.text else []), *further_tables(run)):
        _add(document, table)
    facts = (*run_facts(run), *(("To reproduce it", command) for command in run_commands(run)))
    _add(document, Table("How it was done", (Column(""), Column("", "long")), facts))
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _add(document: Any, table: Table) -> None:
    """A heading, the table with its first row repeated on each page, and its notes."""
    if not table.rows:
        return
    document.add_heading(printable(table.title, lines=False), 1)
    made = document.add_table(rows=0, cols=len(table.columns), style="Table Grid")
    heads = tuple(column.title for column in table.columns)
    for row in (*([heads] if any(heads) else []), *table.text_rows):
        cells = made.add_row().cells
        for cell, text, column in zip(cells, row, table.columns, strict=True):
            cell.text = printable(text, lines=False)
            if column.kind in _WIDTHS:
                cell.width = int(_WIDTHS[column.kind] * 914_400)  # English metric units of an inch
    if any(heads):
        first = made.rows[0]
        first._tr.get_or_add_trPr().append(_repeated_head())
        for cell in first.cells:
            cell.paragraphs[0].runs[0].bold = True
    for note in table.notes:
        document.add_paragraph(printable(note, lines=False))


def _repeated_head() -> Any:
    from docx.oxml import OxmlElement

    return OxmlElement("w:tblHeader")
