"""A corpus to which documents are being added is refused: its searches would miss some."""

from __future__ import annotations

import os
import socket
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from redargue.cli.app import run
from redargue.errors import StoreUnavailable
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus, open_store
from redargue.retrieval.corpus.ingest import NotComplete, moment
from retrieval.corpus.words import Opener


def document(number: int) -> Document:
    return Document(id=f"d{number}", text=f"Document {number} is about the bridge.")


def test_a_corpus_is_refused_while_documents_are_added_and_used_afterwards(opened: Opener) -> None:
    corpus, refused = opened(), []

    def meanwhile(_: object) -> None:
        with pytest.raises(StoreUnavailable, match="being added") as why:
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


def test_an_addition_that_was_abandoned_is_not_waited_for_even_if_the_clock_was_set_back_since(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with open_corpus(path, write=True) as corpus:
        corpus.add([])
    for since, complete in (("2026-01-01T00:00:00", True), (moment(), False), ("2999-01-01T00:00:00", True)):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('adding', ?)", (since,))
        if complete:
            open_store(path).close()
        else:
            with pytest.raises(StoreUnavailable, match="not complete"):
                open_store(path)


def test_a_corpus_is_refused_until_the_last_of_two_writers_has_ended(tmp_path: Path) -> None:
    path, refused = tmp_path / "c.db", []

    def meanwhile(_: object) -> None:
        with open_corpus(path, write=True) as other:
            other.add([document(1)])
        with pytest.raises(StoreUnavailable, match="being added"):
            open_store(path)
        refused.append(True)

    with open_corpus(path, write=True) as corpus:
        corpus.add([document(0)], progress=meanwhile)
    assert refused
    open_store(path).close()


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up as POSIX systems do")
def test_the_mark_of_a_killed_writer_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with open_corpus(path, write=True) as corpus:
        corpus.add([document(0)])
        no_process = f"adding {socket.gethostname()} {2**31 - 1} 0"
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("INSERT INTO meta VALUES (?, ?)", (no_process, moment()))
        with pytest.raises(StoreUnavailable, match="not complete"):
            corpus.require_complete()
        with pytest.warns(NotComplete, match=r"was interrupted at 20.* UTC: .*run it again"):
            corpus.add([document(1)])
        corpus.require_complete()
        corpus.add([document(2)])  # said once


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up as POSIX systems do")
@pytest.mark.parametrize("command", ["add", "sync"])
def test_who_adds_other_documents_is_told_of_an_addition_that_was_killed(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "c.db", tmp_path / "docs"
    folder.mkdir()
    (folder / "tower.txt").write_text("The tower opened in 1889.")
    with open_corpus(path, write=True) as corpus:
        corpus.add([document(0)])
    with closing(sqlite3.connect(path)) as database, database:
        since = "2026-01-02T03:04:05"
        database.execute("INSERT INTO meta VALUES (?, ?)", (f"adding {socket.gethostname()} {2**31 - 1} 0", since))
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside of tests
        assert run(["corpus", command, str(folder), "--store", str(path)]) == 0
    note = f"note: an addition to {str(path)!r} was interrupted at 2026-01-02 03:04 UTC: unless it was the one that"
    assert note in capsys.readouterr().err
