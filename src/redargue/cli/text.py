"""Verifies and reports a text, for ``check`` and ``ground``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from redargue.cli.output import JsonLines, print_json
from redargue.sanitize import counted

if TYPE_CHECKING:
    from redargue.cli.parameters import OutputParameters
    from redargue.evidence import Passage
    from redargue.runs.manifest import Origin
    from redargue.spec import RunSpec
    from redargue.text.citations import PreparedCitations
    from redargue.text.report import Report
    from redargue.text.segment import Text
    from redargue.text.verification import PreparedText


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
    from redargue.cli.output import exit_code, how_to_resume, read_gate, resumable
    from redargue.cli.report import print_report
    from redargue.net.fetch import PageFetcher
    from redargue.text.citations import prepare_cited
    from redargue.text.report import unchecked_reasons
    from redargue.text.verification import CONCURRENCY, prepare

    gate, parts = read_gate(output), connected(spec)
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
            unchecked, claims = len(prepared.extraction.unchecked), counted(len(prepared.claims), "claim")
            rest = f"; {counted(unchecked, 'sentence')} without one" if unchecked else ""
            typer.echo(f"{claims} in {len(text.text):,} characters{rest}", err=True)
        named = json or output.jsonl  # the report below names each claim once
        return await _verify(prepared, whole, output, concurrency or CONCURRENCY, named=named)

    with resumable(how_to_resume(folder)):
        report = asyncio.run(verify())
    if json:
        print_json(report)
    elif not output.jsonl:
        print_report(report, folder)
    verdicts = [checked.verdict for checked in report.claims]
    raise typer.Exit(exit_code(verdicts, gate, unchecked_reasons(report.unchecked)))


async def _verify(
    prepared: PreparedText,
    whole: PreparedText | PreparedCitations,
    output: OutputParameters,
    concurrency: int,
    *,
    named: bool,
) -> Report:
    from redargue.batch import to_json_line
    from redargue.cli.live import Viewer
    from redargue.verdicts import Verdict

    lines = JsonLines(ordered=output.ordered)

    def done(item: int, verdict: Verdict) -> None:
        if output.jsonl:
            lines.add(item, to_json_line(item + 1, "", whole.checked(item, verdict)))

    with prepared.verifier() as verifier:
        if not prepared.claims:
            return whole.report([])
        with Viewer(verifier, prepared.claims, concurrency=concurrency, output=output, named=named) as viewer:
            verdicts = await verifier.verify_all(
                prepared.claims, concurrency=concurrency, listeners=[viewer.see], done=done
            )
    return whole.report(verdicts)
