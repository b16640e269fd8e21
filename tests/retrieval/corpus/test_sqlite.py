"""The SQLite store: what is kept, what it refuses, what survives."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from redargue import database
from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.retrieval.corpus import documents
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import default_store, open_corpus
from redargue.retrieval.corpus.sqlite import SqliteCorpus
from retrieval.corpus.documents import BRIDGE, TOWER, many
from retrieval.corpus.words import WordEncoder

SqliteOpener = Callable[..., SqliteCorpus]


@pytest.fixture
def opened(tmp_path: Path, encoder: WordEncoder) -> Iterator[SqliteOpener]:
    corpora: list[SqliteCorpus] = []

    def open_one(path: Path | None = None, *, write: bool = True) -> SqliteCorpus:
        corpus = SqliteCorpus(path or tmp_path / "corpus.db", write=write, embedder=encoder)
        corpora.append(corpus)
        return corpus

    yield open_one
    for corpus in corpora:
        corpus.close()


def counts(path: Path) -> dict[str, int]:
    """Rows of each table, as another program sees them."""
    with closing(sqlite3.connect(path)) as db:
        tables = ("documents", "chunks", "chunk_words_docsize", "document_words_docsize")
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


@pytest.mark.slow
def test_clearing_gives_the_room_back(opened: SqliteOpener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add(many(2000, "fact that takes some room " * 5))
    assert corpus.clear() == 2000
    assert corpus.documents() == ()
    assert corpus.search("fact") == corpus.search_keywords("fact") == ()
    corpus.add([TOWER])
    assert corpus.search_keywords("opened")[0].document == "tower"
    corpus.close()
    assert (tmp_path / "corpus.db").stat().st_size < 200_000


def test_replacing_and_removing_leaves_no_rows_behind(opened: SqliteOpener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    corpus.add([BRIDGE.model_copy(update={"text": "The bridge was repainted."})])
    assert set(counts(tmp_path / "corpus.db").values()) == {2}
    corpus.remove(["tower"])
    assert set(counts(tmp_path / "corpus.db").values()) == {1}
    database_of(corpus).execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")


def database_of(corpus: SqliteCorpus) -> sqlite3.Connection:
    return corpus._db._connection


@pytest.mark.slow
def test_a_full_disk_loses_the_batch_in_hand_only(opened: SqliteOpener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "BATCH", 10)
    corpus = opened()
    corpus.add(many(20))
    before, held = corpus.revision, corpus.documents()
    pages = database_of(corpus).execute("PRAGMA page_count").fetchone()[0]
    database_of(corpus).execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StoreUnavailable, match="what was stored before is intact"):
        corpus.add([Document(id="big", text="word " * 50_000)])
    assert (corpus.revision, corpus.documents()) == (before, held)
    assert corpus.search("number 7")[0].document == "d7"
    database_of(corpus).execute("PRAGMA max_page_count = 100000")
    assert corpus.add([Document(id="big", text="word " * 50_000)]).added == 1


def test_a_second_writer_is_told_so(opened: SqliteOpener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database.Database, "busy_timeout", 0.1)
    corpus = opened()
    corpus.add([TOWER])
    with closing(sqlite3.connect(tmp_path / "corpus.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="written to by another process"):
            corpus.add([BRIDGE])
        assert corpus.search("tower")[0].document == "tower"
        assert opened(write=False).search("tower")[0].document == "tower"
        other.execute("ROLLBACK")
    assert corpus.add([BRIDGE]).added == 1


@pytest.mark.parametrize("content", [b"a text file, and a long one" * 10, b"x", b"SQLite format 3\0" + b"\0" * 84])
@pytest.mark.parametrize("write", [True, False])
def test_a_foreign_file_is_left_as_it_is(tmp_path: Path, content: bytes, write: bool) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="not a redargue corpus"):
        SqliteCorpus(path, write=write)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE documents (x)")
    content = path.read_bytes()
    with pytest.raises(CorpusError):
        SqliteCorpus(path, write=True)
    assert path.read_bytes() == content


def read_all(path: Path, encoder: WordEncoder) -> None:
    with SqliteCorpus(path, embedder=encoder) as corpus:
        corpus.documents()
        corpus.search("number 77")


def test_a_damaged_file_is_called_so(opened: SqliteOpener, tmp_path: Path, encoder: WordEncoder) -> None:
    path = tmp_path / "corpus.db"
    with opened(path) as corpus:
        corpus.add(many(500))
    whole = path.read_bytes()
    for damaged in (whole[:4096] + b"\xff" * (len(whole) - 4096), whole[: len(whole) // 2], whole[:100]):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match="is damaged"):
            read_all(path, encoder)


def test_a_corpus_without_the_name_of_its_embedder_is_damaged(opened: SqliteOpener, tmp_path: Path) -> None:
    opened().close()
    with closing(sqlite3.connect(tmp_path / "corpus.db")) as db, db:
        db.execute("DELETE FROM meta")
    with pytest.raises(CorpusError, match="is damaged: it names no embedder"):
        opened()


def test_a_link_to_itself_is_not_taken_for_a_corpus_that_is_not_made_yet(opened: SqliteOpener, tmp_path: Path) -> None:
    (tmp_path / "corpus.db").symlink_to("corpus.db")
    with pytest.raises(UsageError, match="Too many levels of symbolic links"):
        opened(write=False)


def test_a_vector_of_a_wrong_length_is_damage(opened: SqliteOpener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add([TOWER])
    with closing(sqlite3.connect(tmp_path / "corpus.db")) as db, db:
        db.execute("UPDATE chunks SET vector = x'0011'")
    with pytest.raises(CorpusError, match="vector of chunk 1"):
        corpus.search("tower")
    assert corpus.search_keywords("tower")


def test_an_empty_file_is_a_store_that_was_never_finished(opened: SqliteOpener, tmp_path: Path) -> None:
    (tmp_path / "corpus.db").touch()
    with pytest.raises(UsageError, match="no corpus at"):
        opened(write=False)
    assert opened().add([TOWER]).added == 1


def test_nothing_to_read_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"redargue corpus add FILES --store .*none\.db"):
        SqliteCorpus(tmp_path / "none.db")
    with pytest.raises(UsageError, match="cannot be opened"):
        SqliteCorpus(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be opened"):
        SqliteCorpus(tmp_path / "file" / "corpus.db", write=True)


def test_a_corpus_in_a_read_only_folder_can_be_read(
    opened: SqliteOpener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as corpus:
        corpus.add([TOWER])
    monkeypatch.setattr(os, "access", lambda *_: False)
    with opened(write=False) as reader:
        assert reader.search("tower")[0].document == "tower"
    assert [each.name for each in tmp_path.glob("corpus*")] == ["corpus.db"]


def test_another_embedder_and_a_newer_format_are_refused(opened: SqliteOpener, tmp_path: Path) -> None:
    path = tmp_path / "corpus.db"
    with opened() as corpus:
        corpus.add([TOWER])
    with pytest.raises(UsageError, match="vectors of 'words', not of 'all-minilm-l6-v2-int8'"):
        SqliteCorpus(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(UsageError, match="newer redargue"):
        opened()


def test_the_store_is_chosen_by_the_address(tmp_path: Path, encoder: WordEncoder) -> None:
    for address in (str(tmp_path / "a.db"), f"sqlite:{tmp_path}/a.db", tmp_path / "x:a.db", "./b.db"):
        with open_corpus(address, write=True, embedder=encoder) as corpus:
            assert corpus.documents() == ()
    assert {each.name for each in tmp_path.glob("*.db")} == {"a.db", "x:a.db", "b.db"}
    with pytest.raises(UsageError, match="did you mean 'sqlite'"):
        open_corpus("sqlit:here")


def test_the_users_corpus_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path))
    assert default_store() == tmp_path / "corpus.db"
    monkeypatch.delenv("REDARGUE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert default_store() == tmp_path / "xdg" / "redargue" / "corpus.db"


def test_the_nearest_vectors_are_those_of_a_full_search(opened: SqliteOpener, encoder: WordEncoder) -> None:
    corpus = opened()
    animals = "fox dog cat owl bee ant elk cow pig hen".split()
    texts = [f"{a} {b} {a}" for a in animals for b in animals]
    corpus.add(Document(id=str(n), text=text) for n, text in enumerate(texts))
    vectors = encoder.encode(texts).astype(np.float16).astype(np.float32)
    with corpus._db.read() as db:
        numbers, matrix = corpus._all_vectors(db)
    assert numbers == list(range(1, 101))
    assert np.array_equal(matrix, vectors)
    assert corpus.search("fox owl fox")[0].text == "fox owl fox"


def test_a_second_connection_of_a_process_leaves_the_first_one_its_locks(tmp_path: Path, opened: SqliteOpener) -> None:
    """A file that is closed loses all locks of its process; the last of the others would then take the log away."""
    path = tmp_path / "corpus.db"
    first = opened(path)
    first.add([TOWER])
    opened(path, write=False).close()
    elsewhere = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute(\"UPDATE meta SET value = 'seen' WHERE name = 'content'\")\n"
        "db.close()"
    )
    subprocess.run([sys.executable, "-c", elsewhere, str(path)], check=True)
    with first._db.write() as db:
        assert db.execute("SELECT value FROM meta WHERE name = 'content'").fetchone() == ("seen",)
        db.execute("UPDATE meta SET value = 'mine' WHERE name = 'content'")
    with opened(path, write=False)._db.read() as db:
        assert db.execute("SELECT value FROM meta WHERE name = 'content'").fetchone() == ("mine",)
