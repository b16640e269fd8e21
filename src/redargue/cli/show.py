"""Prints verdicts and reports, for people and as JSON."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from redargue.claims import Frozen
from redargue.evidence import Quote, QuoteStatus, Side
from redargue.reports.phrases import (
    confidence_text,
    cost,
    heading,
    how_decided,
    label_counts,
    meaning_text,
    outcome_text,
)
from redargue.sanitize import counted, printable
from redargue.text.report import Report
from redargue.verdicts import Verdict

STYLES = {"supported": "bold green", "refuted": "bold red", "not_enough": "bold yellow", "conflicting": "bold magenta"}


class CheckResult(Frozen):
    """What ``redargue check --json`` prints."""

    schema_version: int = 1
    verdicts: tuple[Verdict, ...]


def verdicts(verdicts: list[Verdict], folder: Path | None) -> None:
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    for verdict in verdicts:
        _verdict(console, verdict)
    if len(verdicts) > 1:
        console.print(Text(f"{len(verdicts)} claims: {label_counts(verdicts)}"))
    _recorded(console, folder)


def report(report: Report, folder: Path | None) -> None:
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    for number, claim in enumerate(report.claims, 1):
        heading = f"{number}. {claim.start}–{claim.end}: {' '.join(printable(claim.stated).split())}"
        _verdict(console, claim.verdict, heading)
    console.rule(style="dim")
    for span in report.unchecked:
        sentence = " ".join(printable(report.text[span.start : span.end]).split())
        console.print(Text(f"not checked, {span.start}–{span.end} ({span.why}): {sentence}", style="dim"))
    verdicts = [claim.verdict for claim in report.claims]
    refuted = ", ".join(str(number) for number, verdict in enumerate(verdicts, 1) if verdict.meaning == "refuted")
    unchecked = ", ".join(str(number) for number, verdict in enumerate(verdicts, 1) if verdict.unchecked)
    failed = ", ".join(str(number) for number, verdict in enumerate(verdicts, 1) if verdict.error)
    outcome = [(outcome_text(report.outcome, verdicts), "bold")]
    outcome += [(f" Refuted: {refuted}.", "")] if refuted else []
    outcome += [(f" Not checked: {unchecked}.", "")] if unchecked else []
    outcome += [(f" Not verified because of an error: {failed}.", "")] if failed else []
    console.print(Text.assemble(*outcome))
    console.print(Text(f"{counted(len(verdicts), 'claim')}, {counted(report.usage.calls, 'call')}", style="dim"))
    _recorded(console, folder)


def _recorded(console: Console, folder: Path | None) -> None:
    if folder:
        console.print(Text(f"recorded: redargue replay {folder}", style="dim"), soft_wrap=True)


def _verdict(console: Console, verdict: Verdict, heading: str = "") -> None:
    console.rule(style="dim")
    if heading:
        console.print(Text(heading, style="dim"))
    console.print(Text(printable(verdict.claim.text), style="bold"))
    _outcome(console, verdict)
    for side, title in ((Side.FOR, "For"), (Side.AGAINST, "Against"), (Side.CONTEXT, "For neither side")):
        _section(console, title, [_quote(quote) for quote in verdict.side(side)])
    lost = [Text(printable(quote.text)[:300], style="strike dim") for quote in verdict.quotes if not quote.found]
    _section(console, "Quoted, but not found in any document (not counted)", lost)
    _section(console, "Failed searches", [Text(printable(gap)) for gap in verdict.gaps])
    how = f"{verdict.method} ({verdict.profile}), {verdict.backend} backend: {cost(verdict.usage)}"
    console.print(Text(how, style="dim"))


def _outcome(console: Console, verdict: Verdict) -> None:
    if verdict.error:
        console.print(Text(f"error: {printable(verdict.error.what)}", style="bold red"))
        if verdict.error.hint:
            console.print(Text(printable(f"→ {verdict.error.hint}")))
        return
    style = "bold" if verdict.unchecked else STYLES.get(str(verdict.meaning), "bold")
    how = ", ".join(filter(None, (how_decided(verdict), confidence_text(verdict))))
    console.print(Text.assemble((printable(heading(verdict)), style), " ", (how, "dim")))
    if words := meaning_text(verdict):
        console.print(Text(printable(words)))


def _section(console: Console, title: str, lines: list[Text]) -> None:
    if lines:
        console.print(Text(f"{title}:", style="bold"))
    for line in lines:
        console.print(Padding(line, (0, 0, 0, 2)))


def _quote(quote: Quote) -> Text:
    source, parts = quote.source, []
    if source:
        parts = [part for part in (source.title, source.publisher, source.published, source.url) if part]
        parts = parts or [source.document]
    repaired = " (typography repaired)" if quote.status is QuoteStatus.REPAIRED else ""
    origin = f"— {', '.join(map(printable, parts))}; {quote.agent}{repaired}"
    return Text.assemble("“", printable(quote.text), "” ", (origin, "dim"))
