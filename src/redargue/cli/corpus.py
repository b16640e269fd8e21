"""``redargue corpus``: indexes files, lists, removes and searches documents."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from redargue.cli.output import FINISHED_WITH_ERRORS, print_json, read_entries, resumable
from redargue.cli.parameters import AsJson, Yes, option
from redargue.errors import UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:  # numpy and pydantic would slow down --help
    from redargue.errors import UnreadableFile
    from redargue.evidence import Passage
    from redargue.retrieval.corpus import Added, Corpus
    from redargue.retrieval.corpus.documents import Document

corpus_app = typer.Typer(help="Index files and folders, and search them without a network.", no_args_is_help=True)

_Store = Annotated[str, option("STORE", "Path or URI (milvus:PATH.db, milvus:http://…); default: your own corpus.")]

_Version = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, '.', '-' and '_'.")]


@corpus_app.command("add")
def add_documents(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files and folders: txt, md, html, pdf, docx, odt, rtf, xlsx, eml, csv, tsv, json, jsonl; also .gz."
        ),
    ],
    store: _Store = "",
    dataset: Annotated[
        str, typer.Option(help="Read the paths as documents of a data set: feverous, pubmedqa or scifact.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Add documents that are new or have changed."""
    from redargue.retrieval.corpus.documents import dataset_documents
    from redargue.retrieval.corpus.ingest import find_files, read_documents, without_repeated_ids

    started = time.monotonic()
    # Raises for a missing path before any work is done.
    sources = [dataset_documents(dataset, path) if dataset else read_documents(path) for path in paths]
    seen = sum(1 for path in paths for _ in find_files(path))
    unreadable: list[UnreadableFile] = []

    def readable() -> Iterator[Document]:
        for document in without_repeated_ids(chain.from_iterable(sources)):
            if isinstance(document, Exception):
                unreadable.append(document)
                typer.echo(f"skipped: {printable(str(document))}", err=True)
            else:
                yield document

    with resumable("the same command resumes"), _open(store, write=True) as corpus, _progress() as show:
        added = corpus.add(readable(), progress=show)
    seconds = round(time.monotonic() - started, 1)
    if as_json:
        errors = [{"error": error.what, "where": error.where, "hint": error.hint} for error in unreadable]
        print_json({"files": seen, **added.model_dump(), "seconds": seconds, "unreadable": errors})
    else:
        typer.echo(
            f"{counted(seen, 'file')}: {added.added:,} added, {added.unchanged:,} unchanged, "
            f"{added.replaced:,} replaced ({counted(added.chunks, 'chunk')}) in {seconds} s"
        )
    if unreadable:
        typer.echo(f"{counted(len(unreadable), 'file or line', 'files or lines')} could not be read", err=True)
        raise typer.Exit(FINISHED_WITH_ERRORS)


@corpus_app.command("sync")
def sync_documents(
    folder: Annotated[Path, typer.Argument(help="A folder; the ids of its documents are paths relative to it.")],
    store: _Store = "",
    empty: Annotated[bool, typer.Option("--empty", help="Remove all documents if the folder has none left.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add what is new or changed in a folder, and remove what was deleted."""
    from redargue.retrieval.corpus.index import sync_folder

    with resumable("the same command resumes"), _open(store, write=True) as corpus, _progress() as show:
        synced = sync_folder(corpus, folder, empty=empty, progress=show)
    if as_json:
        print_json(synced.model_dump())
    else:
        groups = (synced.added, synced.changed, synced.removed, synced.kept)
        for sign, ids in zip("+~-!", groups, strict=True):
            for id_ in ids:
                typer.echo(printable(f"{sign} {id_}", lines=False))
        for old, new in synced.renamed:
            typer.echo(printable(f"> {old} is now {new}", lines=False))
        renamed = f"{len(synced.renamed):,} renamed, " if synced.renamed else ""
        left = counted(len(synced.kept), "kept as it was", "kept as they were")
        kept = f", {left}" if synced.kept else ""
        typer.echo(
            f"{len(synced.added):,} added, {len(synced.changed):,} changed, {len(synced.removed):,} removed, {renamed}"
            f"{synced.unchanged:,} unchanged{kept}"
        )
    for where, what in synced.unreadable:
        typer.echo(printable(f"skipped: {where}: {what}", lines=False), err=True)
    if synced.unreadable:
        raise typer.Exit(FINISHED_WITH_ERRORS)


@corpus_app.command("save")
def save_version(name: _Version, store: _Store = "") -> None:
    """Keep the corpus as it is now under a name."""
    from redargue.retrieval.corpus.index import save

    typer.echo(f"saved: {name}, revision {save(_file(store), name)}")


@corpus_app.command("restore")
def restore_version(name: _Version, store: _Store = "") -> None:
    """Make the corpus what it was when it was saved under a name."""
    from redargue.retrieval.corpus.index import restore

    typer.echo(f"restored: {name}, revision {restore(_file(store), name)}")


@corpus_app.command("versions")
def list_versions(store: _Store = "", as_json: AsJson = False) -> None:
    """List saved versions: date, revision, documents, name."""
    from redargue.retrieval.corpus.index import read_version, versions

    found, code = read_entries(read_version, versions(_file(store)))
    with _open(store) as corpus:
        current = corpus.revision
    if as_json:
        print_json({"revision": current, "versions": found})
        raise typer.Exit(code)
    for version in found:
        same = "  (as it is now)" if version.revision == current else ""
        typer.echo(f"{version.saved}  {version.revision}  {version.documents:>9,}  {version.name}{same}")
    typer.echo(counted(len(found), "version"), err=True)
    raise typer.Exit(code)


def _file(store: str) -> Path:
    """The file of a corpus; raises UsageError for a Milvus store."""
    from redargue.retrieval.corpus.index import default_store

    location = str(store or default_store()).removeprefix("sqlite:")
    if location.startswith("milvus:"):
        hint = "a server has backups of its own; sync another ?collection=NAME, and name that in --store"
        what = f"{location!r} has no versions: they are copies of a SQLite file"
        raise UsageError(what, where="--store", hint=hint)
    return Path(location).expanduser()


@corpus_app.command("ls")
def list_documents(store: _Store = "", as_json: AsJson = False) -> None:
    """List documents: date added, length in characters, id, title."""
    with _open(store) as corpus:
        entries, revision = corpus.documents(), corpus.revision
    if as_json:
        print_json({"revision": revision, "documents": entries})
        return
    for entry in entries:
        line = f"{entry.added}  {entry.chars:>9,}  {entry.id}  {entry.title}"
        typer.echo(printable(line.rstrip(), lines=False))
    typer.echo(f"{counted(len(entries), 'document')}, revision {revision}", err=True)


@corpus_app.command("rm")
def remove_documents(
    names: Annotated[
        list[str] | None, typer.Argument(help="Document ids, or the files or folders that were added.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all documents.")] = False,
    yes: Yes = False,
    store: _Store = "",
    as_json: AsJson = False,
) -> None:
    """Remove documents."""
    if everything == bool(names):
        raise UsageError("rm takes ids or paths, or --all", hint="list the ids with redargue corpus ls")
    with _open(store, write=True, create=False) as corpus:
        wide = [name for name in names or [] if _is_wide(name)]
        below = f" below {', '.join(map(repr, wide))}" if wide else ""
        what = f"Remove all documents{below}?"
        if (everything or wide) and not yes and not typer.confirm(printable(what), err=True):
            removed = 0
        else:
            removed = corpus.clear() if everything else corpus.remove(names or [])
    if as_json:
        print_json({"removed": removed})
    else:
        typer.echo(f"{counted(removed, 'document')} removed")


def _is_wide(name: str) -> bool:
    """Whether a path is the working folder, the user's home, or a folder above one of them."""
    # Two slashes at the start are kept by abspath.
    path = Path(os.path.abspath(os.path.expanduser(name)).replace("//", "/"))
    return any(folder.is_relative_to(path) for folder in (Path.cwd(), Path.home()))


@corpus_app.command()
def search(
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, max=1_000, help="Number of passages.")] = 3,
    mode: Annotated[
        Literal["fused", "keywords"],
        typer.Option(help="fused: passages by meaning and keywords; keywords: whole documents."),
    ] = "fused",
    store: _Store = "",
    as_json: AsJson = False,
) -> None:
    """Search the documents."""
    with _open(store) as corpus:
        corpus.require_complete()
        find = corpus.search if mode == "fused" else corpus.search_keywords
        passages, revision = find(query, k), corpus.revision
    if as_json:
        print_json({"query": query, "mode": mode, "revision": revision, "passages": passages})
        return
    for passage in passages:
        typer.echo(_passage_text(passage))
    if not passages:
        typer.echo("nothing found", err=True)


def _passage_text(passage: Passage) -> str:
    source = " · ".join(filter(None, (passage.publisher, passage.published, passage.url)))
    source = f" ({source})" if source else ""
    head = f"{passage.rank}. {passage.title or passage.document}{source}"
    at = f"   {passage.document} at {passage.start:,}, score {passage.score:.4g}"
    body = printable(passage.text).replace("\n", "\n   ")
    return f"{printable(head, lines=False)}\n{printable(at, lines=False)}\n   {body}\n"


def _open(store: str, *, write: bool = False, create: bool = True) -> Corpus:
    from redargue.net.services import is_offline, require_local
    from redargue.retrieval.corpus import stores
    from redargue.retrieval.corpus.index import STARTER, default_store, open_corpus, open_starter

    location = store or default_store()
    if location == STARTER and write:
        what = "the sample articles that come with redargue cannot be changed"
        hint = "add your documents to a new corpus: --store field.db"
        raise UsageError(what, where="--store", hint=hint)
    if is_offline():
        require_local(str(location), what="corpus", stores=stores)
    if location == STARTER:
        return open_starter()
    if write and not create:
        open_corpus(location).close()  # raises if there is no corpus; writing would create one
    return open_corpus(location, write=write)


@contextmanager
def _progress() -> Iterator[Callable[[Added], None]]:
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} documents"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda added: bar.update(task, completed=added.documents)
