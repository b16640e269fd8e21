"""``redargue check``: verifies a claim, a file of claims, or a text."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli import parameters
from redargue.cli.output import JsonLines, exit_code, how_to_resume, print_json, read_gate, resumable
from redargue.errors import UsageError
from redargue.sanitize import printable

if TYPE_CHECKING:
    from redargue.cli.arguments import Input
    from redargue.runs.manifest import Origin
    from redargue.spec import RunSpec
    from redargue.verdicts import Verdict

CLAIM_CONCURRENCY = 2  # claims


@parameters.with_parameters
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
    reading: parameters.InputParameters,
    options: parameters.RunParameters,
    search: parameters.SearchParameters,
    record: parameters.RecordParameters,
    json: parameters.AsJson = False,
    output: parameters.OutputParameters,
) -> None:
    """Verify a claim, a file of claims, or a text.

    Prints each verdict with quotations, failed searches and cost. Schemas of --json and --jsonl: docs/schemas.
    """
    from redargue.cli.arguments import file_name
    from redargue.cli.options import run_config
    from redargue.runs.manifest import Origin

    cited, offline = reading.cited, search.offline
    spec = run_config(options, replace(search, offline=offline or cited), record.run).updated(offline=offline)
    given = reading.read(claim, spec, links=cited)
    if cited and not given.text:
        hint = "drop --as, or choose text, dialogue or qa"
        raise UsageError("claims cite no pages: --cited checks a text", where="--cited", hint=hint)
    if given.note and not output.quiet:
        typer.echo(given.note, err=True)
    folder, concurrency = record.folder(), options.concurrency
    shared: dict[str, Any] = {"origin": Origin(name=file_name(claim)), "json": json}
    if given.text:
        from redargue.cli.text import verify_and_print

        shared |= {"links": claim if cited else "", "concurrency": concurrency}
        verify_and_print(given.text, spec, folder, output, **shared)
    _verify(given, spec, folder, output, concurrency=concurrency or CLAIM_CONCURRENCY, **shared)


def _verify(
    given: Input,
    spec: RunSpec,
    folder: Path | None,
    output: parameters.OutputParameters,
    *,
    origin: Origin,
    concurrency: int,
    json: bool,
) -> None:
    from redargue.cli import report
    from redargue.cli.live import Viewer
    from redargue.cli.options import with_contexts
    from redargue.verifier import Verifier

    gate, lines, claims = read_gate(output), JsonLines(ordered=output.ordered), given.claims
    for row in given.refused:
        if output.jsonl:
            from redargue.batch import refused_line

            lines.add(row.number - 1, refused_line(row))
        typer.echo(printable(f"refused: {row.error}"), err=True)

    def print_line(item: int, verdict: Verdict) -> None:
        from redargue.batch import to_json_line

        row = given.rows[item]
        lines.add(row.number - 1, to_json_line(row.number, row.id, verdict))

    spec, parts = with_contexts(spec, given.rows)
    with (
        resumable(how_to_resume(folder)),
        Verifier(spec, parts=parts, folder=folder, claims=claims, origin=origin) as verifier,
        Viewer(verifier, claims, concurrency=concurrency, output=output) as viewer,
    ):
        done = print_line if output.jsonl else None
        work = verifier.verify_all(claims, concurrency=concurrency, listeners=[viewer.see], done=done)
        verdicts = asyncio.run(work)
    if json:
        from redargue.reports.load import CheckResult

        print_json(CheckResult(verdicts=tuple(verdicts)))
    elif not output.jsonl:
        report.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate, refused=len(given.refused)))
