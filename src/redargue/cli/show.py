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
from redargue.printing import WORDS
from redargue.verdicts import Verdict

STYLES = {"supported": "bold green", "refuted": "bold red", "not_enough": "bold yellow", "conflicting": "bold magenta"}


class CheckResult(Frozen):
    """What ``redargue check --json`` prints."""

    schema_version: int = 1
    verdicts: tuple[Verdict, ...]


def whole(verdicts: list[Verdict]) -> None:
    """All verdicts as one JSON object on stdout, in ASCII: no stranger's character reaches a terminal."""
    print(json.dumps(CheckResult(verdicts=tuple(verdicts)).model_dump(mode="json"), indent=1))  # noqa: T201


def line(verdict: Verdict) -> None:
    """One verdict as one line of JSON on stdout, at once."""
    print(json.dumps(verdict.model_dump(mode="json")), flush=True)  # noqa: T201


def verdicts(found: list[Verdict], folder: Path | None) -> None:
    """Every verdict for a person, on stdout."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    for verdict in found:
        _verdict(console, verdict)
    if len(found) > 1:
        counts: dict[str, int] = {}
        for verdict in found:
            name = verdict.error.type if verdict.error else verdict.label or "no answer"
            counts[name] = counts.get(name, 0) + 1
        console.print(Text(f"{len(found)} claims: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))))
    if folder:
        console.print(Text(f"recorded: redargue replay {folder}", style="dim"), soft_wrap=True)


def _verdict(console: Console, verdict: Verdict) -> None:
    console.rule(style="dim")
    console.print(Text(printable(verdict.claim.text), style="bold"))
    _outcome(console, verdict)
    for side, title in ((Side.FOR, "For"), (Side.AGAINST, "Against"), (Side.CONTEXT, "Beside it")):
        _section(console, title, [_quote(quote) for quote in verdict.side(side)])
    lost = [Text(printable(quote.text)[:300], style="strike dim") for quote in verdict.quotes if not quote.found]
    _section(console, "Quoted, but in no document (does not count)", lost)
    _section(console, "Not found", [Text(printable(gap)) for gap in verdict.gaps])
    usage = verdict.usage
    cost = f"{usage.calls} calls, {usage.searches} searches, {usage.prompt_tokens + usage.completion_tokens:,} tokens"
    cost += f", ${usage.usd:.4f}" if usage.usd is not None else ""
    console.print(Text(f"{verdict.method} ({verdict.profile}), {verdict.backend} backend: {cost}", style="dim"))


def _outcome(console: Console, verdict: Verdict) -> None:
    if verdict.error:
        console.print(Text(f"error: {printable(verdict.error.what)}", style="bold red"))
        console.print(Text(printable(f"→ {verdict.error.hint}")) if verdict.error.hint else Text(""))
        return
    label = Text(printable(verdict.label or "no answer was given"), style=STYLES.get(str(verdict.meaning), "bold"))
    how = {"consensus": "by consensus of the debaters", "judge": "by the judge", "executor": "by the executor"}
    how["forced"] = "by the executor, forced"
    by = how.get(str(verdict.decided_by), "")
    unit = "step" if verdict.decided_by in ("executor", "forced") else "round"
    rounds = f" after {verdict.rounds} {unit}{'s' * (verdict.rounds != 1)}" if by else ""
    console.print(Text.assemble(label, " ", (by + rounds, "dim")))
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


def schema() -> dict[str, Any]:
    """The JSON schema of what ``--json`` prints."""
    return CheckResult.model_json_schema(mode="serialization")
