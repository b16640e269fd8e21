"""The bundled starter corpus: sixty short articles, so that a first check needs no other documents."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

from redargue.errors import StoreUnavailable, UnreadableFile, UsageError
from redargue.files import NO_ROOM, make_folder
from redargue.paths import home
from redargue.retrieval.corpus.index import Corpus, default_store, open_corpus
from redargue.retrieval.corpus.ingest import read_documents

ARTICLES = Path(str(files("redargue.retrieval.corpus") / "starter"))
_STARTER = "starter"


def open_store(store: str | Path | None) -> Corpus:
    """Opens the given store; default: the user's corpus, or the starter corpus if the user has none.

    Raises StoreUnavailable while documents are being added, and UsageError if the starter corpus cannot be written.
    """
    if store == _STARTER or has_no_corpus(store):
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
