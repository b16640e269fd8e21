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
from redargue.printing import OUTCOMES, WORDS
from redargue.texts.report import CheckedClaim, Report
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
        counts: dict[str, int] = {}
        for verdict in found:
            name = verdict.error.type if verdict.error else verdict.label or "no answer"
            counts[name] = counts.get(name, 0) + 1
        console.print(Text(f"{len(found)} claims: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))))
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
    numbers = {
        name: ", ".join(
            str(at) for at, each in enumerate(found.claims, 1) if name in (each.verdict.meaning, _error(each))
        )
        for name in ("refuted", "error")
    }
    told = [f"refuted: {numbers['refuted']}"] if numbers["refuted"] else []
    told += [f"not verified, because of an error: {numbers['error']}"] if numbers["error"] else []
    console.print(Text.assemble((OUTCOMES[found.outcome], "bold"), f" {'; '.join(told)}" if told else ""))
    claims, calls = len(found.claims), found.usage.calls
    console.print(Text(f"{claims} claim{'s' * (claims != 1)}, {calls} call{'s' * (calls != 1)}", style="dim"))
    _recorded(console, folder)


def _error(claim: CheckedClaim) -> str:
    return "error" if claim.verdict.error else ""


def _recorded(console: Console, folder: Path | None) -> None:
    if folder:
        console.print(Text(f"recorded: redargue replay {folder}", style="dim"), soft_wrap=True)


def _verdict(console: Console, verdict: Verdict, where: str = "") -> None:
    console.rule(style="dim")
    if where:
        console.print(Text(where, style="dim"))
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
    how |= {"forced": "by the executor, forced", "referees": "by the referees", "leader": "by the leader"}
    how |= {"moderator": "by the moderator", "vote": "by a vote", "summariser": "by the summariser"}
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


def schema(kind: type[Frozen] = CheckResult) -> dict[str, Any]:
    """The JSON schema of what ``--json`` prints: of claims, or of a text (its ``Report``)."""
    return kind.model_json_schema(mode="serialization")
