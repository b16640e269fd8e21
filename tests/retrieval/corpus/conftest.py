"""Stores that are closed again, and the encoder they use in place of the model."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from redargue.retrieval.corpus import Corpus
from redargue.retrieval.corpus.index import open_corpus
from retrieval.corpus.words import Opener, WordEncoder, address

MISSING = importlib.util.find_spec("pymilvus") is None or importlib.util.find_spec("milvus_lite") is None

STORES = (
    "sqlite",
    pytest.param(
        "milvus",
        marks=[pytest.mark.extra, pytest.mark.skipif(MISSING, reason="needs pip install -e '.[milvus]'")],
    ),
    *(["milvus-server"] if "MILVUS_URI" in os.environ else []),  # any server: its collections test_… are dropped
)


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> str:
    """The scheme of a store; a test that takes it, or ``opened``, is run with each."""
    return str(request.param)


@pytest.fixture
def opened(store: str, tmp_path: Path, encoder: WordEncoder) -> Iterator[Opener]:
    """Opens ``corpus.db`` of the test's folder (or another place) and closes it when the test ends."""
    corpora: list[Corpus] = []

    def open_one(path: Path | None = None, *, write: bool = True) -> Corpus:
        corpus = open_corpus(address(store, path or tmp_path / "corpus.db"), write=write, embedder=encoder)
        corpora.append(corpus)
        return corpus

    yield open_one
    for corpus in corpora:
        corpus.close()
    if store == "milvus-server":
        _drop_collections()


def _drop_collections() -> None:
    from pymilvus import MilvusClient

    client = MilvusClient(os.environ["MILVUS_URI"])
    for name in client.list_collections():
        if name.startswith("test_"):
            client.drop_collection(name)
    client.close()
