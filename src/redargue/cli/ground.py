"""``redargue ground``: an answer against the documents it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.cli.estimate import like_check

if TYPE_CHECKING:
    from redargue.evidence import Passage

NOT_ASKED = ("claim", "as_", "tool", "mcp", "store", "offline")  # the documents are the only evidence


@like_check(*NOT_ASKED)
def ground(
    *,
    answer: Annotated[
        str, typer.Option("--answer", metavar="TEXT|FILE|-", help="The answer; a .txt or .md file; - for stdin.")
    ],
    context: Annotated[
        list[str],
        typer.Option("--context", metavar="TEXT|FILE", help="A document: txt, md, html, pdf, jsonl; repeatable."),
    ],
    kind: Annotated[
        str, typer.Option("--as", help="The answer is a text, a reply in a dialogue, a summary, or qa: one claim.")
    ] = "text",
    **given: Any,
) -> None:
    """Verifies an answer claim by claim against given documents alone; no tool sends a request."""
    from redargue.cli.options import verifier_options
    from redargue.cli.text import CLAIMS, kind_of, read_text, verify
    from redargue.errors import UsageError

    if kind_of(kind, answer) == CLAIMS:
        raise UsageError("an answer is no list of claims", where="--as", hint="text, dialogue, summary or qa")
    text = read_text(answer, kind, given["question"], "--answer")
    options = verifier_options({**given, "tool": None, "mcp": None, "store": None, "offline": True})
    options["offline"] = not options["model"]  # a language model is asked where one is named
    verify(given, text, options, [document for each in context for document in _documents(each)])


def _documents(given: str) -> list[Passage]:
    """The documents of a file, or the text itself.

    Raises:
        UsageError: a file that cannot be read.
    """
    from redargue.corpus.ingest import read_documents
    from redargue.errors import UnreadableFile, UsageError
    from redargue.evidence import Passage

    if "\n" in given or Path(given.removesuffix(".gz")).suffix.lower() not in READ:
        return [Passage(text=given, document="context")]
    found = []
    for each in read_documents(Path(given)):
        if isinstance(each, UnreadableFile):
            raise UsageError(each.what, where=each.where, hint=each.hint)
        fields = each.model_dump(include={"text", "title", "url", "publisher", "published"})
        found.append(Passage(**fields, document=each.id))
    return found


READ = (".txt", ".md", ".html", ".htm", ".pdf", ".jsonl")
