"""The starter corpus: sixty short articles that come with the package, so that a first claim needs no documents."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

from redargue.corpus.index import Corpus, default_store, open_corpus
from redargue.corpus.ingest import read_documents
from redargue.errors import UnreadableFile
from redargue.home import home

ARTICLES = Path(str(files("redargue.corpus") / "starter"))


STARTER = "starter"


def open_store(store: str | Path | None) -> Corpus:
    """The corpus that is named, or the user's own, or the starter corpus where there is none."""
    if store == STARTER or (store is None and not default_store().exists()):
        return open_starter()
    return open_corpus(store or default_store())


def open_starter() -> Corpus:
    """The starter corpus, indexed when it is first opened and whenever its articles have changed.

    Raises:
        CorpusError: the index cannot be written.
    """
    digest = hashlib.sha256()
    for path in sorted(ARTICLES.glob("*.md")):
        digest.update(path.read_bytes())
    store = home() / f"starter-{digest.hexdigest()[:12]}.db"
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        beside = store.with_suffix(".new")
        for old in store.parent.glob(f"{beside.name}*"):
            old.unlink()
        with open_corpus(beside, write=True) as corpus:
            documents = []
            for each in read_documents(ARTICLES):
                if isinstance(each, UnreadableFile):
                    raise each
                # Known by its name, not its place: the revision is then the same on every machine.
                documents.append(each.model_copy(update={"id": Path(each.path).stem, "path": ""}))
            corpus.add(documents)
        beside.replace(store)  # a reader meets the whole index or none
    return open_corpus(store)
