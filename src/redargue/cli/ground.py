"""``redargue ground``: an answer against the documents it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.parameters import OutputParameters, RunParameters, SearchParameters, with_parameters

if TYPE_CHECKING:
    from redargue.evidence import Passage


@with_parameters
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
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="What the answer replies to, or what was said before it.")
    ] = "",
    options: RunParameters,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Record there; the same command resumes a run that was stopped."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas: text.v1).")] = False,
    output: OutputParameters,
) -> None:
    """Verifies an answer claim by claim against given documents alone; no tool sends a request."""
    from redargue.cli.options import run_config
    from redargue.cli.text import CLAIMS, kind_of, read_text, verify_text
    from redargue.errors import UsageError
    from redargue.paths import home
    from redargue.runs.record import new_run_folder

    if kind_of(kind, answer) == CLAIMS:
        raise UsageError("an answer is no list of claims", where="--as", hint="text, dialogue, summary or qa")
    text = read_text(answer, kind, question, "--answer")
    config = run_config(options, SearchParameters(offline=True), run)
    config = config.updated(offline=not config.model)  # a language model is asked where one is named
    documents = [document for place in context for document in _documents(place)]
    folder = run or new_run_folder(home())
    verify_text(text, config, folder, output, documents, concurrency=options.concurrency, json=json)


def _documents(given: str) -> list[Passage]:
    """The documents of a file, or the text itself.

    Raises:
        UsageError: a file that cannot be read.
    """
    from redargue.errors import UnreadableFile, UsageError
    from redargue.evidence import Passage
    from redargue.retrieval.corpus.ingest import read_documents

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
