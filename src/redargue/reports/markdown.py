"""Reports as Markdown, in which text from documents and models is only text: no link, no picture, no HTML.

The report of a run as a Word document, for an editor's desk; needs the extra ``documents``.

Tables on a terminal or in a pipe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group
from rich.table import Table as Grid
from rich.text import Text

from redargue import words
from redargue.errors import UsageError
from redargue.evidence import Quote, Side
from redargue.registry import install
from redargue.reports import SingleRun, load_run, phrases
from redargue.reports.annotated_text import text_outcome, unchecked_table
from redargue.reports.folders import further_tables
from redargue.reports.overview import (
    counts_text,
    date_text,
    replay_command,
    risk_tables,
    run_facts,
    run_rows,
    run_table,
    title_of,
)
from redargue.reports.table import Column, Table
from redargue.sanitize import printable
from redargue.text import Citation
from redargue.verdicts import Verdict

_MARKS = re.compile(r"[\\`*_\[\]<>#|~!&$]")


def plain(words: str) -> str:
    """One line of text, escaped so that no markup in it takes effect.

    Escapes and code spans that a reader does not see break what some renderers turn into links by themselves:
    ``https://…``, ``www.…``, ``name@host``.
    """
    line = _MARKS.sub(r"\\\g<0>", " ".join(printable(words, lines=False).split()))
    line = re.sub(r"://", r":\\/\\/", line)
    line = re.sub(r"(?i)(www|xmpp|mailto)([.:])", r"\1\\\2", line)
    line = line.replace("@", "`@`")
    # neither a list item nor the underline of a heading
    return re.sub(r"^(\d+(?=[.)](?:\s|$)))?([-+=.)])(?![\d.])", r"\1\\\2", line)


def code(words: str) -> str:
    """Text in a code span that its content cannot close."""
    line = " ".join(printable(words, lines=False).split()) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def block(words: str) -> str:
    """Text in a code block that its content cannot close."""
    shown = printable(words)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return f"{fence}\n{shown}\n{fence}"


def table_markdown(table: Table) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    parts = [f"**{plain(table.title)}**"] if table.title else []
    rules = ("---:" if column.kind == "number" else "---" for column in table.columns)
    head = [line(plain(column.title) for column in table.columns), line(rules)]
    parts.append("\n".join([*head, *(line(map(plain, row)) for row in table.text_rows)]))
    return "\n\n".join([*parts, *map(plain, table.notes)])


def run_markdown(run: SingleRun) -> str:
    several, text, unread = len(run.verdicts) > 1, run.text, run.unread_files
    alone = len(run.manifest.claims) == 1 and not text
    parts = [f"# {plain(run.manifest.claims[0].text if alone else title_of(run))}"]
    if run.checked_on:
        parts.append(date_text(run))
    if several or run.unfinished:
        parts.append(plain(counts_text(run)))
    if several and not text:
        parts.append(table_markdown(run_table(run, ())))
    if text:
        parts.append(f"**{plain(text_outcome(run))}**")
    if unread:
        parts += [f"**{plain(phrases.unread_text(unread))}**", list_markdown(map(words.unread_file, unread))]
    if text:
        parts += tables_markdown((*risk_tables(run_rows(run)), unchecked_table(*text)))
    citations = run.citations
    for item, verdict in run.verdicts.items():
        claim = _claim(verdict, item + 1, citations.get(item))
        parts += claim[1:] if alone else claim
    parts += tables_markdown(further_tables(run))
    facts = list_markdown(f"{name}: {value}" for name, value in run_facts(run))
    return "\n\n".join([*parts, "## How it was done", facts, block(replay_command(run))]) + "\n"


def _claim(verdict: Verdict, number: int, citation: Citation | None) -> list[str]:
    parts = [f"## {number}. {plain(verdict.claim.text)}"]
    if citation:
        parts.append(f"Cites {code(citation.url)}: {plain(phrases.citation_text(citation))}")
    for side, title in ((Side.FOR, "Best case for"), (Side.AGAINST, "Best case against")):
        quotes = verdict.side(side)
        parts += [f"### {title}", "\n".join(map(_quote, quotes)) or "Nothing was quoted."]
    if neither := verdict.side(Side.CONTEXT):
        parts += ["### Related, for neither side", "\n".join(map(_quote, neither))]
    label = f"Error: {verdict.error.what}" if verdict.error else phrases.heading(verdict)
    said = filter(None, (plain(phrases.meaning_text(verdict)), plain(phrases.summary(verdict))))
    parts += ["### Verdict", f"**{plain(label)}**", *said]
    for title, gaps in phrases.gap_sections(verdict):
        parts += [f"### {title}", list_markdown(gaps) or phrases.without_gaps(verdict)]
    if lost := [quote for quote in verdict.quotes if not quote.found]:
        lines = (f"- ~~{plain(quote.text)}~~ quoted by {plain(quote.agent)}" for quote in lost)
        parts += ["### Quoted, but in none of the passages (does not count)", "\n".join(lines)]
    return parts


def _quote(quote: Quote) -> str:
    source = quote.source
    address = [code(source.url)] if source and source.url else []
    cited = [*map(plain, phrases.place_of(quote)), *address, phrases.QUOTE_STATUS[quote.status]]
    return f"- “{plain(quote.text)}” ({', '.join(cited)})"


def tables_markdown(tables: Iterable[Table | None]) -> list[str]:
    return [table_markdown(table) for table in tables if table and table.rows]


def list_markdown(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


_WIDTHS = {"number": 0.5, "long": 3.0}  # inches of a column, of a page of 11 inches


def run_docx(folder: Path) -> bytes:
    """The claims by risk, each beside its nearest sentence, then how the run was done; no model is called."""
    try:
        import docx
        from docx.enum.section import WD_ORIENT
    except ImportError:
        what = "a Word document is written with python-docx"
        raise UsageError(what, hint=install("documents")) from None
    run = load_run(folder)
    document: Any = docx.Document()
    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE
    section.page_width, section.page_height = section.page_height, section.page_width
    title = title_of(run)
    properties = document.core_properties
    properties.title, properties.author, properties.comments = title, "redargue", ""
    properties.created = properties.modified = datetime.now(UTC)
    document.add_heading(title, 0)
    if run.checked_on:
        document.add_paragraph(date_text(run))
    document.add_paragraph(printable(counts_text(run), lines=False))
    for line in (text_outcome(run) if run.text else "", phrases.unread_text(run.unread_files)):
        if line:
            document.add_paragraph().add_run(line).bold = True
    for file in run.unread_files:
        document.add_paragraph(words.unread_file(file), style="List Bullet")
    tables = [run_table(run, ())]
    if run.text:
        tables = [*risk_tables(run_rows(run)), unchecked_table(*run.text)]
    for table in (*tables, *further_tables(run)):
        _add(document, table)
    facts = (*run_facts(run), ("To reproduce it", replay_command(run)))
    _add(document, Table("How it was done", (Column(""), Column("", "long")), facts))
    content = BytesIO()
    document.save(content)
    return content.getvalue()


def _add(document: Any, table: Table) -> None:
    """A heading, the table with its first row repeated on each page, and its notes."""
    from docx.oxml import OxmlElement

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
        first._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
        for cell in first.cells:
            cell.paragraphs[0].runs[0].bold = True
    for note in table.notes:
        document.add_paragraph(printable(note, lines=False))


_UNLIMITED = 10_000  # characters per line where the output is not a terminal
_LONG = 60  # characters per line of a column of prose


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
            max_width=_LONG if column.kind == "long" else None,
            overflow="fold",
        )
    for row in table.text_rows:
        grid.add_row(*(Text(printable(cell, lines=False)) for cell in row))
    return grid
