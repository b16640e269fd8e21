"""A text on the command line: read, taken apart, verified, shown; for ``check`` and ``ground``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from redargue.cli.parameters import OutputParameters
    from redargue.config import RunConfig
    from redargue.evidence import Passage
    from redargue.text.report import Report
    from redargue.text.segment import Text
    from redargue.text.verification import Prepared

CLAIMS = "claims"
FILES = (".txt", ".md")


def kind_of(given: str, claim: str) -> str:
    """What the argument of ``check`` holds: as it is said, else a text where it is a .md file, and claims otherwise.

    Raises:
        UsageError: no such kind.
    """
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean
    from redargue.text.segment import KINDS

    if given and given not in (CLAIMS, *KINDS):
        raise UsageError(f"no kind of text {given!r}", where="--as", hint=did_you_mean(given, [CLAIMS, *KINDS]))
    return given or ("text" if claim.endswith(".md") else CLAIMS)


def read_text(given: str, kind: str, question: str, where: str) -> Text:
    """The text that an argument names: a .txt or .md file, standard input, or the text itself.

    Raises:
        UsageError: it cannot be read, or is no text of that kind.
    """
    from typing import cast

    from redargue.text.segment import Kind
    from redargue.text.verification import text_of

    context = _content(question, "--question") if question else ""
    return text_of(_content(given, where), kind=cast(Kind, kind), context=context)


def _content(given: str, where: str) -> str:
    from redargue.errors import UsageError

    path = Path(given)
    if given != "-" and ("\n" in given or path.suffix not in FILES):
        return given
    try:
        raw = sys.stdin.buffer.read() if given == "-" else path.read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{given!r} cannot be read: {why}", where=where) from error


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
    """Verifies a text, prints its report and exits.

    Args:
        text: what is checked.
        config: of the run.
        folder: of the run.
        output: what is printed, and the user's gate.
        documents: the only evidence; None to search.
        concurrency: number of claims verified at the same time; None for the default.
        json: print the report as JSON.

    Raises:
        Exit: with the code that the verdicts and the user's gate amount to.
    """
    from redargue.cli import show
    from redargue.cli.exit import exit_code, read_gate, uninterrupted
    from redargue.cli.options import connected
    from redargue.text.verification import CONCURRENCY, prepare

    gate, components = read_gate(output), connected(config)

    async def work() -> Report:
        prepared = await prepare(text, config, components, documents=documents, folder=folder)
        if not output.quiet:
            typer.echo(_told(prepared), err=True)
        return await _verified(prepared, output, concurrency or CONCURRENCY)

    found = uninterrupted(folder, work())
    if json:
        show.whole(found)
    elif not output.jsonl:
        show.report(found, folder)
    raise typer.Exit(exit_code([checked.verdict for checked in found.claims], gate))


async def _verified(prepared: Prepared, output: OutputParameters, concurrency: int) -> Report:
    """The report; progress is shown, and with --jsonl each claim as soon as it has a verdict."""
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.text.report import CheckedClaim
    from redargue.verdicts import Verdict

    def done(item: int, verdict: Verdict) -> None:
        at = prepared.extraction.claims[item]
        stated = prepared.text.text[at.start : at.end]
        if output.jsonl:
            show.line(CheckedClaim(start=at.start, end=at.end, stated=stated, verdict=verdict))

    with prepared.verifier() as verifier:
        if not prepared.claims:
            return prepared.report([])
        with Viewer(verifier, prepared.claims, concurrency=concurrency, quiet=output.quiet) as viewer:
            verdicts = await verifier.verify_all(
                prepared.claims, concurrency=concurrency, listeners=[viewer.see], done=done
            )
    return prepared.report(verdicts)


def _told(prepared: Prepared) -> str:
    claims, without = len(prepared.claims), len(prepared.extraction.unchecked)
    said = f"{claims} claim{'s' * (claims != 1)} in {len(prepared.text.text):,} characters"
    return f"{said}; {without} sentence{'s' * (without != 1)} without one" if without else said
