"""``redargue diff`` and ``redargue why``."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from redargue.cli.output import print_json, resumable
from redargue.cli.parameters import BaseUrl, Offline, Quiet, RunName, complete_run, option
from redargue.errors import UsageError
from redargue.reports.table import cut
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.analysis.counterfactual import Counterfactual, How, OnVerified, RecordedClaim
    from redargue.analysis.run_diff import ClaimDiff, RunDiff, StepDiff
    from redargue.verifier import Verifier

MAX_LINES = 40  # per difference on a terminal; --json prints all
MAX_LINE_LENGTH = 240


def diff(
    first: Annotated[
        str,
        typer.Argument(
            metavar="RUN1",
            help="Run folder of check, batch or a bench method; or the name of a recorded run.",
            autocompletion=complete_run,
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="RUN2", help="Second run.", autocompletion=complete_run)],
    most: Annotated[int, typer.Option(min=0, help="Claims shown in detail; those whose label differs first.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/schemas/diff.v1.json).")] = False,
) -> None:
    """Compare two recorded runs: settings, labels and first calls."""
    from redargue.analysis.run_diff import compare_runs
    from redargue.runs.folders import find_run

    result = asyncio.run(compare_runs(find_run(first), find_run(second), most=most))
    if as_json:
        print_json(result)
        return
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    _summary(console, result)
    for claim in result.details:
        _claim(console, result, claim)
    if (hidden := result.differing - len(result.details)) > 0:
        more = f"{hidden} (--most {result.differing})"
        _print(console, f"more claims with a call or search that differs: {more}", "dim")


def _print(console: Console, text: str, style: str = "") -> None:
    console.print(Text(printable(text), style=style))


def _summary(console: Console, result: RunDiff) -> None:
    _print(console, f"first:  {result.first}")
    _print(console, f"second: {result.second}")
    only = f"{result.only_first} only in the first, {result.only_second} only in the second"
    _print(console, f"claims in both runs: {result.claims} ({only})")
    _print(console, f"labels: {len(result.flips)} of {result.claims} flipped", "bold")
    for move, count in result.moves.items():
        _print(console, f"  {count} × {move}")
    differing = f"{result.differing} of {result.claims}"
    _print(console, f"claims with a call or search that differs: {differing}", "bold")
    # The settings of two methods are many, and most are of one method only.
    methods = any(setting.name == "method" for setting in result.settings)
    values = {each.name: (each.first, each.second) for each in result.settings}
    shown = {name: pair for name, pair in values.items() if not methods or None not in pair}
    _print(console, "settings that differ:" if result.settings else "settings: equal", "bold")
    for name, pair in shown.items():
        first, second = (cut(json.dumps(value, ensure_ascii=False), 100) for value in pair)
        _print(console, f"  {name}: {first} → {second}")
    if hidden := len(result.settings) - len(shown):
        _print(console, f"  and {hidden} that only one of the runs has (--json)", "dim")


def _claim(console: Console, result: RunDiff, claim: ClaimDiff) -> None:
    console.rule(style="dim")
    _print(console, claim.claim, "bold")
    flip = next((flip for flip in result.flips if flip.items == claim.items), None)
    change = (f"{flip.first} → {flip.second}", "bold yellow") if flip else ("same label", "dim")
    _print(console, *change)
    for step in claim.before:
        _step(console, "earlier ", step)
    if claim.call:
        _step(console, "first call that differs: ", claim.call)
    if claim.reply:
        _step(console, "first call with a different answer: ", claim.reply)
    if claim.note:
        _print(console, f"note: {claim.note}", "dim")


def _step(console: Console, title: str, step: StepDiff) -> None:
    what = "search with " if step.kind == "search" else ""
    round_ = f", round {step.round}" if step.round else ""
    missing = f"; not in the {step.missing} run" if step.missing else ""
    _print(console, f"{title}{what}{step.name} by {step.agent}{round_}{missing}", "cyan")
    outcome = "found" if step.kind == "search" else "reply"
    for name, lines in (("prompt", step.prompt), (outcome, step.outcome)):
        if lines:
            _print(console, f"  {name}:")
        elif name == "reply" and not step.missing:
            _print(console, "  reply: equal")
        for line in lines[:MAX_LINES]:
            style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
            _print(console, f"    {cut(line, MAX_LINE_LENGTH)}", style)
        if len(lines) > MAX_LINES:
            _print(console, f"    … {len(lines) - MAX_LINES} more lines: --json", "dim")


HOW_TEXT: dict[How, str] = {
    "smallest": "smallest: every smaller set was tried, and none flips the verdict",
    "minimal": "minimal: no passage can be restored; found greedily, so a smaller set may exist",
    "some": "flips the verdict, but may not be minimal: the search ended early",
    "none": "no set that was tried flips the verdict",
}


def why(
    run: RunName,
    item: Annotated[
        int | None, typer.Option(min=1, help="Number of the claim, from 1; required if the run has several.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Maximum number of verifications.")] = 60,
    base_url: BaseUrl = "",
    budget: Annotated[str | None, option("BUDGET", "Maximum cost: 400calls, 2mtok, 0.50usd.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Call the run's language models without a budget.")] = False,
    offline: Offline = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/schemas/why.v2.json).")] = False,
    quiet: Quiet = False,
) -> None:
    """Find the evidence that a recorded verdict depends on.

    The result is the smallest set of passages without which the verdict would differ.
    """
    from redargue.analysis.counterfactual import RecordedClaim, find_counterfactual
    from redargue.runs.budget import Budget
    from redargue.runs.folders import find_run

    recorded, limit = RecordedClaim(find_run(run), item), Budget.parse(budget) if budget else None
    with recorded.verifier(base_url=base_url, budget=limit, offline=offline) as verifier:
        if verifier.backend.name == "chat":
            _estimate(verifier, recorded, most, confirmed=yes or limit is not None)
        on_verified = None if quiet else _progress(recorded, most)
        search = find_counterfactual(recorded, verifier, most=most, on_verified=on_verified)
        with resumable():
            result = asyncio.run(search)
    if as_json:
        print_json(result)
    else:
        _show(Console(file=sys.stdout, highlight=False), result)
    raise typer.Exit(result.error.exit_code if result.error else 0)


def _estimate(verifier: Verifier, recorded: RecordedClaim, most: int, *, confirmed: bool) -> None:
    from redargue.estimate import estimate

    rows = estimate(verifier, [recorded.verdict.claim] * most, concurrency=1)
    levels = rows.low, rows.likely, rows.high
    cost = " / ".join(f"{level.calls:,}" for level in levels)
    if rows.likely.usd is not None:
        cost += ", " + " / ".join(f"${level.usd:.4f}" for level in levels)
    verifications = counted(most, "verification")
    typer.echo(f"at most {verifications}; calls, low / likely / high: {cost}", err=True)
    if not confirmed:
        hint = "confirm with --yes, set a limit with --budget 0.50usd, or reduce it with --most 20"
        raise UsageError("this calls the run's language models again", hint=hint)


def _progress(recorded: RecordedClaim, most: int) -> OnVerified:
    from redargue.reports.phrases import label_of
    from redargue.verdicts import Verdict

    def on_verified(count: int, removed: int, verdict: Verdict) -> None:
        passages, label = counted(len(recorded.evidence), "passage"), printable(label_of(verdict))
        what = f"without {removed} of {passages}" if removed else "with all evidence"
        typer.echo(f"[{count} of at most {most}] {what}: {label}", err=True)

    return on_verified


def _show(console: Console, result: Counterfactual) -> None:
    def label(label: str | None) -> str:
        return result.claim.labels.plain(label) if label else "no answer"

    evidence, taken = counted(result.evidence, "passage"), len(result.taken)
    _print(console, result.claim.text, "bold")
    _print(console, f"{label(result.before)} with {'all ' if result.evidence > 1 else ''}{evidence}")
    if taken:
        passages = f"these {taken} passages" if taken > 1 else "this passage"
        _print(console, f"{label(result.after)} without {passages}:", "bold yellow")
    for number, removed in enumerate(result.taken, 1):
        passage = removed.passage
        source = (passage.title or passage.document, passage.publisher, passage.url)
        _print(console, f"{number}. {', '.join(filter(None, source))} ({passage.tool})", "bold")
        shown = [Text(f"“{printable(quote)}”", "italic") for quote in removed.quoted]
        start = Text(cut(printable(" ".join(passage.text.split())), 200), "dim")
        for text in shown or [start]:
            console.print(Padding(text, (0, 0, 0, 3)))
    _print(console, searched(result))
    if result.without_all is not None and taken != result.evidence:
        _print(console, f"Without any evidence: {label(result.without_all)}")
    if result.unrecorded:
        searches = "Searches without a recorded result, which returned nothing"
        _print(console, f"{searches}: {result.unrecorded}")
    usd = f", ${result.usd:.4f}" if result.usd is not None else ""
    _print(console, f"verifications: {result.verifications}; calls: {result.calls:,}{usd}", "dim")
    if result.error:
        _print(console, f"the search ended early: {result.error.what}", "bold red")


def searched(result: Counterfactual) -> str:
    """How the set was found, or that none was."""
    if not result.evidence:
        return "the debate had no evidence: nothing can be removed"
    text = HOW_TEXT[result.how]
    if result.how == "none":
        if result.without_all is not None:
            text += ", nor does removing all evidence"
        elif result.removed_all:
            text += "; without any evidence there is no answer"
        if result.ended:
            text += f"; the search ended after {counted(result.verifications, 'verification')}"
    if result.failed:
        text += f"; failed verifications, which count as unchanged: {result.failed}"
    return text
