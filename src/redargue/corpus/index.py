"""Opens a corpus by its address. Add a store: one module, and one line in ``corpus.base.STORES``."""

from __future__ import annotations

import re
from pathlib import Path

from redargue.corpus.base import Added, Corpus, Encoder, Entry, stores
from redargue.home import home

__all__ = ["Added", "Corpus", "Encoder", "Entry", "default_store", "open_corpus"]

_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(.*)", re.DOTALL)  # two letters at least: C:\ is a drive


def open_corpus(uri: str | Path, *, write: bool = False, embedder: Encoder | None = None) -> Corpus:
    """The corpus at an address.

    Args:
        uri: a path, or ``scheme:address``; a path object is never taken for a scheme.
        write: whether documents may be added and removed; makes the store where there is none.
        embedder: makes the vectors; the package's own by default.

    Raises:
        UsageError: no such store, or nothing there to read; or it was made with another embedder.
        CorpusError: what is there cannot be used.
    """
    match = _SCHEME.fullmatch(uri) if isinstance(uri, str) else None
    scheme, address = match.groups() if match else ("sqlite", str(uri))
    return stores[scheme](address, write=write, embedder=embedder)


def default_store() -> Path:
    """Where the user's corpus is."""
    return home() / "corpus.db"
