"""Claims judged as of a day: later and undated evidence is marked; with --strict-as-of it is left out and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.events import EvidenceFound
from redargue.runs.record import read_events

CLAIM = "The bridge at Orvell has two lanes."
DOCUMENTS = [
    {"id": "early", "text": "The bridge at Orvell is a steel arch.", "published": "2019-05-02"},
    {"id": "late", "text": "Since its widening the bridge at Orvell has two lanes.", "published": "2023-08-01"},
    {"id": "undated", "text": "The bridge at Orvell has two lanes, one each way."},
    {"id": "year", "text": "The bridge at Orvell was counted among the narrow ones.", "published": "2020"},
]


@pytest.fixture
def store(tmp_path: Path) -> str:
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    assert run(["corpus", "add", str(file), "--store", str(tmp_path / "s.db")]) == 0
    return str(tmp_path / "s.db")


def checked(store: str, folder: Path, capfd: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    capfd.readouterr()
    command = ["check", CLAIM, "--store", store, "--tool", "corpus", "--tool", "keywords", "--offline", "--json", "-q"]
    assert run([*command, "--method", "tool-mad", "--set", "rounds=1", "--run", str(folder), *more]) == 0
    (verdict,) = json.loads(capfd.readouterr().out)["verdicts"]
    return dict(verdict)


def found(folder: Path) -> set[str]:
    events = [event for event in read_events(folder) if isinstance(event, EvidenceFound)]
    return {passage.document for event in events for passage in event.passages}


def test_evidence_is_marked_and_on_demand_left_out_and_counted(
    store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    marked = checked(store, tmp_path / "a", capfd, "--as-of", "2020-06-01", "--set", "top_k=4")
    timings = {quote["source"]["document"]: quote["source"]["timing"] for quote in marked["quotes"]}
    assert timings
    assert set(timings.items()) <= {
        ("early", "in_time"),
        ("late", "later"),
        ("undated", "undated"),
        ("year", "undated"),
    }
    assert found(tmp_path / "a") == {"early", "late", "undated", "year"}
    strict = checked(store, tmp_path / "b", capfd, "--as-of", "2020-06-01", "--strict-as-of", "--set", "top_k=2")
    assert found(tmp_path / "b") == {"early"}
    assert strict["label"] != "SUPPORTS"  # only the later pages say so
    assert {"later": 1, "undated": 2} in [gap["left_out"] for gap in strict["gaps"]]
    ended = checked(store, tmp_path / "c", capfd, "--as-of", "2021-01-05", "--strict-as-of", "--set", "top_k=2")
    assert found(tmp_path / "c") == {"early", "year"}  # the year is over by then
    assert ended["claim"]["only_in_time"]
    assert run(["replay", str(tmp_path / "b"), "--json"]) == 0


def test_evidence_in_time_needs_a_day(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["check", CLAIM, "--store", store, "--strict-as-of", "--offline"]) == 2
    assert "give one: --as-of" in capfd.readouterr().err
