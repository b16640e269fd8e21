"""The SQLite store: what is kept, what it refuses, what survives."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.words import Opener, WordEncoder
from redargue.corpus import batches, database
from redargue.corpus.base import Added
from redargue.corpus.documents import Document
from redargue.corpus.index import default_store, open_corpus
from redargue.corpus.sqlite import SqliteCorpus
from redargue.errors import (
    DiskFull,
    MissingExtra,
    StoreDamaged,
    StoreForeign,
    StoreLocked,
    UnknownName,
    UsageError,
)

TOWER = Document(
    id="tower",
    title="Eiffel Tower",
    text="It opened in 1889. It is 330 metres tall.",
    url="https://example.org/t",
    publisher="Example",
    published="2020-03-04",
    path="/docs/a/tower.txt",
)
BRIDGE = Document(id="bridge", text="The bridge was built in 1894.", path="/docs/bridge.txt")


def many(count: int, words: str = "fact") -> Iterator[Document]:
    return (Document(id=f"d{n}", text=f"Number {n} is a {words}.") for n in range(count))


def counts(path: Path) -> dict[str, int]:
    """Rows of each table, as another program sees them."""
    with closing(sqlite3.connect(path)) as db:
        tables = ("documents", "chunks", "chunk_words_docsize", "document_words_docsize")
        return {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


def test_adding_again_changes_nothing_and_embeds_nothing(opened: Opener, encoder: WordEncoder) -> None:
    corpus = opened()
    assert corpus.add([TOWER, BRIDGE]) == Added(added=2, chunks=2)
    before = corpus.revision
    assert corpus.add([TOWER, BRIDGE]) == Added(unchanged=2)
    assert corpus.revision == before
    assert encoder.encoded == 2


def test_another_content_under_a_known_id_takes_its_place(opened: Opener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    assert corpus.add([BRIDGE.model_copy(update={"text": "The bridge was repainted."})]) == Added(replaced=1, chunks=1)
    assert corpus.search("bridge")[0].text == "The bridge was repainted."
    assert not any("1894" in each.text for each in corpus.search_keywords("1894 bridge"))
    assert set(counts(tmp_path / "corpus.db").values()) == {2}


def test_of_two_documents_with_one_id_the_later_stays(opened: Opener) -> None:
    one, two = Document(id="a", text="One."), Document(id="a", text="Two.")
    corpus = opened()
    corpus.add([one])
    assert corpus.add([two, one]) == Added(replaced=2, chunks=2)
    assert corpus.search("one")[0].text == "One."
    assert corpus.add([one, two]).replaced == 1
    assert corpus.search("two")[0].text == "Two."


def test_the_same_content_under_another_id_is_a_document_of_its_own_and_shown_once(opened: Opener) -> None:
    corpus = opened()
    assert corpus.add([TOWER, TOWER.model_copy(update={"id": "copy"})]).added == 2
    assert [each.document for each in corpus.search("tower")] == ["tower"]
    assert [each.document for each in corpus.search_keywords("tower")] == ["tower"]


def test_a_moved_file_is_known_by_its_new_path(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER])
    assert corpus.add([TOWER.model_copy(update={"path": "/new.txt"})]) == Added(unchanged=1)
    assert corpus.documents()[0].path == "/new.txt"


def test_the_revision_names_the_content_whatever_its_order_and_history(opened: Opener, tmp_path: Path) -> None:
    one, other = opened(), opened(tmp_path / "other.db")
    empty = one.revision
    one.add([TOWER, BRIDGE])
    other.add([BRIDGE])
    assert one.revision != other.revision
    other.add([TOWER])
    assert one.revision == other.revision
    one.remove(["tower"])
    assert one.revision not in (empty, other.revision)
    one.clear()
    assert one.revision == empty == opened(tmp_path / "third.db").revision


def test_a_reader_sees_what_was_written_after_it_opened(opened: Opener) -> None:
    writer = opened()
    writer.add([TOWER])
    reader = opened(write=False)
    assert [each.document for each in reader.search("tower bridge")] == ["tower"]
    before = reader.revision
    writer.add([BRIDGE])
    assert reader.revision == writer.revision != before
    assert {each.document for each in reader.search("tower bridge")} == {"tower", "bridge"}
    writer.remove(["tower"])
    writer.add([TOWER])  # the old revision, with other chunk numbers
    assert {each.document for each in reader.search("tower bridge")} == {"tower", "bridge"}
    with pytest.raises(UsageError, match="open for reading only"):
        reader.add([BRIDGE])


def test_documents_are_listed_in_order(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    tower, bridge = corpus.documents()
    assert (tower.id, tower.title, tower.path, tower.chars, tower.chunks) == (
        "tower",
        "Eiffel Tower",
        "/docs/a/tower.txt",
        41,
        1,
    )
    assert tower.added.endswith("+00:00")
    assert bridge.id == "bridge"


def test_documents_are_removed_by_id_file_or_folder(opened: Opener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE, Document(id="other", text="x", path="/docs2/x.txt")])
    assert corpus.remove(["bridge"]) == 1
    corpus.add([BRIDGE])
    assert corpus.remove(["/docs/a/../bridge.txt", "bridge"]) == 1
    corpus.add([BRIDGE])
    assert corpus.remove(["/docs/"]) == 2
    assert [each.id for each in corpus.documents()] == ["other"]
    assert set(counts(tmp_path / "corpus.db").values()) == {1}
    assert corpus.search("tower", 5) == corpus.search("tower", 1)


def test_an_unknown_name_removes_nothing(opened: Opener) -> None:
    corpus = opened()
    corpus.add([TOWER, BRIDGE])
    for name in ("brige", "/docs/b", "", "%", "/doc"):
        with pytest.raises(UnknownName):
            corpus.remove(["tower", name])
    with pytest.raises(UnknownName, match="did you mean 'bridge'"):
        corpus.remove(["brige"])
    corpus.add(many(100))
    with pytest.raises(UnknownName, match="did you mean 'bridge'") as caught:
        corpus.remove(["brige"])
    assert "d55" not in str(caught.value)
    assert len(corpus.documents()) == 102


def test_clearing_gives_the_room_back(opened: Opener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add(many(2000, "fact that takes some room " * 5))
    assert corpus.clear() == 2000
    assert corpus.documents() == ()
    assert corpus.search("fact") == corpus.search_keywords("fact") == ()
    corpus.add([TOWER])
    assert corpus.search_keywords("opened")[0].document == "tower"
    corpus.close()
    assert (tmp_path / "corpus.db").stat().st_size < 200_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "red fox", "blue dog", "red dog sits"])), max_size=12
    )
)
def test_any_history_leaves_what_a_fresh_store_would_hold(opened: Opener, steps: list[tuple[str, str]]) -> None:
    """An empty text stands for a removal."""
    corpus = opened()
    corpus.clear()
    held: dict[str, str] = {}
    for name, text in steps:
        if text:
            corpus.add([Document(id=name, text=text)])
            held[name] = text
        elif name in held:
            corpus.remove([name])
            del held[name]
    assert {each.id for each in corpus.documents()} == set(held)
    for query in ("red", "dog sits"):
        expected = {text for text in held.values() if set(query.split()) & set(text.split())}
        assert {each.text for each in corpus.search_keywords(query, 9)} == expected
    database_of(corpus).execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")


def database_of(corpus: SqliteCorpus) -> sqlite3.Connection:
    return corpus._db._connection


def test_a_batch_is_stored_whole_or_not_at_all(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", 10)

    def interrupted() -> Iterator[Document]:
        yield from many(25)
        raise KeyboardInterrupt

    corpus = opened()
    sums: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        corpus.add(interrupted(), progress=lambda added: sums.append(added.documents))
    assert sums == [10, 20]
    assert corpus.add(many(25)) == Added(added=5, unchanged=20, chunks=5)


def test_a_full_disk_loses_the_batch_in_hand_only(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", 10)
    corpus = opened()
    corpus.add(many(20))
    before, held = corpus.revision, corpus.documents()
    pages = database_of(corpus).execute("PRAGMA page_count").fetchone()[0]
    database_of(corpus).execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(DiskFull, match="what was stored before is intact"):
        corpus.add([Document(id="big", text="word " * 50_000)])
    assert (corpus.revision, corpus.documents()) == (before, held)
    assert corpus.search("number 7")[0].document == "d7"
    database_of(corpus).execute("PRAGMA max_page_count = 100000")
    assert corpus.add([Document(id="big", text="word " * 50_000)]).added == 1


def test_a_second_writer_is_told_so(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY", 0.1)
    corpus = opened()
    corpus.add([TOWER])
    with closing(sqlite3.connect(tmp_path / "corpus.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="written to by another process"):
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
    with pytest.raises(StoreForeign, match="not a redargue corpus"):
        SqliteCorpus(path, write=write)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE documents (x)")
    content = path.read_bytes()
    with pytest.raises(StoreForeign):
        SqliteCorpus(path, write=True)
    assert path.read_bytes() == content


def read_all(path: Path, encoder: WordEncoder) -> None:
    with SqliteCorpus(path, embedder=encoder) as corpus:
        corpus.documents()
        corpus.search("number 77")


def test_a_damaged_file_is_called_so(opened: Opener, tmp_path: Path, encoder: WordEncoder) -> None:
    path = tmp_path / "corpus.db"
    with opened(path) as corpus:
        corpus.add(many(500))
    whole = path.read_bytes()
    for damaged in (whole[:4096] + b"\xff" * (len(whole) - 4096), whole[: len(whole) // 2], whole[:100]):
        path.write_bytes(damaged)
        with pytest.raises(StoreDamaged, match="is damaged"):
            read_all(path, encoder)


def test_a_vector_of_a_wrong_length_is_damage(opened: Opener, tmp_path: Path) -> None:
    corpus = opened()
    corpus.add([TOWER])
    with closing(sqlite3.connect(tmp_path / "corpus.db")) as db, db:
        db.execute("UPDATE chunks SET vector = x'0011'")
    with pytest.raises(StoreDamaged, match="vector of chunk 1"):
        corpus.search("tower")
    assert corpus.search_keywords("tower")


def test_an_empty_file_is_a_store_that_was_never_finished(opened: Opener, tmp_path: Path) -> None:
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
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as corpus:
        corpus.add([TOWER])
    monkeypatch.setattr(os, "access", lambda *_: False)
    with opened(write=False) as reader:
        assert reader.search("tower")[0].document == "tower"
    assert [each.name for each in tmp_path.glob("corpus*")] == ["corpus.db"]


def test_another_embedder_and_a_newer_format_are_refused(opened: Opener, tmp_path: Path) -> None:
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
    with pytest.raises(MissingExtra, match="not available in this version"):
        open_corpus("milvus:./here")
    with pytest.raises(UnknownName, match="did you mean 'sqlite'"):
        open_corpus("sqlit:here")


def test_the_users_corpus_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path))
    assert default_store() == tmp_path / "corpus.db"
    monkeypatch.delenv("REDARGUE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert default_store() == tmp_path / "xdg" / "redargue" / "corpus.db"
