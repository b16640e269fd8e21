"""How verdicts are printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from redargue.claims import Frozen
from redargue.cli.terminal import printable
from redargue.evidence import Quote, QuoteStatus, Side
from redargue.reports.phrases import cost, counted, how_decided, label_counts, outcome_text
from redargue.sanitize import WORDS
from redargue.text.report import CheckedClaim, Report
from redargue.verdicts import Verdict

STYLES = {"supported": "bold green", "refuted": "bold red", "not_enough": "bold yellow", "conflicting": "bold magenta"}


class CheckResult(Frozen):
    """What ``redargue check --json`` prints."""

    schema_version: int = 1
    verdicts: tuple[Verdict, ...]


def whole(found: CheckResult | Report) -> None:
    """A result as one JSON object on stdout, in ASCII: no stranger's character reaches a terminal."""
    print(json.dumps(found.model_dump(mode="json"), indent=1))  # noqa: T201


def line(found: Verdict | CheckedClaim) -> None:
    """One verdict as one line of JSON on stdout, at once."""
    print(json.dumps(found.model_dump(mode="json")), flush=True)  # noqa: T201


def verdicts(found: list[Verdict], folder: Path | None) -> None:
    """Every verdict for a person, on stdout."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    for verdict in found:
        _verdict(console, verdict)
    if len(found) > 1:
        console.print(Text(f"{len(found)} claims: {label_counts(found)}"))
    _recorded(console, folder)


def report(found: Report, folder: Path) -> None:
    """A text's report for a person, on stdout: its claims where they stand, then what they make of it."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    for number, each in enumerate(found.claims, 1):
        _verdict(
            console, each.verdict, f"{number}. {each.start}–{each.end}: {' '.join(printable(each.stated).split())}"
        )
    console.rule(style="dim")
    for left in found.unchecked:
        words = " ".join(printable(found.text[left.start : left.end]).split())
        console.print(Text(f"not checked, {left.start}–{left.end} ({left.why}): {words}", style="dim"))
    verdicts = [claim.verdict for claim in found.claims]
    refuted = ", ".join(str(at) for at, verdict in enumerate(verdicts, 1) if verdict.meaning == "refuted")
    failed = ", ".join(str(at) for at, verdict in enumerate(verdicts, 1) if verdict.error)
    details = [f"Refuted: {refuted}."] if refuted else []
    details += [f"Not verified because of an error: {failed}."] if failed else []
    console.print(Text.assemble((outcome_text(found.outcome, verdicts), "bold"), *(f" {each}" for each in details)))
    console.print(Text(f"{counted(len(verdicts), 'claim')}, {counted(found.usage.calls, 'call')}", style="dim"))
    _recorded(console, folder)


def _recorded(console: Console, folder: Path | None) -> None:
    if folder:
        console.print(Text(f"recorded: redargue replay {folder}", style="dim"), soft_wrap=True)


def _verdict(console: Console, verdict: Verdict, where: str = "") -> None:
    console.rule(style="dim")
    if where:
        console.print(Text(where, style="dim"))
    console.print(Text(printable(verdict.claim.text), style="bold"))
    _outcome(console, verdict)
    for side, title in ((Side.FOR, "For"), (Side.AGAINST, "Against"), (Side.CONTEXT, "For neither side")):
        _section(console, title, [_quote(quote) for quote in verdict.side(side)])
    lost = [Text(printable(quote.text)[:300], style="strike dim") for quote in verdict.quotes if not quote.found]
    _section(console, "Quoted, but in no document (does not count)", lost)
    _section(console, "Failed searches", [Text(printable(gap)) for gap in verdict.gaps])
    how = f"{verdict.method} ({verdict.profile}), {verdict.backend} backend: {cost(verdict.usage)}"
    console.print(Text(how, style="dim"))


def _outcome(console: Console, verdict: Verdict) -> None:
    if verdict.error:
        console.print(Text(f"error: {printable(verdict.error.what)}", style="bold red"))
        console.print(Text(printable(f"→ {verdict.error.hint}")) if verdict.error.hint else Text(""))
        return
    label = Text(printable(verdict.label or "no answer was given"), style=STYLES.get(str(verdict.meaning), "bold"))
    console.print(Text.assemble(label, " ", (how_decided(verdict), "dim")))
    if verdict.meaning in WORDS:
        console.print(Text(WORDS[verdict.meaning]))


def _section(console: Console, title: str, lines: list[Text]) -> None:
    if lines:
        console.print(Text(f"{title}:", style="bold"))
    for each in lines:
        console.print(Padding(each, (0, 0, 0, 2)))


def _quote(quote: Quote) -> Text:
    source = quote.source
    where = [
        printable(part)
        for part in ((source.title, source.publisher, source.published, source.url) if source else ())
        if part
    ]
    if source and not where:
        where = [printable(source.document)]
    repaired = " (typography repaired)" if quote.status is QuoteStatus.REPAIRED else ""
    return Text.assemble("“", printable(quote.text), "” ", (f"— {', '.join(where)}; {quote.agent}{repaired}", "dim"))


def schema(kind: type[Frozen] = CheckResult) -> dict[str, Any]:
    """The JSON schema of what ``--json`` prints: of claims, or of a text (its ``Report``)."""
    return kind.model_json_schema(mode="serialization")
