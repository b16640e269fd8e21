"""Reads, verifies and reports a text, for ``check`` and ``ground``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from redargue.errors import UsageError
from redargue.registry import did_you_mean

if TYPE_CHECKING:
    from redargue.cli.parameters import OutputParameters
    from redargue.config import RunConfig
    from redargue.evidence import Passage
    from redargue.text.report import Report
    from redargue.text.segment import Text
    from redargue.text.verification import Prepared

CLAIMS = "claims"
SUFFIXES = (".txt", ".md")


def kind_of(kind: str, claim: str) -> str:
    """What the argument of ``check`` is: the value of --as, by default a text for a .md file and claims otherwise."""
    from redargue.text.segment import KINDS

    if kind and kind not in (CLAIMS, *KINDS):
        raise UsageError(f"no kind of text {kind!r}", where="--as", hint=did_you_mean(kind, [CLAIMS, *KINDS]))
    return kind or ("text" if claim.endswith(".md") else CLAIMS)


def read_text(argument: str, kind: str, question: str, where: str) -> Text:
    """The text that an argument names: a .txt or .md file, standard input, or the text itself."""
    from typing import cast

    from redargue.text.segment import Kind
    from redargue.text.verification import text_of

    context = _content(question, "--question") if question else ""
    return text_of(_content(argument, where), kind=cast(Kind, kind), context=context)


def _content(argument: str, where: str) -> str:
    from redargue.cli.options import read_argument

    is_file = argument == "-" or ("\n" not in argument and Path(argument).suffix in SUFFIXES)
    return read_argument(argument, where) if is_file else argument


def verify_text(
    text: Text,
    config: RunConfig,
    folder: Path,
    output: OutputParameters,
    documents: Sequence[Passage] | None = None,
    *,
    concurrency: int | None,
    json: bool,
) -> NoReturn:
    """Verifies a text, prints its report and exits; ``documents``, if given, are the only evidence."""
    from redargue.cli import show
    from redargue.cli.exit import exit_code, read_gate, run_or_interrupt
    from redargue.cli.options import connected
    from redargue.sanitize import counted
    from redargue.text.verification import CONCURRENCY, prepare

    gate, components = read_gate(output), connected(config)

    async def verify() -> Report:
        prepared = await prepare(text, config, components, documents=documents, folder=folder)
        if not output.quiet:
            unchecked = len(prepared.extraction.unchecked)
            rest = f"; {counted(unchecked, 'sentence')} without one" if unchecked else ""
            typer.echo(f"{counted(len(prepared.claims), 'claim')} in {len(text.text):,} characters{rest}", err=True)
        return await _verify(prepared, output, concurrency or CONCURRENCY)

    report = run_or_interrupt(folder, verify())
    if json:
        show.print_json(report)
    elif not output.jsonl:
        show.report(report, folder)
    raise typer.Exit(exit_code([checked.verdict for checked in report.claims], gate))


async def _verify(prepared: Prepared, output: OutputParameters, concurrency: int) -> Report:
    """Shows progress, and with --jsonl prints each claim when it has a verdict."""
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.text.report import CheckedClaim
    from redargue.verdicts import Verdict

    def done(item: int, verdict: Verdict) -> None:
        span = prepared.extraction.claims[item]
        stated = prepared.text.text[span.start : span.end]
        if output.jsonl:
            show.print_jsonl(CheckedClaim(start=span.start, end=span.end, stated=stated, verdict=verdict))

    with prepared.verifier() as verifier:
        if not prepared.claims:
            return prepared.report([])
        with Viewer(verifier, prepared.claims, concurrency=concurrency, quiet=output.quiet) as viewer:
            verdicts = await verifier.verify_all(
                prepared.claims, concurrency=concurrency, listeners=[viewer.see], done=done
            )
    return prepared.report(verdicts)
