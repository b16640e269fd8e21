"""A corpus that follows a folder, and versions of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from redargue.errors import StoreUnavailable, UsageError
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import read_version, restore, save, sync_folder, versions
from redargue.retrieval.corpus.ingest import new_mark
from redargue.retrieval.corpus.sqlite import SqliteCorpus
from retrieval.corpus.test_cli import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "old").mkdir(parents=True)
    (folder / "old" / "tower.md").write_text("# The Tower\n\nThe tower opened in 1889.\n")
    (folder / "bridge.txt").write_text("The bridge was built in 1894.")
    (folder / "rows.jsonl").write_text('{"text": "A row."}\n{"id": "own", "text": "Its own id."}\n')
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "corpus.db"


def ids(store: Path) -> set[str]:
    with SqliteCorpus(store) as corpus:
        return {entry.id for entry in corpus.documents()}


def test_ids_are_relative_to_the_folder_wherever_it_is(folder: Path, store: Path, tmp_path: Path) -> None:
    assert run("sync", folder, "--store", store).stdout.endswith("4 added, 0 changed, 0 removed, 0 unchanged\n")
    assert ids(store) == {"old/tower.md", "bridge.txt", "rows.jsonl:1", "own"}
    with SqliteCorpus(store) as corpus:
        first = corpus.revision
        assert {each.document for each in corpus.search("the bridge and the tower", 4)} <= ids(store)
    moved = folder.rename(tmp_path / "elsewhere")
    other = tmp_path / "other.db"
    run("sync", moved, "--store", other)
    with SqliteCorpus(other) as corpus:
        assert corpus.revision == first  # a run recorded on one machine is repeated on another


@pytest.mark.parametrize("command", ["add", "sync"])
def test_a_repeated_id_is_refused_and_both_places_are_named(command: str, folder: Path, store: Path) -> None:
    run(command, folder, "--store", store)
    other = folder / "rows2.jsonl"
    other.write_text('{"id": "own", "text": "Another text."}\n{"id": "new", "text": "A new text."}\n')
    result = run(command, folder, "--store", store, code=3)
    assert f"duplicate id 'own', first used in '{folder / 'rows.jsonl'}'" in result.stderr
    assert str(other) in result.stderr
    with SqliteCorpus(store) as corpus:
        assert corpus.document("own").text == "Its own id."
        assert corpus.document("new").text == "A new text."
    other.write_text('{"id": "own", "text": "Its own id."}\n')  # the same document
    run(command, folder, "--store", store)


def test_new_changed_and_deleted_files_are_listed(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    (folder / "bridge.txt").write_text("The bridge was built in 1895.")
    (folder / "old" / "tower.md").rename(folder / "tower.md")
    (folder / "rows.jsonl").write_text('{"id": "own", "text": "Its own id."}\n')
    lines = run("sync", folder, "--store", store).stdout.splitlines()
    assert lines == [
        "+ tower.md",
        "~ bridge.txt",
        "- old/tower.md",
        "- rows.jsonl:1",
        "1 added, 1 changed, 2 removed, 1 unchanged",
    ]
    assert ids(store) == {"tower.md", "bridge.txt", "own"}
    again = json.loads(run("sync", folder, "--store", store, "--json").stdout)
    assert again == {
        "added": [],
        "changed": [],
        "removed": [],
        "renamed": [],
        "unchanged": 3,
        "kept": [],
        "unreadable": [],
    }


def test_a_document_whose_file_cannot_be_read_any_more_is_kept_and_named(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    (folder / "bridge.txt").write_bytes(b"\0\0")
    (folder / "rows.jsonl").write_text('not JSON\n{"id": "own", "text": "Its own id."}\n')
    result = run("sync", folder, "--store", store, code=3)
    assert "! bridge.txt\n" in result.stdout
    assert "0 added, 0 changed, 0 removed, 2 unchanged, 2 kept as they were" in result.stdout
    assert f"skipped: {folder / 'bridge.txt'}: " in result.stderr
    assert ids(store) == {"old/tower.md", "bridge.txt", "rows.jsonl:1", "own"}
    (folder / "bridge.txt").unlink()
    assert "- bridge.txt\n" in run("sync", folder, "--store", store, code=3).stdout


def test_one_document_is_kept_as_it_was(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    (folder / "bridge.txt").write_bytes(b"\0\0")
    assert ", 1 kept as it was\n" in run("sync", folder, "--store", store, code=3).stdout


def test_documents_of_a_folder_that_cannot_be_listed_any_more_are_kept(
    folder: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync", folder, "--store", store)
    listed = Path.iterdir

    def refused(path: Path) -> Iterator[Path]:
        if path.name == "old":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    result = run("sync", folder, "--store", store, code=3)
    assert "! old/tower.md\n" in result.stdout
    assert "old/tower.md" in ids(store)


def test_a_folder_that_is_empty_by_accident_removes_nothing(folder: Path, store: Path, tmp_path: Path) -> None:
    run("sync", folder, "--store", store)
    folder.rename(tmp_path / "moved")
    with SqliteCorpus(store, write=True) as corpus:
        with pytest.raises(UsageError, match="no folder") as missing:
            sync_folder(corpus, folder)
        assert "corpus rm" in missing.value.hint
        folder.mkdir()  # an unmounted disk
        with pytest.raises(UsageError, match="and the corpus has 4 of it") as caught:
            sync_folder(corpus, folder)
        assert "--empty" in caught.value.hint
        assert len(corpus.documents()) == 4
        corpus.add([Document(id="elsewhere", text="From elsewhere.")])
        assert len(sync_folder(corpus, folder, empty=True).removed) == 4
    assert ids(store) == {"elsewhere"}


def test_documents_that_were_added_by_absolute_paths_get_relative_ones(folder: Path, store: Path) -> None:
    run("add", folder, "--store", store)
    assert str(folder / "bridge.txt") in ids(store)
    said = run("sync", folder, "--store", store).stdout
    assert ids(store) == {"old/tower.md", "bridge.txt", "rows.jsonl:1", "own"}
    assert f"> {folder / 'rows.jsonl'}:1 is now rows.jsonl:1\n" in said
    assert said.endswith("\n0 added, 0 changed, 0 removed, 3 renamed, 1 unchanged\n")


def test_an_id_of_another_folder_is_refused_before_anything_changes(folder: Path, store: Path, tmp_path: Path) -> None:
    run("sync", folder, "--store", store)
    other = tmp_path / "docs2"
    other.mkdir()
    (other / "a-new.txt").write_text("New.")
    (other / "bridge.txt").write_text("Another bridge.")
    with SqliteCorpus(store, write=True) as corpus:
        before = corpus.revision
        with pytest.raises(UsageError, match=r"'bridge\.txt' is also the id of a document from elsewhere"):
            sync_folder(corpus, other)
        assert corpus.revision == before


# versions


def test_a_corpus_is_rolled_back_to_a_version_under_the_eyes_of_a_reader(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    said = run("save", "first.1", "--store", store).stdout
    with SqliteCorpus(store) as reader:
        first = reader.revision
        assert said == f"saved: first.1, revision {first}\n"
        (folder / "bridge.txt").unlink()
        (folder / "old" / "tower.md").write_text("The tower was closed in 1999.")
        run("sync", folder, "--store", store)
        assert not [each for each in reader.search("Who built the bridge in 1894?", 9) if "1894" in each.text]
        run("save", "second", "--store", store)
        assert run("restore", "first.1", "--store", store).stdout == f"restored: first.1, revision {first}\n"
        assert reader.revision == first
        assert [each.text for each in reader.search("Who built the bridge in 1894?", 1)] == [
            "The bridge was built in 1894."
        ]
        assert "1999" not in str(reader.search("the tower", 9))
    restore(store, "second")  # and forward again
    assert "bridge.txt" not in ids(store)
    assert [(each.name, each.documents) for each in map(read_version, versions(store))] == [
        ("second", 3),
        ("first.1", 4),
    ]
    listed = run("versions", "--store", store).stdout.splitlines()
    assert listed[0].endswith("  second  (as it is now)")
    assert listed[1].endswith("  first.1")
    assert first in listed[1]
    run("sync", folder, "--store", store)  # a restored corpus can be written to


@pytest.mark.parametrize("name", ["", "../other", "a/b", ".hidden", "a b", "x" * 200])
def test_what_cannot_name_a_version_is_refused(store: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a version"):
        save(store, name)


def test_a_version_is_not_replaced_and_a_missing_one_is_named(folder: Path, store: Path) -> None:
    with pytest.raises(UsageError, match="no corpus"):
        save(store, "early")
    run("sync", folder, "--store", store)
    with pytest.raises(UsageError, match=f"save one: redargue corpus save NAME --store {store}"):
        restore(store, "one")
    save(store, "one")
    with pytest.raises(UsageError, match="there is a version 'one'"):
        save(store, "one")
    with pytest.raises(UsageError, match="no version 'on' of") as caught:
        restore(store, "on")
    assert "'one'" in caught.value.hint
    with pytest.raises(UsageError, match="has no versions"):
        run("save", "one", "--store", "milvus:http://localhost:19530")


def test_a_damaged_version_is_named_and_hides_no_other(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    save(store, "one")
    kept = store.parent / f"{store.name}.versions"
    whole = (kept / "one.db").read_bytes()
    (kept / "cut.db").write_bytes(whole[:20_000])
    (kept / "text.db").write_text("not a corpus")
    (kept / "empty.db").touch()
    (kept / "folder.db").mkdir()
    (kept / "link.db").symlink_to("nowhere")
    listed = run("versions", "--store", store, code=3)
    assert [line.split()[3] for line in listed.stdout.splitlines()] == ["one"]
    damaged = ("cut.db", "text.db", "empty.db", "folder.db", "link.db")
    said = [line for line in listed.stderr.splitlines() if line.startswith("damaged: ")]
    assert all(any(name in line for line in said) for name in damaged)
    as_json = json.loads(run("versions", "--store", store, "--json", code=3).stdout)
    assert [version["name"] for version in as_json["versions"]] == ["one"]
    with pytest.raises(UsageError, match="no version 'on' of"):
        restore(store, "on")


def test_the_hint_about_what_is_no_folder_says_how_a_file_is_added(folder: Path, store: Path) -> None:
    file = next(path for path in folder.iterdir() if path.is_file())
    with pytest.raises(UsageError, match=f"redargue corpus add {file}"):
        run("sync", file, "--store", store)


def test_of_two_who_save_under_one_name_at_the_same_time_the_second_is_refused(
    folder: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync", folder, "--store", store)
    copied, second = SqliteCorpus.copy_to, list[Future[str]]()

    def copy(corpus: SqliteCorpus, to: sqlite3.Connection) -> None:
        if not second:
            second.append(pool.submit(save, store, "one"))
            wait(second, timeout=0.2)
        copied(corpus, to)

    monkeypatch.setattr(SqliteCorpus, "copy_to", copy)
    with ThreadPoolExecutor() as pool:
        save(store, "one")
    with pytest.raises(UsageError, match="there is a version 'one'"):
        second[0].result()
    assert [path.stem for path in versions(store)] == ["one"]


def test_a_copy_for_which_the_disk_has_no_room_is_removed(
    folder: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync", folder, "--store", store)

    def fail(corpus: SqliteCorpus, to: sqlite3.Connection) -> None:
        raise StoreUnavailable("no space left", full=True)

    monkeypatch.setattr(SqliteCorpus, "copy_to", fail)
    with pytest.raises(StoreUnavailable):
        save(store, "one")
    assert [path.name for path in (store.parent / f"{store.name}.versions").iterdir()] == [".lock"]


def test_a_corpus_to_which_documents_are_being_added_is_not_saved(folder: Path, store: Path) -> None:
    run("sync", folder, "--store", store)
    with SqliteCorpus(store, write=True) as corpus:
        corpus._adding = new_mark()
        with corpus._db.write() as db:
            corpus._mark_adding(db)
        with pytest.raises(StoreUnavailable, match="being added"):
            save(store, "half")
    assert versions(store) == []
