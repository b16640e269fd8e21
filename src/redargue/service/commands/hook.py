"""``redargue hook``: the closing claims of a coding agent against the outputs of its own tools."""

from __future__ import annotations

import json as json_
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.parameters import AsJson
from redargue.errors import RedargueError, UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.service.agent_turns.closing import ClosingClaim

CONTRADICTED, NOT_CHECKED = 2, 3  # exit codes: 2 sends the agent back to work, any other is shown to the user


def hook(
    transcript: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TRANSCRIPT]",
            help="Transcript of Claude Code, rollout of Codex, or items of the Agents SDK as JSON; "
            "default: the one that the hook's JSON on standard input names.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Check what a coding agent says it did against the outputs of its own tools.

    Exits with 2 and the claims on standard error if its tools contradict one, with 3 if the transcript cannot be read.
    """
    from redargue.service.agent_turns.closing import ClosingOutcome, check_closing, closing_sentences
    from redargue.service.agent_turns.transcripts import read_transcript

    try:
        asked = {} if transcript else _asked()
        path = transcript or Path(str(asked.get("transcript_path") or ""))
        read = read_transcript(path, closing=str(asked.get("last_assistant_message") or ""))
        claims = check_closing(read)
    except RedargueError as error:  # no other code than this one: 2 would send the agent back to work
        typer.echo(f"redargue hook: not checked: {printable(str(error))}", err=True)
        raise typer.Exit(NOT_CHECKED) from None
    wrong = [claim for claim in claims if claim.outcome is ClosingOutcome.CONTRADICTED]
    summary = _summary(claims, len(list(closing_sentences(read.closing))), whole=read.whole)
    if json:
        print(json_.dumps({"schema_version": 1, "whole": read.whole, "claims": [claim._asdict() for claim in claims]}))  # noqa: T201
    if wrong and not asked.get("stop_hook_active"):
        typer.echo("\n".join(map(_line, wrong)), err=True)
        raise typer.Exit(CONTRADICTED)
    if not json:
        said = "\n".join([*map(_line, wrong), summary])  # sent back once: now the user decides
        print(json_.dumps({"systemMessage": said}) if asked else said)  # noqa: T201


def _asked() -> dict[str, Any]:
    """The JSON that an agent sends to its hooks."""
    text = sys.stdin.read()
    try:
        asked = json_.loads(text)
    except ValueError:
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("transcript_path"), str):
        hint = "give the transcript's path, or configure it as a Stop hook"
        raise UsageError(f"standard input has no transcript_path: {text[:80]!r}", hint=hint)
    return asked


def _line(claim: ClosingClaim) -> str:
    said = f"redargue: you wrote {claim.sentence[:200]!r}, but {claim.why}. Correct the message or the work."
    return printable(said, lines=False)


def _summary(claims: list[ClosingClaim], sentences: int, *, whole: bool) -> str:
    """What was found, and how many sentences no rule has read."""
    counts = Counter(claim.outcome.replace("_", " ") for claim in claims)
    said = ": " + ", ".join(f"{count} {name}" for name, count in counts.items()) if claims else ""
    rest = sentences - len({claim.sentence for claim in claims})
    parts = [f"{counted(len(claims), 'closing claim')} compared with the tools{said}"]
    parts += [f"{counted(rest, 'sentence')} not checked"] if rest else []
    parts += [] if whole else ["a part of the transcript is missing"]
    return f"redargue: {'; '.join(parts)}"
