"""``redargue why``: the evidence that a recorded verdict stands on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from redargue.analysis.counterfactual import Recorded, Seen, Taken, Why
    from redargue.verifier import Verifier

INTERRUPTED = 130


def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    item: Annotated[
        int | None, typer.Option(min=0, help="Which of its claims, from 0; needed where it has several.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Verifications at most.")] = 60,
    base_url: Annotated[
        str, typer.Option(envvar="REDARGUE_BASE_URL", help="Of the run's endpoint; OPENAI_BASE_URL works too.")
    ] = "",
    budget: Annotated[
        str | None, typer.Option(envvar="REDARGUE_BUDGET", help="The most to spend: 400calls, 2mtok, 0.50usd.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask the run's language models without a budget.")] = False,
    offline: Annotated[
        bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Send nothing that leaves this machine.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas/why.v1.json).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="No progress.")] = False,
) -> None:
    """Looks for the smallest set of passages without which a recorded verdict would be another."""
    import asyncio
    import json as format_
    import sys

    from rich.console import Console

    from redargue.analysis.counterfactual import Recorded, why
    from redargue.runs.budget import Budget

    recorded = Recorded(run, item)
    given = Budget.parse(budget) if budget else None
    with recorded.verifier(base_url=base_url, budget=given, offline=offline) as verifier:
        if verifier.backend.name == "chat":
            _estimate(verifier, recorded, most, asked=yes or given is not None)
        seen = None if quiet else _progress(recorded, most)
        try:
            found = asyncio.run(why(recorded, verifier, most=most, seen=seen))
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
    if json:
        print(format_.dumps(found.model_dump(mode="json"), indent=1))  # noqa: T201
    else:
        _show(Console(file=sys.stdout, highlight=False), found)
    raise typer.Exit(found.error.exit_code if found.error else 0)


def _estimate(verifier: Verifier, recorded: Recorded, most: int, *, asked: bool) -> None:
    """Says what the search may cost; goes on only where the user has said so.

    Raises:
        UsageError: neither --yes nor a budget.
    """
    from redargue.errors import UsageError
    from redargue.estimate import estimate

    rows = estimate(verifier, [recorded.verdict.claim] * most, concurrency=1)
    calls = " / ".join(f"{each.calls:,}" for each in (rows.low, rows.likely, rows.high))
    price = "" if rows.likely.usd is None else " / ".join(f"${e.usd:.4f}" for e in (rows.low, rows.likely, rows.high))
    typer.echo(
        f"at most {most} verifications, low / likely / high: {calls} calls{', ' + price if price else ''}", err=True
    )
    if not asked:
        raise UsageError(
            "this asks the run's language models again", hint="--yes, or a limit: --budget 0.50usd; fewer: --most 20"
        )


def _progress(recorded: Recorded, most: int) -> Seen:
    from redargue.sanitize import printable
    from redargue.verdicts import Verdict

    def seen(held: int, removed: int, verdict: Verdict) -> None:
        label = verdict.error.type if verdict.error else printable(verdict.label or "no answer")
        what = f"without {removed} of {len(recorded.evidence)} passages" if removed else "with all evidence"
        typer.echo(f"[{held} of at most {most}] {what}: {label}", err=True)

    return seen


def _show(console: Console, found: Why) -> None:
    from rich.text import Text

    from redargue.sanitize import printable

    console.print(Text(printable(found.claim.text), style="bold"))
    console.print(Text(f"{printable(found.before or 'no answer')} with all {found.evidence} passages"))
    if found.taken:
        many = f"these {len(found.taken)} passages" if len(found.taken) > 1 else "this passage"
        console.print(Text(f"{printable(found.after or 'no answer')} without {many}:", style="bold yellow"))
        for number, each in enumerate(found.taken, 1):
            _passage(console, number, each)
    console.print(Text(found.told))
    if found.without_all is not None and len(found.taken) != found.evidence:
        console.print(Text(f"Without any evidence: {printable(found.without_all)}"))
    if found.unrecorded:
        console.print(
            Text(f"Without the set, {found.unrecorded} searches had a query that was not recorded: they found nothing.")
        )
    usd = f", ${found.usd:.4f}" if found.usd is not None else ""
    console.print(Text(f"verified {found.verifications} times: {found.calls:,} calls{usd}", style="dim"))
    if found.error:
        console.print(Text(f"the search ended early: {printable(found.error.what)}", style="bold red"))


def _passage(console: Console, number: int, taken: Taken) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from redargue.sanitize import printable

    passage = taken.passage
    where = [each for each in (passage.title or passage.document, passage.publisher, passage.url) if each]
    console.print(Text(f"{number}. {printable(', '.join(where))} ({passage.tool})", style="bold"))
    for quote in taken.quoted:
        console.print(Padding(Text(f"“{printable(quote)}”", style="italic"), (0, 0, 0, 3)))
    if not taken.quoted:
        text = printable(" ".join(passage.text.split()))
        console.print(Padding(Text(f"{text[:200]}{'…' * (len(text) > 200)}", style="dim"), (0, 0, 0, 3)))
