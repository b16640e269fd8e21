"""``redargue diff``: two recorded runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from redargue.analysis.run_diff import Difference, RunDiff, Step

LINES = 40  # of one difference on a terminal; --json has all
LINE = 240  # characters of a line likewise


def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN1", help="A run folder of check, batch or a bench's method.")],
    second: Annotated[Path, typer.Argument(metavar="RUN2", help="Another.")],
    most: Annotated[int, typer.Option(min=0, help="Claims shown with their first differing call; flips first.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas/diff.v1.json).")] = False,
) -> None:
    """Compares two recorded runs: settings, labels that flipped, and where each claim's verification parts."""
    import asyncio
    import sys

    from rich.console import Console

    from redargue.analysis.run_diff import differ

    found = asyncio.run(differ(first, second, most=most))
    if json:
        print(_as_json(found))  # noqa: T201
        return
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    _summary(console, found)
    for each in found.details:
        _claim(console, found, each)
    hidden = found.differing - len(found.details)
    if hidden > 0:
        _say(console, f"{hidden} more claims differ in a call or a search: --most {found.differing}", "dim")


def _as_json(found: RunDiff) -> str:
    import json

    return json.dumps(found.model_dump(mode="json"), indent=1)  # in ASCII: no stranger's character reaches a terminal


def _say(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    from redargue.sanitize import printable

    console.print(Text(printable(text), style=style))


def _summary(console: Console, found: RunDiff) -> None:
    _say(console, f"first:  {found.first}")
    _say(console, f"second: {found.second}")
    alone = f"{found.only_first} in the first alone, {found.only_second} in the second alone"
    _say(console, f"{found.claims} claims in both ({alone})")
    _say(console, "settings: the same" if not found.settings else "settings that differ:", "bold")
    for each in found.settings:
        _say(console, f"  {each.name}: {_short(each.first)} → {_short(each.second)}")
    _say(console, f"labels: {len(found.flips)} of {found.claims} flipped", "bold")
    for move, count in found.moves.items():
        _say(console, f"  {count} × {move}")
    _say(console, f"calls and searches: {found.differing} of {found.claims} claims differ", "bold")


def _short(value: object) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _claim(console: Console, found: RunDiff, each: Difference) -> None:
    console.rule(style="dim")
    _say(console, each.claim, "bold")
    flip = next((flip for flip in found.flips if flip.items == each.items), None)
    _say(console, f"{flip.first} → {flip.second}" if flip else "the same label", "bold yellow" if flip else "dim")
    for step in each.before:
        _step(console, "before it, ", step)
    if each.call:
        _step(console, "first call that differs: ", each.call)
    if each.reply:
        _step(console, "first call with another reply: ", each.reply)
    if each.note:
        _say(console, f"note: {each.note}", "dim")


def _step(console: Console, title: str, step: Step) -> None:
    what = "search with " if step.kind == "search" else ""
    round_ = f", round {step.round}" if step.round else ""
    alone = f"; not in the {step.missing} run" if step.missing else ""
    _say(console, f"{title}{what}{step.name} of {step.agent}{round_}{alone}", "cyan")
    for name, lines in (("prompt", step.prompt), ("found" if step.kind == "search" else "reply", step.outcome)):
        if lines:
            _say(console, f"  {name}:")
        elif step.kind == "call" and not step.missing and name == "reply":
            _say(console, "  reply: the same")
        for line in lines[:LINES]:
            style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
            _say(console, f"    {line[:LINE]}{'…' * (len(line) > LINE)}", style)
        if len(lines) > LINES:
            _say(console, f"    … {len(lines) - LINES} more lines: --json", "dim")
