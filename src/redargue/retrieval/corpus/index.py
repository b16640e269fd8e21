"""Opens a corpus by its address.

Another package adds a store by the scheme of its addresses, through the entry point ``redargue.corpus_stores``.
"""

from __future__ import annotations

import hashlib
import os
import re
from importlib.resources import files
from pathlib import Path

from redargue.errors import StoreUnavailable, UnreadableFile, UsageError
from redargue.files import NO_ROOM, home, lock, make_folder
from redargue.retrieval.corpus.base import Added, Corpus, Encoder, Entry, stores
from redargue.retrieval.corpus.ingest import read_documents

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
    return stores[scheme](address, write=write, embedder=embedder)


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
            _index_starter(store)
        except OSError as error:
            what = f"the starter corpus cannot be written to {str(store.parent)!r}: {error.strerror or error}"
            hint = "make room, or set REDARGUE_HOME to a folder that can be written"
            if error.errno in NO_ROOM:
                raise StoreUnavailable(what, full=True, hint=hint) from error
            raise UsageError(what, hint=hint) from error
    return open_corpus(store)


def _index_starter(store: Path) -> None:
    make_folder(store.parent)
    waited = lock(store.with_suffix(".lock"), wait=True)
    try:
        if not store.exists():
            _write_starter(store)
    finally:
        os.close(waited)


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
