"""Reports as Markdown, in which text from documents and models is only text: no link, no picture, no HTML.

The report of a run as a Word document, for an editor's desk; needs the extra ``documents``.

Tables on a terminal or in a pipe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO, StringIO
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

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
from redargue.reports.table import Table, cut
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


class _Block(NamedTuple):
    """A heading, a paragraph or an item of a list.

    Attributes:
        spans: its text in pieces, each with its style: ``""``, ``bold``, ``strike``, ``code``, or ``ours``, which needs
            no escapes.
        level: of a heading, from 1; 0 for other kinds.
    """

    kind: Literal["heading", "text", "item", "command"]
    spans: tuple[tuple[str, str], ...]
    level: int = 0


def _heading(level: int, said: str) -> _Block:
    return _Block("heading", ((said, ""),), level)


def _text(said: str, style: str = "") -> _Block:
    return _Block("text", ((said, style),))


def _items(lines: Iterable[str]) -> Iterator[_Block]:
    return (_Block("item", ((line, ""),)) for line in lines)


def _title(run: SingleRun) -> str:
    return title_of(run) if _of_several(run) else run.manifest.claims[0].text


def _of_several(run: SingleRun) -> bool:
    return run.text is not None or len(run.manifest.claims) != 1


def _report(run: SingleRun) -> Iterator[_Block | Table]:
    """What the report says, for writers of any format."""
    of_several, text, unread = _of_several(run), run.text, run.unread_files
    yield _heading(1, _title(run))
    if run.checked_on:
        yield _text(date_text(run))
    if of_several:
        yield _text(counts_text(run))
    if len(run.verdicts) > 1 and not text:
        yield run_table(run, ())
    if text:
        yield _text(text_outcome(run), "bold")
    if unread:
        yield _text(phrases.unread_text(unread), "bold")
        yield from _items(map(words.unread_file, unread))
    if text:
        yield from (*risk_tables(run_rows(run)), unchecked_table(*text))
    citations = run.citations
    for item, verdict in run.verdicts.items():
        if of_several:
            yield _Block("heading", ((f"{item + 1}.", "ours"), (f" {verdict.claim.text}", "")), 2)
        yield from _claim(verdict, citations.get(item), 3 if of_several else 2)
    yield from further_tables(run)
    yield _heading(2, "How it was done")
    yield from _items(f"{name}: {value}" for name, value in run_facts(run))
    yield _Block("command", ((replay_command(run), ""),))


def _claim(verdict: Verdict, citation: Citation | None, level: int) -> Iterator[_Block]:
    if citation:
        spans = ("Cites ", ""), (citation.url, "code"), (f": {phrases.citation_text(citation)}", "")
        yield _Block("text", spans)
    sides = (
        (Side.FOR, "Best case for"),
        (Side.AGAINST, "Best case against"),
        (Side.CONTEXT, "Related, for neither side"),
    )
    for side, title in sides:
        if (quotes := verdict.side(side)) or side is not Side.CONTEXT:
            yield _heading(level, title)
            yield from map(_quote, quotes) if quotes else [_text("Nothing was quoted.")]
    yield _heading(level, "Verdict")
    yield _text(f"No verdict: {verdict.error.what}" if verdict.error else phrases.heading(verdict), "bold")
    hint = f"→ {verdict.error.hint}" if verdict.error and verdict.error.hint else ""
    yield from map(_text, filter(None, (hint, phrases.meaning_text(verdict), phrases.summary(verdict))))
    for title, gaps in phrases.gap_sections(verdict):
        yield _heading(level, title)
        yield from _items(gaps) if gaps else [_text(phrases.without_gaps(verdict))]
    if lost := phrases.lost_quotes(verdict):
        yield _heading(level, "Quoted, but in none of the passages (does not count)")
        for quote in lost:
            yield _Block("item", ((quote.text, "strike"), (f" quoted by {quote.agent}", "")))


def _quote(quote: Quote) -> _Block:
    place = f"“{quote.text}” ({', '.join((*phrases.place_of(quote), ''))}"
    status = f"{phrases.QUOTE_STATUS[quote.status]})"
    if not (quote.source and quote.source.url):
        return _Block("item", ((place + status, ""),))
    return _Block("item", ((place, ""), (quote.source.url, "code"), (f", {status}", "")))


_SPANS: Mapping[str, Callable[[str], str]] = {
    "": plain,
    "ours": str,
    "bold": lambda words: f"**{plain(words)}**",
    "strike": lambda words: f"~~{plain(words)}~~",
    "code": code,
}


def run_markdown(run: SingleRun) -> str:
    def written(part: _Block | Table) -> str:
        if isinstance(part, Table):
            return table_markdown(part)
        if part.kind == "command":
            return block(part.spans[0][0])
        line = "".join(
            " " * said.startswith(" ") + _SPANS[style](said) + " " * said.endswith(" ") for said, style in part.spans
        )
        return {"heading": "#" * part.level + " ", "item": "- "}.get(part.kind, "") + line

    shown = (part for part in _report(run) if isinstance(part, _Block) or part.rows)
    parts = groupby(shown, lambda part: isinstance(part, _Block) and part.kind == "item")
    return "\n\n".join(("\n" if listed else "\n\n").join(map(written, group)) for listed, group in parts) + "\n"


def tables_markdown(tables: Iterable[Table | None]) -> list[str]:
    return [table_markdown(table) for table in tables if table and table.rows]


def list_markdown(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)


_WIDTHS = {"number": 0.5, "long": 3.0}  # inches of a column, of a page of 11 inches


def run_docx(folder: Path) -> bytes:
    """What the Markdown report says; no model is called."""
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
    properties = document.core_properties
    properties.title, properties.author, properties.comments = cut(_title(run), 200), "redargue", ""
    properties.created = properties.modified = datetime.now(UTC)
    for part in _report(run):
        if isinstance(part, Table):
            _add(document, part)
            continue
        styles = {"heading": f"Heading {part.level - 1}" if part.level > 1 else "Title", "item": "List Bullet"}
        paragraph = document.add_paragraph(style=styles.get(part.kind))
        for said, style in part.spans:
            made = paragraph.add_run(printable(said, lines=False))
            made.bold, made.font.strike = (style == name or None for name in ("bold", "strike"))
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
