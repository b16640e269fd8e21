"""Opens a corpus by its address.

Another package adds a store by the scheme of its addresses, through the entry point ``redargue.corpus_stores``.
"""

from __future__ import annotations

import re
from pathlib import Path

from redargue.paths import home
from redargue.retrieval.corpus.base import Added, Corpus, Encoder, Entry, stores

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
