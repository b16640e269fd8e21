"""``redargue check``: verifies a claim, a file of claims, or a text."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.exit import exit_code, how_to_resume, read_gate, resumable
from redargue.cli.output import JsonLines, print_json
from redargue.cli.parameters import (
    AsJson,
    Fetch,
    Mapping,
    NoRecord,
    OutputParameters,
    RunFolder,
    RunParameters,
    SearchParameters,
    with_parameters,
)
from redargue.errors import UsageError
from redargue.sanitize import printable

if TYPE_CHECKING:
    from redargue.inputs.claims import ClaimRow, RefusedRow
    from redargue.runs.manifest import Origin
    from redargue.spec import RunSpec
    from redargue.verdicts import Verdict

CLAIM_CONCURRENCY = 2  # claims


@with_parameters
def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|URL|-",
            help="A claim; a text (several sentences); a file of claims (csv, tsv, json, jsonl, or txt, one per line); "
            "a document (txt, md, html, pdf, docx, odt, rtf, eml); the URL of a page, with --fetch; or - for standard "
            "input.",
        ),
    ],
    *,
    as_: Annotated[
        str,
        typer.Option(
            "--as", help="What the input is: claim (one), claims, text, dialogue (a reply), or qa (verified whole)."
        ),
    ] = "",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="The question that a text answers, or the dialogue before it.")
    ] = "",
    cited: Annotated[
        bool,
        typer.Option(
            "--cited", help="Check each claim of a text against the pages and files that it links there, and no others."
        ),
    ] = False,
    fetch: Fetch = False,
    mapping: Mapping = None,
    options: RunParameters,
    search: SearchParameters,
    run: RunFolder = None,
    no_record: NoRecord = False,
    json: AsJson = False,
    output: OutputParameters,
) -> None:
    """Verify a claim, a file of claims, or a text.

    Prints each verdict with quotations, failed searches and cost. Schemas of --json and --jsonl: docs/schemas.
    """
    from redargue.cli.arguments import file_name, read_input
    from redargue.cli.options import run_config, run_folder
    from redargue.runs.manifest import Origin

    spec = run_config(options, replace(search, offline=search.offline or cited), run).updated(offline=search.offline)
    kind = "text" if cited and not as_ else as_
    text, rows, note = read_input(claim, kind, question, spec, fetch=fetch, links=cited, mapping=mapping or ())
    if cited and not text:
        hint = "drop --as, or choose text, dialogue or qa"
        raise UsageError("claims cite no pages: --cited checks a text", where="--cited", hint=hint)
    if note and not output.quiet:
        typer.echo(note, err=True)
    folder = run_folder(run, no_record=no_record)
    shared: dict[str, Any] = {"origin": Origin(name=file_name(claim)), "json": json}
    if text:
        from redargue.cli.text import verify_and_print

        shared |= {"links": claim if cited else "", "concurrency": options.concurrency}
        verify_and_print(text, spec, folder, output, **shared)
    _verify(rows, spec, folder, output, concurrency=options.concurrency or CLAIM_CONCURRENCY, **shared)


def _verify(
    rows: list[ClaimRow | RefusedRow],
    spec: RunSpec,
    folder: Path | None,
    output: OutputParameters,
    *,
    origin: Origin,
    concurrency: int,
    json: bool,
) -> None:
    from redargue.cli import report
    from redargue.cli.live import Viewer
    from redargue.cli.options import with_contexts
    from redargue.inputs.claims import ClaimRow, RefusedRow
    from redargue.verifier import Verifier

    gate, lines = read_gate(output), JsonLines(ordered=output.ordered)
    accepted = [row for row in rows if isinstance(row, ClaimRow)]
    refused = [row for row in rows if isinstance(row, RefusedRow)]
    claims = [row.claim for row in accepted]

    def print_line(row: ClaimRow | RefusedRow, verdict: Verdict | None = None) -> None:
        from redargue.batch import refused_line, to_json_line

        if isinstance(row, RefusedRow):
            lines.add(row.number - 1, refused_line(row))
        elif verdict:
            lines.add(row.number - 1, to_json_line(row.number, row.id, verdict))

    for row in refused:
        if output.jsonl:
            print_line(row)
        typer.echo(printable(f"refused: {row.error}"), err=True)
    spec, parts = with_contexts(spec, accepted)
    with (
        resumable(how_to_resume(folder)),
        Verifier(spec, parts=parts, folder=folder, claims=claims, origin=origin) as verifier,
        Viewer(verifier, claims, concurrency=concurrency, output=output) as viewer,
    ):

        def done(item: int, verdict: Verdict) -> None:
            if output.jsonl:
                print_line(accepted[item], verdict)

        work = verifier.verify_all(claims, concurrency=concurrency, listeners=[viewer.see], done=done)
        verdicts = asyncio.run(work)
    if json:
        from redargue.reports.load import CheckResult

        print_json(CheckResult(verdicts=tuple(verdicts)))
    elif not output.jsonl:
        report.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate, refused=len(refused)))
