"""``redargue ground``: verifies an answer against the documents that it was made from.

``redargue demo``: an answer that says more than its source does, checked sentence by sentence.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli import parameters
from redargue.errors import UnreadableFile, UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.evidence import Passage, UnreadFile
    from redargue.text.segment import Text


@parameters.with_parameters
def ground_answer(
    *,
    answer: Annotated[
        str,
        typer.Option(
            "--answer",
            metavar="TEXT|FILE|-",
            help="The answer: text, a txt, md, html, pdf, docx, odt, rtf, xlsx, eml or json file, or - for standard "
            "input.",
        ),
    ],
    context: Annotated[
        list[str],
        typer.Option(
            "--context",
            metavar="TEXT|FILE|FOLDER|URL|-",
            help="A source document: text, a file (txt, md, html, pdf, docx, odt, rtf, xlsx, eml, csv, tsv, json, "
            "jsonl), a folder, or - for standard input; repeatable.",
        ),
    ],
    kind: Annotated[
        str, typer.Option("--as", help="What the answer is: text, dialogue (a reply), summary, or qa (verified whole).")
    ] = "text",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="The question that was answered, or the dialogue before it.")
    ] = "",
    fetch: parameters.Fetch = False,
    offline: parameters.Offline = False,
    options: parameters.RunParameters,
    record: parameters.RecordParameters,
    json: parameters.AsJson = False,
    output: parameters.OutputParameters,
) -> None:
    """Verify an answer against its source documents.

    Only these documents are evidence: no search sends a request. --fetch reads pages that are given as URLs. The
    schema of --json is docs/schemas/text.v2.json.
    """
    from redargue.assembly import Parts, for_answers
    from redargue.cli.arguments import file_name, require_one_stream
    from redargue.cli.check import verify_and_print
    from redargue.cli.options import run_config
    from redargue.runs.manifest import Origin

    require_one_stream((answer, question, *context), "--answer, --question, --context")
    text = _answer(answer, kind, question, fetch=fetch, offline=offline)
    spec = run_config(options, parameters.SearchParameters(offline=True), record.run)
    spec = for_answers(spec.updated(offline=offline or not spec.model), Parts())  # a named language model may be called
    unread: list[UnreadFile] = []
    documents = _contexts(context, unread, fetch=fetch, offline=offline)
    origin = Origin(name=file_name(answer), unread_files=tuple(unread))
    folder, at_once = record.folder(), options.concurrency
    try:
        verify_and_print(text, spec, folder, output, documents, origin=origin, concurrency=at_once, json=json)
    finally:
        if unread:  # said again, below what may be a long report
            files = f"{counted(len(unread), 'file')} of --context"
            typer.echo(f"{files} not read and not used, see above", err=True)


def _answer(answer: str, kind: str, question: str, *, fetch: bool, offline: bool) -> Text:
    from redargue.cli.arguments import fetch_text, is_web_address, read_text
    from redargue.text.segment import KINDS

    if kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind of answer", where="--as", hint=did_you_mean(kind, KINDS))
    if fetch and is_web_address(answer):
        return fetch_text(answer, kind, question, offline=offline)
    return read_text(answer, kind, question, "--answer")


def _contexts(contexts: list[str], unread: list[UnreadFile], *, fetch: bool, offline: bool) -> list[Passage]:
    """The documents of all --context options; each text has a name of its own."""
    from redargue.evidence import distinct_names

    found = []
    for number, context in enumerate(contexts, 1):
        name = f"context-{number}" if number > 1 else "context"
        found += _documents(context, name, unread, fetch=fetch, offline=offline)
    names = distinct_names((document.document, document.text) for document in found)
    return [document.model_copy(update={"document": name}) for document, name in zip(found, names, strict=True)]


def _documents(context: str, name: str, unread: list[UnreadFile], *, fetch: bool, offline: bool) -> list[Passage]:
    """The documents of a --context option; ``name`` is that of a text without one."""
    from redargue.cli.arguments import fetch_page, is_web_address, named_path, read_argument
    from redargue.evidence import Passage
    from redargue.retrieval.corpus.ingest import as_unread, read_documents

    if fetch and is_web_address(context):
        return [fetch_page(context, offline=offline)]
    path = Path("-") if context == "-" else named_path(context, "--context")
    if path is None:
        if not context.strip():
            what = f"no document to check the answer against: {context!r} is blank"
            raise UsageError(what, where="--context")
        # One word is a mistyped folder rather than a document.
        if re.fullmatch(r"\s*[^\s.!?]+\s*", context):
            hint = "check the path; if this is a text, end it with a full stop"
            raise UsageError(f"no file or folder {context!r}", where="--context", hint=hint)
        return [Passage(text=context, document=name)]
    if context == "-" or path.is_fifo():
        return [Passage(text=read_argument(context, "--context"), document=name)]
    passages = []
    for document in read_documents(path):
        if not isinstance(document, UnreadableFile):
            fields = document.model_dump(include={"text", "title", "url", "publisher", "published"})
            passages.append(Passage(**fields, document=document.id))
        elif passages or path.is_dir():  # what is attached to an e-mail follows it
            typer.echo(f"skipped: {printable(str(document))}", err=True)
            unread.append(as_unread(document, path))
        else:
            raise UsageError(document.what, where=document.where, hint=document.hint)
    if not passages:
        raise UsageError(f"{context!r} contains no document that can be read", where="--context")
    return passages


_SOURCE = """Skerry Island ferry: terms of carriage

The ferry MV Orvell links Tarn Bay with Skerry Island and carries up to 240 passengers and 32 cars. \
The crossing takes 55 minutes.

Dogs travel free of charge but have to be kept on a lead. \
From Monday to Saturday the first ferry leaves Tarn Bay at 7:30, on Sundays at 9:15."""
_ANSWER = (
    "Yes, you can take your dog: dogs travel free of charge. The first ferry leaves Tarn Bay at 7:30 on Sundays. "
    "The crossing takes 75 minutes. There is a café on board."
)


def demo() -> None:
    """Check a chatbot's answer against its source: seconds, no key, no network."""
    from redargue import words
    from redargue.evidence import Side
    from redargue.reports.phrases import confidence_text, heading
    from redargue.spec import RunSpec
    from redargue.text.verification import ground

    typer.echo(f"{_SOURCE}\n\nA chatbot's answer: {_ANSWER}\n\nChecked against the source by the embedded models:\n")
    spec = RunSpec(method="single-reader", backend="embedded", offline=True)
    report = asyncio.run(ground(_ANSWER, contexts=[_SOURCE], spec=spec))
    for number, claim in enumerate(report.claims, 1):
        verdict = claim.verdict
        outcome = ", ".join(filter(None, (heading(verdict), confidence_text(verdict))))
        typer.echo(f"{number}. {claim.stated}\n   {outcome}")
        for quote in (*verdict.side(Side.FOR), *verdict.side(Side.AGAINST)):
            typer.echo(f"   Characters {quote.start}–{quote.end} of the source: “{quote.text}”")
        for difference in verdict.differences:
            typer.echo(f"   What differs: {words.difference(difference)}")
    typer.echo("\nYour own files: redargue ground --answer ANSWER --context SOURCE")
