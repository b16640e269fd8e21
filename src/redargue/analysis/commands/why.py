"""``redargue why``: finds the evidence that a recorded verdict depends on."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.exit import resumable
from redargue.cli.output import print_json
from redargue.cli.parameters import BaseUrl, Offline, Quiet, RunName, option
from redargue.errors import UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from redargue.analysis.counterfactual import Counterfactual, How, OnVerified, RecordedClaim, RemovedPassage
    from redargue.verifier import Verifier

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
    from rich.console import Console

    from redargue.analysis.counterfactual import RecordedClaim, find_counterfactual
    from redargue.runs.budget import Budget
    from redargue.runs.folders import find_run

    recorded, limit = RecordedClaim(find_run(run), item), Budget.parse(budget) if budget else None
    with recorded.verifier(base_url=base_url, budget=limit, offline=offline) as verifier:
        if verifier.backend.name == "chat":
            _estimate(verifier, recorded, most, confirmed=yes or limit is not None)
        on_verified = None if quiet else _progress(recorded, most)
        with resumable():
            result = asyncio.run(find_counterfactual(recorded, verifier, most=most, on_verified=on_verified))
    if as_json:
        print_json(result)
    else:
        _show(Console(file=sys.stdout, highlight=False), result)
    raise typer.Exit(result.error.exit_code if result.error else 0)


def _estimate(verifier: Verifier, recorded: RecordedClaim, most: int, *, confirmed: bool) -> None:
    from redargue.estimate import estimate

    rows = estimate(verifier, [recorded.verdict.claim] * most, concurrency=1)
    levels = rows.low, rows.likely, rows.high
    calls = " / ".join(f"{level.calls:,}" for level in levels)
    price = "" if rows.likely.usd is None else ", " + " / ".join(f"${level.usd:.4f}" for level in levels)
    typer.echo(f"at most {counted(most, 'verification')}; calls, low / likely / high: {calls}{price}", err=True)
    if not confirmed:
        raise UsageError(
            "this calls the run's language models again",
            hint="confirm with --yes, set a limit with --budget 0.50usd, or reduce it with --most 20",
        )


def _progress(recorded: RecordedClaim, most: int) -> OnVerified:
    from redargue.reports.phrases import label_of
    from redargue.verdicts import Verdict

    def on_verified(count: int, removed: int, verdict: Verdict) -> None:
        label = printable(label_of(verdict))
        what = f"without {removed} of {counted(len(recorded.evidence), 'passage')}" if removed else "with all evidence"
        typer.echo(f"[{count} of at most {most}] {what}: {label}", err=True)

    return on_verified


def _show(console: Console, result: Counterfactual) -> None:
    from rich.text import Text

    evidence = f"all {result.evidence} passages" if result.evidence > 1 else counted(result.evidence, "passage")
    console.print(Text(printable(result.claim.text), style="bold"))
    console.print(Text(f"{_label(result, result.before)} with {evidence}"))
    if result.taken:
        passages = f"these {len(result.taken)} passages" if len(result.taken) > 1 else "this passage"
        console.print(Text(f"{_label(result, result.after)} without {passages}:", style="bold yellow"))
        for number, removed in enumerate(result.taken, 1):
            _passage(console, number, removed)
    console.print(Text(searched(result)))
    if result.without_all is not None and len(result.taken) != result.evidence:
        console.print(Text(f"Without any evidence: {_label(result, result.without_all)}"))
    if result.unrecorded:
        console.print(Text(f"Searches without a recorded result, which returned nothing: {result.unrecorded}"))
    usd = f", ${result.usd:.4f}" if result.usd is not None else ""
    console.print(Text(f"verifications: {result.verifications}; calls: {result.calls:,}{usd}", style="dim"))
    if result.error:
        console.print(Text(f"the search ended early: {printable(result.error.what)}", style="bold red"))


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


def _label(result: Counterfactual, label: str | None) -> str:
    return printable(result.claim.labels.plain(label)) if label else "no answer"


def _passage(console: Console, number: int, removed: RemovedPassage) -> None:
    from rich.padding import Padding
    from rich.text import Text

    passage = removed.passage
    source = ", ".join(filter(None, (passage.title or passage.document, passage.publisher, passage.url)))
    console.print(Text(f"{number}. {printable(source)} ({passage.tool})", style="bold"))
    for quote in removed.quoted:
        console.print(Padding(Text(f"“{printable(quote)}”", style="italic"), (0, 0, 0, 3)))
    if not removed.quoted:
        text = printable(" ".join(passage.text.split()))
        console.print(Padding(Text(f"{text[:200]}{'…' if len(text) > 200 else ''}", style="dim"), (0, 0, 0, 3)))
