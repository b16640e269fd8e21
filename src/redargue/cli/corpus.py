"""``redargue corpus``: index files, list and remove documents, search them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.sanitize import printable

if TYPE_CHECKING:  # they load numpy and pydantic, which --help does not need
    from redargue.errors import UnreadableFile
    from redargue.evidence import Passage
    from redargue.retrieval.corpus.base import Added, Corpus
    from redargue.retrieval.corpus.documents import Document

app = typer.Typer(help="Index files and folders, and search them without a network.", no_args_is_help=True)

Store = Annotated[
    str,
    typer.Option(
        "--store", envvar="REDARGUE_STORE", help="Path or address (milvus:PATH.db, milvus:http://…); yours by default."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

FINISHED_WITH_ERRORS = 3
INTERRUPTED = 130


class Mode(StrEnum):
    """How a search ranks."""

    FUSED = "fused"
    KEYWORDS = "keywords"


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: txt, md, html, pdf, jsonl; also with .gz.")],
    store: Store = "",
    dataset: Annotated[
        str, typer.Option(help="The documents that a data set brings along: feverous, pubmedqa or scifact.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add documents; the same command again adds only what is new or has changed."""
    from redargue.bench.datasets.documents import documents
    from redargue.retrieval.corpus.ingest import find_files, read_documents

    started = time.monotonic()
    # A path that is not there is refused before any work.
    sources = [documents(dataset, path) if dataset else read_documents(path) for path in paths]
    seen = sum(1 for path in paths for _ in find_files(path))
    unreadable: list[UnreadableFile] = []

    def readable() -> Iterator[Document]:
        for source in sources:
            for each in source:
                if isinstance(each, Exception):
                    unreadable.append(each)
                    typer.echo(f"skipped: {printable(str(each))}", err=True)
                else:
                    yield each

    with _open(store, write=True) as corpus, _progress() as show:
        try:
            added = corpus.add(readable(), progress=show)
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on where it was", err=True)
            raise typer.Exit(INTERRUPTED) from None
    seconds = round(time.monotonic() - started, 1)
    if as_json:
        errors = [{"error": each.what, "where": each.where, "hint": each.hint} for each in unreadable]
        _print_json({"files": seen, **added.model_dump(), "seconds": seconds, "unreadable": errors})
    else:
        typer.echo(
            f"{_count(seen, 'file')}: {added.added:,} added, {added.unchanged:,} unchanged, {added.replaced:,} replaced"
            f" ({_count(added.chunks, 'chunk')}) in {seconds} s"
        )
    if unreadable:
        typer.echo(f"{_count(len(unreadable), 'file or line', 'files or lines')} could not be read", err=True)
        raise typer.Exit(FINISHED_WITH_ERRORS)


@app.command("ls")
def list_documents(store: Store = "", as_json: AsJson = False) -> None:
    """List the documents: when they were added, their length in characters, their id, their title."""
    with _open(store) as corpus:
        entries, revision = corpus.documents(), corpus.revision
    if as_json:
        _print_json({"revision": revision, "documents": [entry.model_dump() for entry in entries]})
        return
    for entry in entries:
        typer.echo(printable(f"{entry.added}  {entry.chars:>9,}  {entry.id}  {entry.title}".rstrip(), lines=False))
    typer.echo(f"{_count(len(entries), 'document')}, revision {revision}", err=True)


@app.command("rm")
def remove(
    names: Annotated[list[str] | None, typer.Argument(help="Ids, or the files or folders they came from.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all documents.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = "",
    as_json: AsJson = False,
) -> None:
    """Remove documents."""
    from redargue.errors import UsageError

    if everything == bool(names):
        raise UsageError("rm takes ids or paths, or --all", hint="redargue corpus ls lists the ids")
    with _open(store, write=True, make=False) as corpus:
        if everything and not yes and not typer.confirm("Remove all documents?", err=True):
            raise typer.Exit(1)
        removed = corpus.clear() if everything else corpus.remove(names or [])
    if as_json:
        _print_json({"removed": removed})
    else:
        typer.echo(f"{_count(removed, 'document')} removed")


@app.command()
def search(
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages.")] = 3,
    mode: Annotated[Mode, typer.Option(help="By meaning and words, or whole documents by words.")] = Mode.FUSED,
    store: Store = "",
    as_json: AsJson = False,
) -> None:
    """Search the documents."""
    with _open(store) as corpus:
        find = corpus.search if mode is Mode.FUSED else corpus.search_keywords
        passages, revision = find(query, k), corpus.revision
    if as_json:
        found = [passage.model_dump(mode="json") for passage in passages]
        _print_json({"query": query, "mode": mode.value, "revision": revision, "passages": found})
        return
    for passage in passages:
        typer.echo(_shown(passage))
    if not passages:
        typer.echo("nothing found", err=True)


def _shown(passage: Passage) -> str:
    source = " · ".join(filter(None, (passage.publisher, passage.published, passage.url)))
    head = f"{passage.rank}. {passage.title or passage.document}" + (f" ({source})" if source else "")
    at = f"   {passage.document} at {passage.start:,}, score {passage.score:.4g}"
    body = printable(passage.text).replace("\n", "\n   ")
    return f"{printable(head, lines=False)}\n{printable(at, lines=False)}\n   {body}\n"


@contextmanager
def _open(store: str, *, write: bool = False, make: bool = True) -> Iterator[Corpus]:
    from redargue.retrieval.corpus.index import default_store, open_corpus

    where = store or default_store()
    if write and not make:
        open_corpus(where).close()  # refuses what is not there, instead of making it
    with open_corpus(where, write=write) as corpus:
        yield corpus


@contextmanager
def _progress() -> Iterator[Callable[[Added], None]]:
    """What to call with each batch's sum: a line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} documents"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda added: bar.update(task, completed=added.documents)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _print_json(value: object) -> None:
    """In ASCII, so that no document's character reaches a terminal as it is."""
    typer.echo(json.dumps(value, indent=2))
