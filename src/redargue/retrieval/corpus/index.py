"""Opens a corpus by its address, and makes it hold what a folder holds.

Another package adds a store by the scheme of its addresses, through the entry point ``redargue.corpus_stores``.

New and changed files of a folder enter the corpus, deleted ones leave it. A SQLite corpus has named copies, in the
folder ``FILE.versions`` beside it, to which it can be rolled back.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from redargue.claims import Frozen
from redargue.errors import StoreUnavailable, UnreadableFile, UsageError
from redargue.files import NO_ROOM, home, locked, make_folder, make_private
from redargue.registry import did_you_mean
from redargue.retrieval.corpus import Added, Corpus, Encoder, Entry, stores
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import read_documents, without_repeated_ids
from redargue.retrieval.corpus.sqlite import SqliteCorpus

__all__ = ["Added", "Corpus", "Encoder", "Entry", "default_store", "open_corpus"]

_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(.*)", re.DOTALL)  # at least two letters: C:\ is a drive


def open_corpus(uri: str | Path, *, write: bool = False, embedder: Encoder | None = None) -> Corpus:
    """Opens a corpus.

    Args:
        uri: a path, or ``scheme:address``; a ``Path`` is always a path.
        write: whether documents may be added and removed; creates the store if it does not exist.
        embedder: computes the vectors; default: the bundled embedder.

    Raises:
        UsageError: the scheme is unknown, there is no store to read, or it was made with another embedder.
        CorpusError: the store cannot be used.
    """
    match = _SCHEME.fullmatch(uri) if isinstance(uri, str) else None
    scheme, address = match.groups() if match else ("sqlite", str(uri))
    with stores.blamed(scheme):
        corpus = stores[scheme](address, write=write, embedder=embedder)
        if not isinstance(corpus, Corpus):
            raise TypeError(f"it returned {corpus!r:.60}, not a Corpus")
    return corpus


def default_store() -> Path:
    return home() / "corpus.db"


# The bundled starter corpus: sixty short articles, so that a first check needs no other documents.
ARTICLES = Path(str(files("redargue.retrieval.corpus") / "starter"))
STARTER = "starter"


def open_store(store: str | Path | None) -> Corpus:
    """Opens the given store; default: the user's corpus, or the starter corpus if the user has none.

    Raises StoreUnavailable while documents are being added, and UsageError if the starter corpus cannot be written.
    """
    if store == STARTER or has_no_corpus(store):
        return open_starter()
    corpus = open_corpus(store or default_store())
    try:
        corpus.require_complete()
    except BaseException:
        corpus.close()
        raise
    return corpus


def has_no_corpus(store: str | Path | None) -> bool:
    """Whether no store is given and the user has none, so that the starter corpus is searched."""
    return store is None and not default_store().exists()


def open_starter() -> Corpus:
    """Opens the starter corpus; indexes it on first use and after its articles have changed.

    Raises UsageError if redargue's home cannot be written.
    """
    content = b"".join(path.read_bytes() for path in sorted(ARTICLES.glob("*.md")))
    store = home() / f"starter-{hashlib.sha256(content).hexdigest()[:12]}.db"
    if not store.exists():
        try:
            make_folder(store.parent)
            with locked(store.with_suffix(".lock"), wait=True):
                if not store.exists():
                    _write_starter(store)
        except OSError as error:
            what = f"the starter corpus cannot be written to {str(store.parent)!r}: {error.strerror or error}"
            hint = "make room, or set REDARGUE_HOME to a folder that can be written"
            if error.errno in NO_ROOM:
                raise StoreUnavailable(what, full=True, hint=hint) from error
            raise UsageError(what, hint=hint) from error
    return open_corpus(store)


def _write_starter(store: Path) -> None:
    unfinished = store.with_suffix(".new")
    for leftover in store.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()
    with open_corpus(unfinished, write=True) as corpus:
        documents = []
        for document in read_documents(ARTICLES):
            if isinstance(document, UnreadableFile):
                raise document
            # The file name as id, instead of its path, makes the revision the same on every machine.
            documents.append(document.model_copy(update={"id": Path(document.path).stem, "path": ""}))
        corpus.add(documents)
    unfinished.replace(store)  # atomic: readers see a complete index or none


class Synced(Frozen):
    """The ids of documents that entered, changed and left."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]  # old and new ids of documents added under absolute paths
    unchanged: int
    kept: tuple[str, ...]  # of files that exist and could not be read
    unreadable: tuple[tuple[str, str], ...]


def sync_folder(
    corpus: Corpus, folder: Path, *, empty: bool = False, progress: Callable[[Added], None] | None = None
) -> Synced:
    """Adds what is new or changed below a folder, then removes the documents whose files or rows are gone.

    Ids are the paths of files relative to the folder, with slashes; documents that were added under their absolute
    paths get these. Documents from elsewhere stay. An interrupted call is completed by the next. ``empty``: all
    documents of the folder may leave.

    Raises UsageError, and changes nothing, if the folder does not exist, holds no document that can be read while the
    corpus has documents of it, or has an id that a document from elsewhere has.
    """
    if not folder.is_dir():
        what, command = ("add", "add") if folder.exists() else ("remove", "rm")
        hint = f"to {what} its documents: redargue corpus {command} {folder}, with the same --store"
        raise UsageError(f"no folder {str(folder)!r}", hint=hint)
    root = Path(os.path.abspath(folder))
    known = {entry.id: entry.path for entry in corpus.documents()}
    mine = {id_ for id_, path in known.items() if path and Path(path).is_relative_to(root)}
    seen: dict[str, bool] = {}  # whether it is new or changed
    unreadable: list[UnreadableFile] = []

    def entering() -> Iterator[Document]:
        for document in without_repeated_ids(_relative_documents(root)):
            if isinstance(document, UnreadableFile):
                unreadable.append(document)
                continue
            if document.id in known and document.id not in mine:
                what = f"{document.id!r} is also the id of a document from elsewhere: {known[document.id] or 'no file'}"
                raise UsageError(what, hint="give the folder a corpus of its own: --store PATH")
            seen[document.id] = document.id not in known or corpus.document(document.id).sha256 != document.sha256
            yield document

    for _ in entering():  # before anything is changed
        pass
    lost = {place for error in unreadable for place in (error.where, error.where.rpartition(":")[0])}
    places = {id_: {known[id_], *map(str, Path(known[id_]).parents)} for id_ in mine - set(seen)}
    kept = {id_ for id_, own in places.items() if lost & own}  # the file or its folder exists, but cannot be read
    removed = mine - set(seen) - kept
    if not seen and mine and not empty:
        what = f"{str(folder)!r} has no document that can be read, and the corpus has {len(mine):,} of it"
        raise UsageError(what, hint="is it the right folder, and is its disk there? To remove them all: --empty")
    changed = tuple(id_ for id_, differs in seen.items() if differs and id_ in known)
    renamed = {old: new for old in sorted(removed) if (new := _relative(old, known[old], root)) in seen}
    added = tuple(id_ for id_ in seen if id_ not in known and id_ not in renamed.values())
    unreadable.clear()
    corpus.add(entering(), progress=progress)
    if removed:
        corpus.remove(sorted(removed))
    return Synced(
        added=added,
        changed=changed,
        removed=tuple(sorted(removed - set(renamed))),
        renamed=tuple(renamed.items()),
        unchanged=len(seen) - len(added) - len(changed) - len(renamed),
        kept=tuple(sorted(kept)),
        unreadable=tuple((error.where, error.what) for error in unreadable),
    )


def _relative_documents(root: Path) -> Iterator[Document | UnreadableFile]:
    """The documents of a folder, with ids relative to it."""
    for document in read_documents(root):
        if isinstance(document, Document):
            document = document.model_copy(update={"id": _relative(document.id, document.path, root)})
        yield document


def _relative(id_: str, path: str, root: Path) -> str:
    """Ids that are paths, or start with one (``rows.jsonl:3``), without the folder; ids of rows stay as they are."""
    if not path or not id_.startswith(path):
        return id_
    return Path(path).relative_to(root).as_posix() + id_.removeprefix(path)


class CorpusVersion(Frozen):
    """A saved version; ``saved`` is its time in ISO 8601, UTC, and ``revision`` what runs record of a corpus."""

    name: str
    saved: str
    revision: str
    documents: int


def save(store: Path, name: str) -> str:
    """Copies a corpus while it may be read; its revision. Raises UsageError if there is none, or the name is taken."""
    path = _path(store, name)
    new = path.with_suffix(".new")
    with SqliteCorpus(store) as corpus:
        corpus.require_complete()
        make_folder(path.parent)
        with locked(path.parent / ".lock", wait=True):
            if path.exists():
                raise UsageError(f"there is a version {name!r} of {str(store)!r}", hint="choose another name")
            new.unlink(missing_ok=True)
            make_private(new)
            try:
                with closing(sqlite3.connect(new)) as copy:
                    corpus.copy_to(copy)
                with SqliteCorpus(new) as saved:
                    revision = saved.revision
                os.replace(new, path)
            finally:
                new.unlink(missing_ok=True)
    return revision


def restore(store: Path, name: str) -> str:
    """Replaces a corpus's content by a version's, in one step for its readers; the revision."""
    path = _path(store, name)
    if not path.exists():
        saved = [version.stem for version in versions(store)]
        hint = did_you_mean(name, saved) if saved else f"save one: redargue corpus save NAME --store {store}"
        raise UsageError(f"no version {name!r} of {str(store)!r}", hint=hint)
    with SqliteCorpus(path) as version, SqliteCorpus(store, write=True) as corpus:
        corpus.require_complete()
        version.restore_into(corpus)
        return corpus.revision


def versions(store: Path) -> list[Path]:
    """The files of a corpus' versions, newest first."""
    return sorted(_folder(store).glob("*.db"), key=lambda path: path.lstat().st_mtime, reverse=True)


def read_version(path: Path) -> CorpusVersion:
    """Raises RedargueError for a file that is no version of a corpus."""
    saved = datetime.fromtimestamp(path.lstat().st_mtime, UTC).isoformat(timespec="seconds")
    with SqliteCorpus(path) as version:
        count = len(version.documents())
        return CorpusVersion(name=path.stem, saved=saved, revision=version.revision, documents=count)


def _folder(store: Path) -> Path:
    return store.with_name(store.name + ".versions")


def _path(store: Path, name: str) -> Path:
    if not re.fullmatch(r"\w[\w.-]{0,99}", name, re.A):
        raise UsageError(f"{name!r} cannot name a version", hint="use letters, digits, '.', '-' and '_'")
    return _folder(store) / f"{name}.db"
