"""``redargue diff``: compares two recorded runs."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.output import print_json
from redargue.cli.parameters import complete_run
from redargue.sanitize import printable

if TYPE_CHECKING:
    from rich.console import Console

    from redargue.analysis.run_diff import ClaimDiff, RunDiff, StepDiff

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
    from rich.console import Console

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
    hidden = result.differing - len(result.details)
    if hidden > 0:
        _print(console, f"more claims with a call or search that differs: {hidden} (--most {result.differing})", "dim")


def _print(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(printable(text), style=style))


def _summary(console: Console, result: RunDiff) -> None:
    _print(console, f"first:  {result.first}")
    _print(console, f"second: {result.second}")
    only = f"{result.only_first} only in the first, {result.only_second} only in the second"
    _print(console, f"claims in both runs: {result.claims} ({only})")
    _print(console, f"labels: {len(result.flips)} of {result.claims} flipped", "bold")
    for move, count in result.moves.items():
        _print(console, f"  {count} × {move}")
    _print(console, f"claims with a call or search that differs: {result.differing} of {result.claims}", "bold")
    _settings(console, result)


def _settings(console: Console, result: RunDiff) -> None:
    """Those of two methods are many, and most are of one method only."""
    methods = any(setting.name == "method" for setting in result.settings)
    shown = [each for each in result.settings if not methods or None not in (each.first, each.second)]
    _print(console, "settings that differ:" if result.settings else "settings: equal", "bold")
    for setting in shown:
        _print(console, f"  {setting.name}: {_short(setting.first)} → {_short(setting.second)}")
    if hidden := len(result.settings) - len(shown):
        _print(console, f"  and {hidden} that only one of the runs has (--json)", "dim")


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _claim(console: Console, result: RunDiff, claim: ClaimDiff) -> None:
    console.rule(style="dim")
    _print(console, claim.claim, "bold")
    flip = next((flip for flip in result.flips if flip.items == claim.items), None)
    _print(console, f"{flip.first} → {flip.second}" if flip else "same label", "bold yellow" if flip else "dim")
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
    for name, lines in (("prompt", step.prompt), ("found" if step.kind == "search" else "reply", step.outcome)):
        if lines:
            _print(console, f"  {name}:")
        elif name == "reply" and not step.missing:
            _print(console, "  reply: equal")
        for line in lines[:MAX_LINES]:
            style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
            _print(console, f"    {line[:MAX_LINE_LENGTH]}{'…' if len(line) > MAX_LINE_LENGTH else ''}", style)
        if len(lines) > MAX_LINES:
            _print(console, f"    … {len(lines) - MAX_LINES} more lines: --json", "dim")
