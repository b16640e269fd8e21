from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory.conftest import CLAIM, NOW, found
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.memory.memory import open_memory
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus


@pytest.fixture
def path(tmp_path: Path) -> str:
    where = str(tmp_path / "memory.db")
    with open_memory(where) as memory:
        for text, tool, age in (("Lit in 1871.", "wikipedia", 9), ("It is red.\x1b[2J", "corpus", 0)):
            finding = found(text, tool=tool, title="Ansel", retrieved=NOW - timedelta(days=age))
            asyncio.run(memory.remember([finding], entities=["Cape Ansel"], claim=CLAIM, run="r1", now=NOW))
    return where


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["memory", *arguments]) == code
    return capsys.readouterr().out


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    return json.loads(told(capsys, *arguments, "--json", code=code))


def test_ls_lists_the_newest_first_and_what_is_asked_for(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "ls", "--memory", path).splitlines()
    assert [line.split()[0] for line in lines] == ["2", "1"]
    assert "Ansel" in lines[0]
    listed = told_json(capsys, "ls", "--memory", path, "--tool", "wikipedia", "--entity", "the cape ansel")
    assert [each["passage"]["text"] for each in listed["records"]] == ["Lit in 1871."]
    assert (listed["count"], "workspaces" in listed) == (1, False)
    assert told_json(capsys, "ls", "--memory", path, "--workspace", "other")["records"] == []


def test_show_gives_a_record_whole_and_obeys_nothing_in_it(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "show", "2", "--memory", path)
    assert "It is red." in shown
    assert "\x1b" not in shown
    assert f"for: {CLAIM} (r1)" in shown
    assert "under: cape ansel" in shown
    told(capsys, "show", "7", "--memory", path, code=2)


def test_purge_removes_what_is_named_and_nothing_else(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "purge", "--memory", path, code=2)
    told(capsys, "purge", "9", "--yes", "--memory", path, code=2)
    before = str(NOW.date())
    assert told(capsys, "purge", "--before", before, "--yes", "--memory", path) == "1 record removed\n"
    assert told_json(capsys, "ls", "--memory", path)["count"] == 1
    assert told_json(capsys, "purge", "--all", "--yes", "--memory", path)["removed"] == 1


@pytest.mark.parametrize("command", ["purge", "recheck"])
def test_a_record_that_the_filters_leave_out_is_told_from_one_that_is_not_there(
    command: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        (["9"], "record 9 is not in workspace 'default'"),
        (["1", "--tool", "corpus"], "record 1 does not match the filters"),
        (["1", "--entity", "X"], "record 1 does not match the filters"),
    ):
        assert run(["memory", command, *arguments, "--memory", path]) == 2
        assert message in capsys.readouterr().err
    told(capsys, "purge", "1", "--all", "--memory", path, code=2)
    assert told_json(capsys, "ls", "--memory", path)["count"] == 2


def test_a_limit_does_not_hide_records_that_are_named(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    rechecked = told_json(capsys, "recheck", "1", "2", "--limit", "1", "--offline", "--memory", path, code=3)
    assert [row["number"] for row in rechecked["records"]] == [2, 1]


def test_a_declined_purge_removes_nothing_and_is_no_failure(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert told(capsys, "purge", "--all", "--memory", path) == "0 records removed\n"
    assert told_json(capsys, "purge", "--all", "--memory", path)["removed"] == 0
    assert told_json(capsys, "ls", "--memory", path)["count"] == 2


def test_recheck_marks_what_changed_and_what_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, where = str(tmp_path / "corpus.db"), str(tmp_path / "memory.db")
    with open_corpus(store, write=True) as corpus, open_memory(where) as memory:
        corpus.add([Document(id="a", text="Cape Ansel was lit."), Document(id="b", text="Cape Ansel is red now.")])
        old = (("Cape Ansel was lit.", "a"), ("Cape Ansel is red.", "b"), ("Cape Ansel is old.", "c"))
        some = [found(text, tool="corpus", document=document) for text, document in old]
        some += [found("A page.", tool="get_article")]
        asyncio.run(memory.remember(some, entities=["Cape Ansel"], claim=CLAIM, run="", now=NOW))
    result = told_json(capsys, "recheck", "--memory", where, "--store", store, code=3)
    assert result["counts"] == {"changed": 1, "gone": 1, "no tool": 1, "same": 1}
    causes = {row["outcome"]: row["why"] for row in result["records"]}
    assert causes["same"] == ""
    assert causes["changed"] == "the stored text is not in its source; now: “Cape Ansel is red now.”"
    assert "none of this source" in causes["gone"]
    with open_memory(where, write=False) as memory:
        statuses = {each.passage.document: each.status for each in memory.records()}
        assert statuses == {"a": "ok", "b": "changed", "c": "gone", "": "ok"}
        recall = asyncio.run(memory.recall(["Cape Ansel"], claim=Claim(text=CLAIM), now=NOW))
        assert {each.passage.document for each in recall.items} == {"a", ""}


def test_a_memory_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["ls"], ["purge", "--all"], ["recheck"]):
        told(capsys, *command, "--memory", str(tmp_path / "none.db"), code=2)
    assert not (tmp_path / "none.db").exists()
    told(capsys, "ls", "--status", "bad", code=2)
