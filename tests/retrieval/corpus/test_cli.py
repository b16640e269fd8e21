"""``redargue corpus``: what it prints where, and how it exits."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from redargue.cli.corpus import corpus_app
from redargue.errors import CorpusError, StoreUnavailable, UsageError
from redargue.retrieval.corpus.ingest import moment
from redargue.retrieval.corpus.sqlite import SqliteCorpus
from redargue.sanitize import printable


def run(*arguments: object, code: int = 0, **options: Any) -> Result:
    result = CliRunner().invoke(corpus_app, [str(each) for each in arguments], **options)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tower.md").write_text("# The Tower\n\nThe tower opened in 1889.\n")
    (folder / "bridge.txt").write_text("The bridge was built in 1894.")
    return folder


def test_adding_prints_a_summary_and_again_finds_nothing_new(folder: Path) -> None:
    assert run("add", folder).stdout.startswith("2 files: 2 added, 0 unchanged, 0 replaced (2 chunks) in ")
    assert run("add", folder).stdout.startswith("2 files: 0 added, 2 unchanged, 0 replaced (0 chunks) in ")
    (folder / "bridge.txt").write_text("The bridge was repainted.")
    summary = json.loads(run("add", folder, "--json").stdout)
    assert summary.pop("seconds") >= 0
    assert summary == {"files": 2, "added": 0, "unchanged": 1, "replaced": 1, "chunks": 1, "unreadable": []}


def test_what_cannot_be_read_is_named_and_the_rest_goes_in(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"text": "A row."}\nno row\n')
    (folder / "photo.jpg").write_bytes(b"x")
    result = run("add", folder, code=3)
    assert result.stdout.startswith("4 files: 3 added")
    assert f"{folder / 'rows.jsonl'}:2" in result.stderr
    assert "'.jpg'" in result.stderr
    assert "2 files or lines could not be read" in result.stderr
    errors = json.loads(run("add", folder, "--json", code=3).stdout)["unreadable"]
    assert [each["where"] for each in errors] == [str(folder / "photo.jpg"), f"{folder / 'rows.jsonl'}:2"]


def test_a_missing_path_is_refused_before_anything_is_added(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no file or folder .*nowhere"):
        run("add", folder, folder / "nowhere")
    with pytest.raises(UsageError, match="no corpus at"):
        run("ls")


def test_an_interruption_keeps_what_is_stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run("add", folder / "tower.md")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteCorpus, "add", interrupted)
        assert "the same command resumes" in run("add", folder, code=130).stderr
    assert run("add", folder).stdout.startswith("2 files: 1 added, 1 unchanged")


def test_searching(folder: Path) -> None:
    run("add", folder)
    out = run("search", "when did the tower open", "-k", 1).stdout
    assert out.startswith("1. The Tower\n")
    assert "The tower opened in 1889." in out
    found = json.loads(run("search", "bridge", "--mode", "keywords", "--json").stdout)
    assert [each["text"] for each in found["passages"]] == ["The bridge was built in 1894."]
    assert (found["query"], found["mode"], len(found["revision"])) == ("bridge", "keywords", 16)
    nothing = run("search", "zebra", "--mode", "keywords")
    assert (nothing.stdout, nothing.stderr) == ("", "nothing found\n")


def test_the_sample_articles_can_be_searched_and_not_changed(folder: Path) -> None:
    assert "John Hancock Center" in run("search", "the John Hancock Center", "--store", "starter").stdout
    with pytest.raises(UsageError, match="the sample articles that come with redargue cannot be changed"):
        run("add", folder, "--store", "starter")


def test_a_corpus_that_is_being_filled_is_not_searched(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "filling.db"
    run("add", folder, "--store", store)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("INSERT OR REPLACE INTO meta VALUES ('adding', ?)", (moment(),))
    with pytest.raises(StoreUnavailable, match="not complete") as refused:
        run("search", "tower", "--store", store)
    assert refused.value.exit_code == 5


def test_listing_and_removing(folder: Path) -> None:
    run("add", folder)
    result = run("ls")
    assert [line.split("  ")[-1] for line in result.stdout.splitlines()] == [str(folder / "bridge.txt"), "The Tower"]
    assert result.stderr.startswith("2 documents, revision ")
    with pytest.raises(UsageError, match="did you mean"):
        run("rm", folder / "tower.txt")
    assert run("rm", folder / "tower.md").stdout == "1 document removed\n"
    assert "Remove all documents?" in run("rm", "--all", input="n\n").stderr
    assert json.loads(run("rm", "--all", "--yes", "--json").stdout) == {"removed": 1}
    assert json.loads(run("ls", "--json").stdout)["documents"] == []
    for arguments in (("rm",), ("rm", "--all", "x")):
        with pytest.raises(UsageError, match="rm takes ids or paths, or --all"):
            run(*arguments)


def test_removing_does_not_make_a_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no corpus at"):
        run("rm", "x", "--store", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_the_store_is_named_by_option_or_environment(folder: Path, tmp_path: Path) -> None:
    run("add", folder, "--store", tmp_path / "one.db")
    assert "tower.md" in run("ls", env={"REDARGUE_STORE": str(tmp_path / "one.db")}).stdout
    (tmp_path / "notes.txt").write_text("my notes")
    with pytest.raises(CorpusError):
        run("add", folder, "--store", tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "my notes"


def test_documents_do_not_command_the_terminal(folder: Path) -> None:
    (folder / "evil.jsonl").write_text(
        json.dumps(
            {"id": "e\u001b[2J", "title": "T\u001b]0;x\u0007\n1. fake", "text": "red\u001b[31m\u202e\u009b text\r."}
        )
    )
    run("add", folder)
    for out in (run("ls").stdout, run("search", "red text").stdout, run("search", "red", "--mode", "keywords").stdout):
        assert "\x1b" not in out
        assert not set(out) & set("\u202e\u009b\x07\r")
    for out in (run("ls", "--json").stdout, run("search", "red", "--json").stdout):
        assert out.isascii()
        assert "\x1b" not in out
    assert "\n1. fake" not in run("search", "red text", "-k", 1).stdout
    assert printable("a\u001b\u0000\u200d😀\tb\nc", lines=False) == "a\u200d😀 b c"


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(folder: Path) -> None:
    """A real terminal at standard error; standard output is a pipe and carries data alone."""
    ours, theirs = pty.openpty()
    code = "from redargue.cli.corpus import corpus_app; corpus_app()"
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code, "add", str(folder)], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "documents" in shown
    assert done.stdout.startswith(b"2 files: 2 added")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; import redargue.cli.corpus;"
        "print([name for name in ('numpy', 'pydantic', 'sqlite3', 'syntok', 'rich.progress') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
