"""``redargue check``: verifies a claim, a file of claims, or a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.exit import exit_code, read_gate, run_or_interrupt
from redargue.cli.parameters import (
    AsJson,
    OutputParameters,
    RunFolder,
    RunParameters,
    SearchParameters,
    with_parameters,
)

if TYPE_CHECKING:
    from redargue.config import RunConfig

CONCURRENCY = 2  # claims


@with_parameters
def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|-",
            help="A claim, a file of claims (.txt, one per line, or .jsonl), a text (.md), or - for standard input.",
        ),
    ],
    *,
    as_: Annotated[
        str, typer.Option("--as", help="What the input is: claims, text, dialogue (a reply), or qa (verified whole).")
    ] = "",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="The question that a text answers, or the dialogue before it.")
    ] = "",
    options: RunParameters,
    search: SearchParameters,
    run: RunFolder = None,
    json: AsJson = False,
    output: OutputParameters,
) -> None:
    """Verify a claim, a file of claims, or a text.

    Prints each verdict with quotations, failed searches and cost. The schemas of --json and --jsonl are in docs/schemas
    (check.v1, text.v1).
    """
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
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.cli.options import claims_of, connected
    from redargue.verifier import Verifier

    claims, gate = claims_of(claim, config), read_gate(output)
    with (
        Verifier(config, components=connected(config), folder=folder, claims=claims) as verifier,
        Viewer(verifier, claims, concurrency=concurrency, quiet=output.quiet) as viewer,
    ):
        done = (lambda _, verdict: show.print_jsonl(verdict)) if output.jsonl else None
        work = verifier.verify_all(claims, concurrency=concurrency, listeners=[viewer.see], done=done)
        verdicts = run_or_interrupt(folder, work)
    if json:
        show.print_json(show.CheckResult(verdicts=tuple(verdicts)))
    elif not output.jsonl:
        show.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate))
