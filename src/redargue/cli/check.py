"""``redargue check``: one claim, standard input, a file of claims, or a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, with_parameters

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from redargue.config import RunConfig
    from redargue.verdicts import Verdict

T = TypeVar("T")
INTERRUPTED = 130
CONCURRENCY = 2  # claims


@with_parameters
def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|-", help="A claim; a .txt (one a line) or .jsonl file; a text (.md); - for stdin."
        ),
    ],
    *,
    as_: Annotated[
        str, typer.Option("--as", help="claims, text, dialogue (a reply) or qa (question and answer: one claim).")
    ] = "",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="What a text answers, or what was said before it.")
    ] = "",
    options: RunParameters,
    search: SearchParameters,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Record there; the same command resumes a run that was stopped."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas: check.v1, text.v1).")] = False,
    output: OutputParameters,
) -> None:
    """Verifies a claim, each claim of a file, or a text claim by claim; prints verdict, quotations, gaps and cost."""
    from redargue.api import new_run_folder
    from redargue.cli.options import run_config
    from redargue.cli.text import CLAIMS, kind_of, read_text, verify_text
    from redargue.home import home

    kind, config = kind_of(as_, claim), run_config(options, search, run)
    folder = run or new_run_folder(home())
    if kind != CLAIMS:
        text = read_text(claim, kind, question, "the text")
        verify_text(text, config, folder, output, concurrency=options.concurrency, json=json)
    _verify(claim, config, folder, output, concurrency=options.concurrency or CONCURRENCY, json=json)


def _verify(
    claim: str, config: RunConfig, folder: Path, output: OutputParameters, *, concurrency: int, json: bool
) -> None:
    """Verifies the claims that ``check`` was given.

    Raises:
        Exit: with the code that the verdicts and the user's gate amount to.
    """
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.cli.options import claims_of, connected
    from redargue.verifier import Verifier

    claims, gate = claims_of(claim, config), read_gate(output)
    with (
        Verifier(config, components=connected(config), folder=folder, claims=claims) as verifier,
        Viewer(verifier, claims, concurrency=concurrency, quiet=output.quiet) as viewer,
    ):
        verdicts = uninterrupted(
            folder,
            verifier.verify_all(
                claims,
                concurrency=concurrency,
                listeners=[viewer.see],
                done=lambda item, verdict: show.line(verdict) if output.jsonl else None,
            ),
        )
    if json:
        show.whole(show.CheckResult(verdicts=tuple(verdicts)))
    elif not output.jsonl:
        show.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate))


def uninterrupted(folder: Path, work: Coroutine[Any, Any, T]) -> T:
    """The work's result; Ctrl-C becomes exit 130 and the line that goes on."""
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command with --run {folder} resumes", err=True)
        raise typer.Exit(INTERRUPTED) from None


def read_gate(output: OutputParameters) -> tuple[frozenset[str], float | None]:
    """The meanings that fail a run, and the least share of supported claims.

    Raises:
        UsageError: no verdict means that.
    """
    from redargue.claims import Meaning
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean

    fail_on = output.fail_on or []
    for name in fail_on:
        if name not in list(Meaning):
            known = [each.value for each in Meaning]
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
