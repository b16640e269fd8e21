"""Exit codes, the user's gate, and Ctrl-C."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import typer

from redargue.errors import BudgetReached, ProviderError, UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from redargue.caveats import Unchecked
    from redargue.cli.parameters import OutputParameters
    from redargue.verdicts import Verdict

UNSURE = "unsure"
FINISHED_WITH_ERRORS = 3
INTERRUPTED = 130


@contextmanager
def resumable(how: str = "") -> Iterator[None]:
    """On Ctrl-C, says how the command is resumed, and exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        say_interrupted(how)
        raise typer.Exit(INTERRUPTED) from None


def say_interrupted(how: str) -> None:
    """Prints on a line of its own, because a terminal shows ^C where the cursor was."""
    start = "\n" if sys.stderr.isatty() else ""
    rest = f"; {how}" if how else ""
    typer.echo(f"{start}interrupted{rest}", err=True)


def how_to_resume(folder: Path | None) -> str:
    if folder is None:
        return "the run was not recorded"
    return f"to resume, repeat the command with --run {folder}"


class Gate(NamedTuple):
    """Which verdicts make a command fail. It is open, and nothing fails, without ``fail_on`` and ``min_supported``.

    Attributes:
        fail_on: meanings that no verdict may have; ``unsure`` stands for verdicts below the confidence threshold.
        min_supported: the smallest accepted share of supported claims, among those that were checked.
        allow_unchecked: accepts claims that were not checked, and a text without claims.
    """

    fail_on: frozenset[str] = frozenset()
    min_supported: float | None = None
    allow_unchecked: bool = False

    def unchecked(self, verdicts: Sequence[Verdict], unread: Iterable[Unchecked] = ()) -> Iterator[str]:
        """What fails the gate because it was not checked; ``unread`` are sentences of a text without a claim."""
        from redargue import words

        if self.allow_unchecked or not (self.fail_on or self.min_supported is not None):
            return
        if not verdicts:
            yield "no checkable claim was found"
        reasons = [verdict.why_unchecked for verdict in verdicts if verdict.why_unchecked]
        for noun, of in (("claim", reasons), ("sentence", unread)):
            for why, count in Counter(map(words.unchecked, of)).items():
                yield f"{counted(count, noun)} not checked ({why})"

    def failures(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        """Why verdicts on checked claims fail the gate."""
        answered = [verdict.meaning for verdict in verdicts if not verdict.why_unchecked]
        meanings, checked = Counter(map(str, answered)), counted(len(answered), "checked claim")
        for name in sorted(self.fail_on & meanings.keys()):
            yield f"{meanings[name]} of {checked}: {name}"
        unsure = sum(verdict.unsure is not None and not verdict.unchecked for verdict in verdicts)
        if unsure and UNSURE in self.fail_on:
            yield f"{unsure} of {counted(len(verdicts), 'claim')}: {UNSURE}"
        least, supported = self.min_supported, meanings["supported"]
        if least is not None and answered and supported / len(answered) < least:
            are = "is" if supported == 1 else "are"
            yield f"{supported} of {checked} {are} supported; the smallest accepted share is {least:g}"


def read_gate(output: OutputParameters) -> Gate:
    from redargue.claims import Meaning

    fail_on, known = output.fail_on or [], [*map(str, Meaning), UNSURE]
    for name in fail_on:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"a verdict cannot be {name!r}", where="--fail-on", hint=hint)
    return Gate(frozenset(fail_on), output.min_supported, output.allow_unchecked)


def exit_code(
    verdicts: Sequence[Verdict], gate: Gate = Gate(), unread: Iterable[Unchecked] = (), refused: int = 0
) -> int:
    """The exit code of the errors among the verdicts; if there are none, 1 if the user's gate failed, and 0 otherwise.

    Prints to standard error that every search failed, or why the gate failed.

    Args:
        verdicts: of all claims of the command.
        gate: the user's.
        unread: as for :meth:`Gate.unchecked`.
        refused: the number of input rows that could not be read.
    """
    from redargue import words
    from redargue.caveats import UncheckedReason

    codes = [verdict.error.exit_code for verdict in verdicts if verdict.error]
    if BudgetReached.exit_code in codes:
        return BudgetReached.exit_code  # a spent budget concerns every claim
    reasons = [verdict.unchecked.reason for verdict in verdicts if verdict.unchecked]
    unsearched = reasons.count(UncheckedReason.SEARCH_FAILED)
    if verdicts and unsearched + codes.count(ProviderError.exit_code) == len(verdicts):
        if unsearched:
            typer.echo(words.reason(UncheckedReason.SEARCH_FAILED), err=True)
        return ProviderError.exit_code
    if codes or refused:
        return codes[0] if codes and len(verdicts) == 1 else FINISHED_WITH_ERRORS
    unchecked = tuple(gate.unchecked(verdicts, unread))
    failures = (*unchecked, *gate.failures(verdicts))
    for failure in failures:
        typer.echo(f"gate failed: {printable(failure)}", err=True)
    if unchecked:
        typer.echo("  → --allow-unchecked accepts what was not checked", err=True)
    return int(bool(failures))
