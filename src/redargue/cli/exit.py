"""How a command ends: exit codes, the user's gate, and Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from redargue.cli.parameters import OutputParameters
    from redargue.verdicts import Verdict

T = TypeVar("T")
INTERRUPTED = 130


def uninterrupted(folder: Path, work: Coroutine[Any, Any, T]) -> T:
    """The work's result; Ctrl-C becomes exit 130 and the command that resumes it."""
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command with --run {folder} resumes", err=True)
        raise typer.Exit(INTERRUPTED) from None


def read_gate(output: OutputParameters) -> tuple[frozenset[str], float | None]:
    """The meanings that fail a run, and the smallest accepted share of supported claims.

    Raises:
        UsageError: a name that is not a verdict's meaning.
    """
    from redargue.claims import Meaning
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean

    fail_on = output.fail_on or []
    for name in fail_on:
        if name not in list(Meaning):
            known = [meaning.value for meaning in Meaning]
            raise UsageError(f"no verdict means {name!r}", where="--fail-on", hint=did_you_mean(name, known))
    return frozenset(fail_on), output.min_supported


NO_GATE: tuple[frozenset[str], float | None] = (frozenset(), None)


def exit_code(verdicts: list[Verdict], gate: tuple[frozenset[str], float | None]) -> int:
    """0, or 1 where the user's gate failed, or what the errors among the verdicts amount to."""
    codes = [verdict.error.exit_code for verdict in verdicts if verdict.error]
    if codes:
        for code in (4, 5):  # a spent budget concerns all; a provider only where nothing else went through
            if (code in codes) if code == 4 else (codes == [5] * len(verdicts)):
                return code
        return codes[0] if len(verdicts) == 1 else 3
    if not verdicts:
        return 0  # a text that states nothing
    fail_on, least = gate
    failed = any(verdict.meaning in fail_on for verdict in verdicts)
    share = sum(verdict.meaning == "supported" for verdict in verdicts) / len(verdicts)
    return int(failed or (least is not None and share < least))
