"""``redargue ground``: verifies an answer against the documents that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.parameters import (
    AsJson,
    OutputParameters,
    RunFolder,
    RunParameters,
    SearchParameters,
    with_parameters,
)
from redargue.errors import UnreadableFile, UsageError

if TYPE_CHECKING:
    from redargue.evidence import Passage

SUFFIXES = (".txt", ".md", ".html", ".htm", ".pdf", ".jsonl")


@with_parameters
def ground(
    *,
    answer: Annotated[
        str,
        typer.Option(
            "--answer", metavar="TEXT|FILE|-", help="The answer: text, a .txt or .md file, or - for standard input."
        ),
    ],
    context: Annotated[
        list[str],
        typer.Option(
            "--context",
            metavar="TEXT|FILE",
            help="A source document: text, or a txt, md, html, pdf or jsonl file; repeatable.",
        ),
    ],
    kind: Annotated[
        str, typer.Option("--as", help="What the answer is: text, dialogue (a reply), summary, or qa (verified whole).")
    ] = "text",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="The question that was answered, or the dialogue before it.")
    ] = "",
    options: RunParameters,
    run: RunFolder = None,
    json: AsJson = False,
    output: OutputParameters,
) -> None:
    """Verify an answer against its source documents.

    Only these documents are evidence: no search sends a request. The schema of --json is docs/schemas/text.v1.json.
    """
    from redargue.cli.options import run_config
    from redargue.cli.text import CLAIMS, kind_of, read_text, verify_text
    from redargue.paths import home
    from redargue.runs.record import new_run_folder

    if kind_of(kind, answer) == CLAIMS:
        raise UsageError("'claims' is not a kind of answer", where="--as", hint="text, dialogue, summary or qa")
    text = read_text(answer, kind, question, "--answer")
    config = run_config(options, SearchParameters(offline=True), run)
    config = config.updated(offline=not config.model)  # a named language model may be called
    documents = [document for place in context for document in _documents(place)]
    folder = run or new_run_folder(home())
    verify_text(text, config, folder, output, documents, concurrency=options.concurrency, json=json)


def _documents(context: str) -> list[Passage]:
    """The documents of a file, or the text itself."""
    from redargue.evidence import Passage
    from redargue.retrieval.corpus.ingest import read_documents

    if "\n" in context or Path(context.removesuffix(".gz")).suffix.lower() not in SUFFIXES:
        return [Passage(text=context, document="context")]
    passages = []
    for document in read_documents(Path(context)):
        if isinstance(document, UnreadableFile):
            raise UsageError(document.what, where=document.where, hint=document.hint)
        fields = document.model_dump(include={"text", "title", "url", "publisher", "published"})
        passages.append(Passage(**fields, document=document.id))
    return passages
