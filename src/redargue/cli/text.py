"""A text on the command line: read, taken apart, verified, shown; for ``check`` and ``ground``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from redargue.evidence import Passage
    from redargue.responses import Prepared
    from redargue.texts.report import Report
    from redargue.texts.text import Text

CLAIMS = "claims"
FILES = (".txt", ".md")


def kind_of(given: str, claim: str) -> str:
    """What the argument of ``check`` holds: as it is said, else a text where it is a .md file, and claims otherwise.

    Raises:
        UsageError: no such kind.
    """
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean
    from redargue.texts.text import KINDS

    if given and given not in (CLAIMS, *KINDS):
        raise UsageError(f"no kind of text {given!r}", where="--as", hint=did_you_mean(given, [CLAIMS, *KINDS]))
    return given or ("text" if claim.endswith(".md") else CLAIMS)


def read_text(given: str, kind: str, question: str, where: str) -> Text:
    """The text that an argument names: a .txt or .md file, standard input, or the text itself.

    Raises:
        UsageError: it cannot be read, or is no text of that kind.
    """
    from typing import cast

    from redargue.responses import text_of
    from redargue.texts.text import Kind

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


def verify(
    given: Mapping[str, Any], text: Text, options: dict[str, Any], documents: Sequence[Passage] | None = None
) -> NoReturn:
    """Verifies a text, prints its report and exits.

    Args:
        given: the command's options by name.
        text: what is checked.
        options: of the verifier.
        documents: what alone the text is read against; None to search.

    Raises:
        Exit: with the code that the verdicts and the user's gate amount to.
    """
    from redargue.api import new_run_folder
    from redargue.claims import label_sets
    from redargue.cli import show
    from redargue.cli.exit import exit_code, read_gate, uninterrupted
    from redargue.cli.options import read_day
    from redargue.errors import UsageError
    from redargue.home import home
    from redargue.responses import prepare

    gate = read_gate(given["fail_on"] or [], given["min_supported"])
    folder = given["run"] or new_run_folder(home())
    asked: dict[str, Any] = {"labels": label_sets[given["labels"]], "as_of": read_day(given["as_of"])}
    if given["only_in_time"] and asked["as_of"] is None:
        raise UsageError("no day to judge the text as of", where="--only-in-time", hint="give one: --as-of 2024-03-31")

    async def work() -> Report:
        prepared = await prepare(
            text, documents=documents, **asked, only_in_time=given["only_in_time"], folder=folder, **options
        )
        if not given["quiet"]:
            typer.echo(_told(prepared), err=True)
        return await _verified(prepared, given)

    found = uninterrupted(folder, work())
    if given["json"]:
        show.whole(found)
    elif not given["jsonl"]:
        show.report(found, folder)
    raise typer.Exit(exit_code([each.verdict for each in found.claims], gate))


async def _verified(prepared: Prepared, given: Mapping[str, Any]) -> Report:
    """The report; what is under way is shown, and with --jsonl each claim as its verdict is reached."""
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.responses import AT_ONCE
    from redargue.texts.report import CheckedClaim
    from redargue.verdicts import Verdict

    def done(item: int, verdict: Verdict) -> None:
        at = prepared.extraction.claims[item]
        stated = prepared.text.text[at.start : at.end]
        if given["jsonl"]:
            show.line(CheckedClaim(start=at.start, end=at.end, stated=stated, verdict=verdict))

    at_once = given["at_once"] or AT_ONCE
    with prepared.verifier() as verifier:
        if not prepared.claims:
            return prepared.report([])
        with Viewer(verifier, prepared.claims, at_once=at_once, quiet=given["quiet"]) as viewer:
            verdicts = await verifier.verify_all(prepared.claims, at_once=at_once, listeners=[viewer.see], done=done)
    return prepared.report(verdicts)


def _told(prepared: Prepared) -> str:
    claims, without = len(prepared.claims), len(prepared.extraction.unchecked)
    said = f"{claims} claim{'s' * (claims != 1)} in {len(prepared.text.text):,} characters"
    return f"{said}; {without} sentence{'s' * (without != 1)} without one" if without else said
