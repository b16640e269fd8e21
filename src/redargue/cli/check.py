"""``redargue check`` verifies a claim, a file of claims, or a text; ``redargue estimate`` says what that would cost.

``redargue ground`` verifies and reports its text by the same functions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from redargue import words
from redargue.cli import parameters
from redargue.cli.output import exit_code, how_to_resume, print_json, read_gate, resumable
from redargue.errors import BudgetReached, ProviderError, UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.cli.arguments import Input
    from redargue.cli.parameters import OutputParameters
    from redargue.estimate import Estimate
    from redargue.evidence import Passage
    from redargue.runs.manifest import Origin
    from redargue.spec import RunSpec
    from redargue.text import Report
    from redargue.text.citations import PreparedCitations
    from redargue.text.segment import Text
    from redargue.text.verification import PreparedText
    from redargue.verdicts import Verdict
    from redargue.verifier import Verifier


def verify_and_print(
    text: Text,
    spec: RunSpec,
    folder: Path | None,
    output: OutputParameters,
    documents: Sequence[Passage] | None = None,
    *,
    origin: Origin,
    links: str = "",
    concurrency: int | None,
    json: bool,
) -> NoReturn:
    """Verifies a text, prints its report and exits.

    ``documents``, if given, are the only evidence; with ``links``, the argument that gave the text, the pages
    and files that it links are.
    """
    from redargue.cli.options import connected
    from redargue.cli.report import print_report
    from redargue.net.fetch import PageFetcher
    from redargue.runs.record import DRAFT
    from redargue.text import unchecked_reasons
    from redargue.text.citations import prepare_cited
    from redargue.text.verification import prepare

    gate, parts = read_gate(output, json=json), connected(spec)
    files = Path(links).parent if links and os.path.isfile(links) else None

    async def verify() -> Report:
        whole: PreparedText | PreparedCitations
        if links:
            fetcher = PageFetcher.from_environment(offline=spec.offline)
            whole = await prepare_cited(text, spec, fetcher, parts, folder, origin, files=files)
            prepared = whole.prepared
        else:
            whole = prepared = await prepare(text, spec, parts, documents=documents, folder=folder, origin=origin)
        if not output.quiet:
            claims = f"{counted(len(prepared.claims), 'claim')} in {len(text.text):,} characters"
            others = words.without_claims(each.why for each in prepared.extraction.unchecked)
            typer.echo("; ".join(filter(None, (claims, others))), err=True)
        named = json or output.jsonl  # the report below names each claim once
        return await _verify_prepared(prepared, whole, output, concurrency, named=named)

    try:
        with resumable(how_to_resume(folder)):
            report = asyncio.run(verify())
    except (BudgetReached, ProviderError):
        if folder and (folder / DRAFT).is_dir():
            typer.echo(how_to_resume(folder), err=True)
        raise
    if json:
        print_json(report)
    elif not output.jsonl:
        print_report(report, folder)
    verdicts = [checked.verdict for checked in report.claims]
    raise typer.Exit(exit_code(verdicts, gate, unchecked_reasons(report.unchecked)))


async def _verify_prepared(
    prepared: PreparedText,
    whole: PreparedText | PreparedCitations,
    output: OutputParameters,
    concurrency: int | None,
    *,
    named: bool,
) -> Report:
    from redargue.batch import to_json_line
    from redargue.cli.live import Viewer

    def done(item: int, verdict: Verdict) -> None:
        if output.jsonl:
            typer.echo(to_json_line(item + 1, "", whole.checked(item, verdict)))

    with prepared.verifier() as verifier:
        if not prepared.claims:
            return whole.report([])
        most = concurrency or verifier.text_concurrency
        with Viewer(verifier, prepared.claims, concurrency=most, output=output, named=named) as viewer:
            verdicts = await verifier.verify_all(prepared.claims, concurrency=most, listeners=[viewer.see], done=done)
    return whole.report(verdicts)


@parameters.with_parameters
def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|URL|-",
            help="A claim; a text (several sentences); a file of claims (csv, tsv, json, jsonl, or txt, one per line); "
            "a document (txt, md, html, pdf, docx, odt, rtf, xlsx, eml); the URL of a page, with --fetch; or - for "
            "standard input.",
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
        shared |= {"links": claim if cited else "", "concurrency": concurrency}
        verify_and_print(given.text, spec, folder, output, **shared)
    _verify(given, spec, folder, output, concurrency=concurrency, **shared)


def _verify(
    given: Input,
    spec: RunSpec,
    folder: Path | None,
    output: parameters.OutputParameters,
    *,
    origin: Origin,
    concurrency: int | None,
    json: bool,
) -> None:
    from redargue.cli import report
    from redargue.cli.live import Viewer
    from redargue.cli.options import with_contexts
    from redargue.verifier import Verifier

    gate, claims = read_gate(output, json=json), given.claims
    for row in given.refused:
        if output.jsonl:
            from redargue.batch import refused_line

            typer.echo(refused_line(row))
        typer.echo(printable(f"refused: {row.error}"), err=True)

    def print_line(item: int, verdict: Verdict) -> None:
        from redargue.batch import to_json_line

        row = given.rows[item]
        typer.echo(to_json_line(row.number, row.id, verdict))

    spec, parts = with_contexts(spec, given.rows)
    with (
        resumable(how_to_resume(folder)),
        Verifier(spec, parts=parts, folder=folder, claims=claims, origin=origin) as verifier,
        Viewer(verifier, claims, concurrency=concurrency or verifier.concurrency, output=output) as viewer,
    ):
        done = print_line if output.jsonl else None
        work = verifier.verify_all(claims, concurrency=concurrency, listeners=[viewer.see], done=done)
        verdicts = asyncio.run(work)
    if json:
        from redargue.reports import CheckResult, RefusedEntry
        from redargue.verdicts import ErrorInfo

        refused = (RefusedEntry(item=row.number, id=row.id, error=ErrorInfo.of(row.error)) for row in given.refused)
        print_json(CheckResult(verdicts=tuple(verdicts), refused=tuple(refused)))
    elif not output.jsonl:
        report.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate, refused=len(given.refused)))


@parameters.with_parameters
def estimate_costs(
    claim: Annotated[str, typer.Argument(metavar="CLAIM|FILE|-", help="A claim, a text or a file, as for check.")],
    *,
    reading: parameters.InputParameters,
    options: parameters.RunParameters,
    search: parameters.SearchParameters,
    record: parameters.RecordParameters,
    json: parameters.AsJson = False,
    output: parameters.OutputParameters,
) -> None:
    """Estimate what check would cost, without calling a model and without a key.

    Takes the same arguments as check; those for the record and the output have no effect. With --cited, a claim
    without a link counts too. Prints calls, depth (calls in sequence), tokens, price and time.
    """
    from redargue.cli.options import connected, run_config
    from redargue.estimate import claims_in, estimate
    from redargue.verifier import Verifier

    spec = run_config(options, search)
    given = reading.read(claim, spec)
    if given.note and not output.quiet:
        typer.echo(given.note, err=True)
    text = given.text
    claims = list(claims_in(text, spec.labels)) if text else given.claims
    with Verifier(spec, parts=connected(spec), claims=claims, sends=False) as verifier:
        estimated = estimate(
            verifier,
            claims,
            concurrency=options.concurrency or (verifier.text_concurrency if text else verifier.concurrency),
            text=text,
        )
    if answers := sum(row.answer is not None for row in given.rows):
        uncounted = f"batch also verifies {counted(answers, 'answer')} claim by claim, which is not counted here"
        estimated = estimated.model_copy(update={"assumed": (*estimated.assumed, uncounted)})
    if json:
        print_json(estimated)
        return
    _print(estimated, verifier)


def _print(estimated: Estimate, verifier: Verifier) -> None:
    from redargue.cli.progress import duration

    backend = verifier.backend.name
    typer.echo(f"{counted(estimated.claims, 'claim')}; {verifier.method.name}, {backend} backend")
    typer.echo(f"{'':8}    calls  depth  searches   tokens in       out     price      time")
    for name in ("low", "likely", "high"):
        row = getattr(estimated, name)
        cost = "unknown" if row.usd is None else f"${row.usd:.4f}"
        price = cost if backend == "chat" else "-"
        typer.echo(
            f"{name:8}{row.calls:>9,}{row.depth:>7}{row.searches:>10,}{row.prompt_tokens:>12,}"
            f"{row.completion_tokens:>10,}{price:>10}{duration(row.seconds, digits=1):>10}"
        )
    for assumption in estimated.assumed:
        typer.echo(f"assumed: {assumption}")
