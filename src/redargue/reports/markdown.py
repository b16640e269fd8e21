"""Reports as Markdown, in which text from documents and models is only text: no link, no picture, no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from redargue.evidence import Quote, Side
from redargue.reports import reproducibility
from redargue.reports.annotated_text import text_outcome, unchecked_table
from redargue.reports.folders import further_tables
from redargue.reports.load import SingleRun
from redargue.reports.overview import risk_tables, run_rows
from redargue.reports.phrases import (
    QUOTE_STATUS,
    citation_text,
    gap_sections,
    heading,
    label_counts,
    meaning_text,
    place_of,
    summary,
    without_gaps,
)
from redargue.reports.reproducibility import run_table
from redargue.reports.table import Table
from redargue.sanitize import counted, printable
from redargue.text.report import Citation
from redargue.verdicts import Verdict

_MARKS = re.compile(r"[\\`*_\[\]<>#|~!&$]")


def plain(words: str) -> str:
    """One line of text, escaped so that no markup in it takes effect.

    Escapes and code spans that a reader does not see break what some renderers turn into links by themselves:
    ``https://…``, ``www.…``, ``name@host``.
    """
    line = re.sub(r"\s+", " ", printable(words, lines=False)).strip()
    line = _MARKS.sub(r"\\\g<0>", line)
    line = re.sub(r"://", r":\\/\\/", line)
    line = re.sub(r"(?i)(www|xmpp|mailto)([.:])", r"\1\\\2", line)
    line = line.replace("@", "`@`")
    # neither a list item nor the underline of a heading
    return re.sub(r"^(\d+(?=[.)](?:\s|$)))?([-+=.)])(?![\d.])", r"\1\\\2", line)


def code(words: str) -> str:
    """Text in a code span that its content cannot close."""
    line = re.sub(r"\s+", " ", printable(words, lines=False)).strip() or " "
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
    parts = []
    if len(run.verdicts) > 1:
        parts += [f"# {counted(len(run.verdicts), 'claim')}", plain(label_counts(run.verdicts.values())) + "."]
        parts += [] if run.text else [table_markdown(run_table(run, ()))]
    if run.text:
        parts += [f"**{plain(text_outcome(run))}**", *tables_markdown(risk_tables(run_rows(run)))]
        parts += tables_markdown([unchecked_table(*run.text)])
    several = len(run.manifest.claims) > 1
    citations = run.citations
    for item, verdict in run.verdicts.items():
        parts += _claim(verdict, item + 1 if several else None, citations.get(item))
    parts += tables_markdown(further_tables(run))
    facts = list_markdown(f"{name}: {value}" for name, value in reproducibility.run_facts(run))
    return "\n\n".join([*parts, "## How it was done", facts, *map(block, reproducibility.run_commands(run))]) + "\n"


def _claim(verdict: Verdict, number: int | None = None, citation: Citation | None = None) -> list[str]:
    parts = [f"## {f'{number}. ' if number else ''}{plain(verdict.claim.text)}"]
    if citation:
        parts.append(f"Cites {code(citation.url)}: {plain(citation_text(citation))}")
    for side, title in ((Side.FOR, "Best case for"), (Side.AGAINST, "Best case against")):
        quotes = verdict.side(side)
        parts += [f"### {title}", "\n".join(map(_quote, quotes)) if quotes else "Nothing was quoted."]
    if neither := verdict.side(Side.CONTEXT):
        parts += ["### Related, for neither side", "\n".join(map(_quote, neither))]
    label = f"Error: {verdict.error.what}" if verdict.error else heading(verdict)
    words = plain(meaning_text(verdict))
    parts += ["### Verdict", f"**{plain(label)}**", *([words] if words else []), plain(summary(verdict))]
    for title, gaps in gap_sections(verdict):
        parts += [f"### {title}", "\n".join(f"- {plain(gap)}" for gap in gaps) or without_gaps(verdict)]
    lost = [quote for quote in verdict.quotes if not quote.found]
    if lost:
        lines = (f"- ~~{plain(quote.text)}~~ quoted by {plain(quote.agent)}" for quote in lost)
        parts += ["### Quoted, but in none of the passages (does not count)", "\n".join(lines)]
    return parts


def _quote(quote: Quote) -> str:
    source = quote.source
    address = [code(source.url)] if source and source.url else []
    cited = [*map(plain, place_of(quote)), *address, QUOTE_STATUS[quote.status]]
    return f"- “{plain(quote.text)}” ({', '.join(cited)})"


def tables_markdown(tables_or_none: Iterable[Table | None]) -> list[str]:
    return [table_markdown(table) for table in tables_or_none if table and table.rows]


def list_markdown(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(line)}" for line in lines)
