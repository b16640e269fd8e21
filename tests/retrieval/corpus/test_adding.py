"""A corpus to which documents are being added is refused: its searches would miss some."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from redargue.errors import StoreLocked
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.corpus.shipped import open_store
from retrieval.corpus.words import Opener


def document(number: int) -> Document:
    return Document(id=f"d{number}", text=f"Document {number} is about the bridge.")


def test_a_corpus_is_refused_while_documents_are_added_and_used_afterwards(opened: Opener) -> None:
    corpus, refused = opened(), []

    def meanwhile(_: object) -> None:
        with pytest.raises(StoreLocked, match="being added") as why:
            opened(write=False).require_complete()
        refused.append(why.value.hint)

    corpus.add([document(number) for number in range(3)], progress=meanwhile)
    corpus.require_complete()
    assert refused
    assert "redargue corpus add" in refused[0]


def test_a_corpus_is_used_after_an_addition_that_failed(opened: Opener) -> None:
    def documents() -> Iterator[Document]:
        yield document(1)
        raise OSError("the file ends here")

    corpus = opened()
    with pytest.raises(OSError, match="ends here"):
        corpus.add(documents())
    corpus.require_complete()


def test_an_addition_that_was_abandoned_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with open_corpus(path, write=True) as corpus:
        corpus.add([])
    for since, complete in (("2026-01-01T00:00:00", True), ("2999-01-01T00:00:00", False)):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE meta SET value = ? WHERE name = 'adding'", (since,))
        if complete:
            open_store(path).close()
        else:
            with pytest.raises(StoreLocked, match="not complete"):
                open_store(path)
