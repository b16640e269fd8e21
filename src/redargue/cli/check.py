"""``redargue check``: one claim, standard input, a file of claims, or a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.exit import exit_code, read_gate, uninterrupted
from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, with_parameters

if TYPE_CHECKING:
    from redargue.config import RunConfig

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
    from redargue.cli.options import run_config
    from redargue.cli.text import CLAIMS, kind_of, read_text, verify_text
    from redargue.paths import home
    from redargue.runs.record import new_run_folder

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
