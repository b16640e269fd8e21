"""Exit codes, the user's gate, and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import typer

from redargue.errors import UsageError
from redargue.registry import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from redargue.cli.parameters import OutputParameters
    from redargue.verdicts import Verdict

T = TypeVar("T")
FINISHED_WITH_ERRORS = 3
INTERRUPTED = 130


def run_or_interrupt(folder: Path, work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine; Ctrl-C names the command that resumes the run and exits with 130."""
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; to resume, repeat the command with --run {folder}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def read_gate(output: OutputParameters) -> tuple[frozenset[str], float | None]:
    """The meanings that fail a run, and the smallest accepted share of supported claims."""
    from redargue.claims import Meaning

    fail_on = output.fail_on or []
    for name in fail_on:
        if name not in list(Meaning):
            known = [meaning.value for meaning in Meaning]
            raise UsageError(f"no verdict means {name!r}", where="--fail-on", hint=did_you_mean(name, known))
    return frozenset(fail_on), output.min_supported


NO_GATE: tuple[frozenset[str], float | None] = (frozenset(), None)


def exit_code(verdicts: list[Verdict], gate: tuple[frozenset[str], float | None]) -> int:
    """The code for the errors among the verdicts; without errors 1 if the user's gate failed, else 0."""
    codes = [verdict.error.exit_code for verdict in verdicts if verdict.error]
    if 4 in codes:
        return 4  # a spent budget concerns every claim
    if codes:
        every_provider_failed = codes == [5] * len(verdicts)
        return codes[0] if len(verdicts) == 1 or every_provider_failed else FINISHED_WITH_ERRORS
    if not verdicts:
        return 0  # a text that states nothing
    fail_on, least = gate
    failed = any(verdict.meaning in fail_on for verdict in verdicts)
    share = sum(verdict.meaning == "supported" for verdict in verdicts) / len(verdicts)
    return int(failed or (least is not None and share < least))
