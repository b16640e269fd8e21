"""Stores that are closed again, and the encoder they use in place of the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus.words import Opener, WordEncoder
from redargue.corpus.sqlite import SqliteCorpus


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def opened(tmp_path: Path, encoder: WordEncoder) -> Iterator[Opener]:
    """Opens ``corpus.db`` of the test's folder (or another file) and closes it when the test ends."""
    corpora: list[SqliteCorpus] = []

    def open_one(path: Path | None = None, *, write: bool = True) -> SqliteCorpus:
        corpus = SqliteCorpus(path or tmp_path / "corpus.db", write=write, embedder=encoder)
        corpora.append(corpus)
        return corpus

    yield open_one
    for corpus in corpora:
        corpus.close()
