"""``redargue report``: a report of a bench or a run; and verdicts and reports as a terminal shows them."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from redargue import words
from redargue.cli.parameters import RunName
from redargue.errors import UsageError
from redargue.evidence import Gap, Quote, QuoteStatus, Side
from redargue.files import NO_ROOM, home
from redargue.reports import phrases
from redargue.sanitize import counted, printable, shortened
from redargue.text import Report
from redargue.verdicts import Verdict

if TYPE_CHECKING:
    from redargue.reports.overview import RiskRow


def write_report(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="html, md, docx, json, claimreview, adjudication, sarif, junit or annotation; default: by --out, else "
            "html.",
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Output file; default: standard output.")
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="SPEC", help="System of a bench, for claimreview and adjudication; default: first.")
    ] = "",
    author: Annotated[str, typer.Option(help="Who publishes the review, for claimreview.")] = "",
    url: Annotated[
        str, typer.Option(help="Address of the page with the review or the text, for claimreview and annotation.")
    ] = "",
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that was checked, for sarif, junit and annotation.")
    ] = None,
    date: Annotated[str, typer.Option(metavar="DATE", help="Date of publication, for claimreview.")] = "",
    open: Annotated[
        bool,
        typer.Option("--open", help="Open the page in the browser; without --out it is written into the run's folder."),
    ] = False,
    adjudicated: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Completed adjudication file (.jsonl or .csv) to include.")
    ] = None,
) -> None:
    """Write a report of a finished run or bench.

    No model is called. The HTML page is self-contained.
    """
    from redargue.reports.exchange import read_signature
    from redargue.reports.render import render
    from redargue.runs.folders import find_run

    written = format or _format_of(out)
    if open:
        if written != "html":
            hint = "leave out --format, or give html"
            raise UsageError(f"{written} is not opened in a browser", where="--open", hint=hint)
        out = out or find_run(run) / "report.html"
    if written == "docx":
        _write_docx(run, out)
        return
    given = {"method": method, "adjudicated": adjudicated, "file": file, "url": url}
    signature = read_signature(author, url, date) if written == "claimreview" else None
    csv = out is not None and out.suffix.lower() == ".csv"  # of an adjudication queue
    text = render(find_run(run), written, csv=csv, signature=signature, **given)
    if out is None:
        _print_whole(text, written)
        return
    _write(out, text.encode(), written)
    if open:
        webbrowser.open(out.resolve().as_uri())


def _print_whole(text: str, written: str) -> None:
    """Prints a report; HTML and XML say that they are UTF-8, whatever the encoding of standard output is."""
    typer.echo(text.encode() if written in ("html", "junit") else text, nl=False)


def _write_docx(run: str, out: Path | None) -> None:
    from redargue.reports.markdown import run_docx
    from redargue.runs.folders import find_run

    if out is None:
        what, hint = "a Word document is written to a file", "name it: --out report.docx"
        raise UsageError(what, where="--format", hint=hint)
    _write(out, run_docx(find_run(run)), "docx")


def _write(out: Path, content: bytes, written: str) -> None:
    path = Path(os.path.realpath(out))
    new = path.with_name(f".{path.name}.new")
    try:
        if out.exists() and not out.is_file():  # a device
            out.write_bytes(content)
        else:
            new.write_bytes(content)
            if path.exists():
                shutil.copymode(path, new)
            new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        hint = f"{'make room, or ' if error.errno in NO_ROOM else ''}name another file"
        raise UsageError(f"{str(out)!r} cannot be written: {error.strerror}", where="--out", hint=hint) from error
    typer.echo(f"{written} report: {out} ({len(content):,} bytes)", err=True)


def _format_of(out: Path | None) -> str:
    """The format that the output file's suffix stands for; html without one."""
    if out is None or not out.suffix:
        return "html"
    page = out.with_suffix(".html")
    match suffix := out.suffix.lower():
        case ".html" | ".htm":
            return "html"
        case ".xml":
            return "junit"
        case ".docx" | ".md" | ".json" | ".sarif":
            return suffix[1:]
        case ".pdf":
            hint = f"name it {page}, open it in a browser, and print it to a PDF"
        case ".csv" | ".jsonl":
            hint = "for the adjudication queue of a bench, add --format adjudication"
        case _:
            hint = f"name it {page}, or say what to write into it: --format html"
    raise UsageError(f"there is no report format for {suffix}", where="--out", hint=hint)


_COLOURS = {  # of meanings, and of risks
    "supported": "green",
    "refuted": "red",
    "not_enough": "yellow",
    "open": "yellow",
    "conflicting": "magenta",
    "differs": "magenta",
}


def verdicts(verdicts: list[Verdict], folder: Path | None) -> None:
    console = _console()
    several = len(verdicts) > 1
    for number, verdict in enumerate(verdicts, 1):
        _rule(console)
        claim = printable(verdict.claim.text)
        _print(console, Text(f"{number}. {claim}" if several else claim, style="bold"))
        _verdict(console, verdict)
    if several:
        _rule(console)
        _print(console, Text(f"{counted(len(verdicts), 'claim')}: {phrases.label_counts(verdicts)}"))
    _recorded(console, folder)


def print_report(report: Report, folder: Path | None) -> None:
    """The claims by risk, each once; ``redargue report`` shows how they were decided."""
    # A check of one claim does without it.
    from redargue.reports.overview import by_risk, report_rows

    console = _console()
    for risk, title, rows in by_risk(report_rows(report)):
        _rule(console)
        _print(console, Text(f"{title} ({len(rows)})", style=_style(risk)))
        for row in rows:
            _row(console, row)
    _rule(console)
    if report.unchecked:
        _print(console, Text(f"{words.without_claims(each.why for each in report.unchecked)}.", style="dim"))
    verdicts = [claim.verdict for claim in report.claims]
    _print(console, Text(phrases.outcome_text(report.outcome, verdicts), style="bold"))
    if report.unread_files:
        _print(console, Text(phrases.unread_text(report.unread_files), style="bold yellow"))
    for file in report.unread_files:
        _print(console, Text(words.unread_file(file)), indent=2)
    if not all(map(phrases.is_local, verdicts)):
        spent = f"{counted(len(verdicts), 'claim')}, {phrases.cost(report.usage)}"
        _print(console, Text(spent, style="dim"))
    _recorded(console, folder)


def _style(of: str) -> str:
    return f"bold {_COLOURS.get(of, '')}".rstrip()


def _row(console: Console, row: RiskRow) -> None:
    number = f"{row.number}. " if row.number else ""
    _print(console, Text(printable(f"{number}{row.claim}", lines=False), style="bold"), indent=2)
    if row.sentence:
        sentence = f"“{printable(row.sentence, lines=False)}”"
        place = printable(f" — {row.place}", lines=False) if row.place else ""
        _print(console, Text.assemble(sentence, (place, "dim")), indent=5)
    for line in row.said:
        _print(console, Text(printable(line, lines=False)), indent=5)


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def _rule(console: Console) -> None:
    # Rich itself replaces the character only in a rule with a title.
    console.rule(characters="-" if console.options.ascii_only else "─", style="dim")


def _print(console: Console, text: Text, indent: int = 0) -> None:
    """Prints a text, wrapped on a terminal; elsewhere its lines are as long as they are."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent) + text, soft_wrap=True)


def _recorded(console: Console, folder: Path | None) -> None:
    if folder:
        run = folder.name if folder.parent == home() / "runs" else folder
        recorded = f"recorded: redargue report {printable(str(run), lines=False)}"
        console.print(Text(recorded, style="dim"), soft_wrap=True)


def _verdict(console: Console, verdict: Verdict) -> None:
    _outcome(console, verdict)
    titles = {Side.FOR: "For", Side.AGAINST: "Against", Side.CONTEXT: "Related, for neither side"}
    for side, title in titles.items():
        _section(console, title, [_quote(quote) for quote in verdict.side(side)])
    title = "Quoted, but not found in any document (not counted)"
    _section(console, title, [_lost_quote(quote) for quote in phrases.lost_quotes(verdict)])
    _section(console, "Searches that failed", [_gap(gap) for gap in verdict.failed_searches])
    _section(console, "Searches without a usable result", [_gap(gap) for gap in verdict.empty_searches])
    how = f"{verdict.method} ({verdict.profile}), {verdict.backend} backend: {phrases.cost(verdict.usage)}"
    _print(console, Text(printable(how, lines=False), style="dim"))


def _outcome(console: Console, verdict: Verdict) -> None:
    if verdict.error:
        _print(console, Text(f"error: {printable(verdict.error.what)}", style="bold red"))
        if verdict.error.hint:
            _print(console, Text(printable(f"→ {verdict.error.hint}")))
        return
    style, how = "bold", ""
    if not verdict.unchecked:
        style = _style(str(verdict.meaning))
        how = ", ".join(filter(None, (phrases.how_decided(verdict), phrases.confidence_text(verdict))))
    rest = f" {printable(how, lines=False)}".rstrip()
    _print(console, Text.assemble((printable(phrases.heading(verdict)), style), (rest, "dim")))
    if words := phrases.meaning_text(verdict):
        _print(console, Text(printable(words)))


def _section(console: Console, title: str, lines: Sequence[Text]) -> None:
    if lines:
        _print(console, Text(f"{title}:", style="bold"))
    for line in lines:
        _print(console, line, indent=2)


def _gap(gap: Gap) -> Text:
    return Text(printable(words.gap(gap)))


def _lost_quote(quote: Quote) -> Text:
    by = f" quoted by {printable(quote.agent, lines=False)}"
    return Text.assemble((shortened(printable(quote.text), 300), "strike dim"), (by, "dim"))


def _quote(quote: Quote) -> Text:
    place = ", ".join(filter(None, (*phrases.place_of(quote), quote.source.url if quote.source else "")))
    repaired = " (typography repaired)" if quote.status is QuoteStatus.REPAIRED else ""
    origin = f"— {printable(place)}; quoted by {printable(quote.agent, lines=False)}{repaired}"
    return Text.assemble("“", printable(quote.text), "” ", (origin, "dim"))
