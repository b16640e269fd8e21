"""A bench as of a day: later and undated evidence is marked and counted; on demand it is left out and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from redargue.bench.compare import ComparedSystem, read_results
from redargue.bench.datasets import EvidenceDates
from redargue.bench.harness import reopen
from redargue.cli.app import run

pytest.importorskip("scipy", reason="needs the extra lab")

DOCUMENTS = [
    {"id": "early", "text": "The bridge at Orvell is a steel arch.", "published": "2019-05-02"},
    {"id": "late", "text": "Since its widening the bridge at Orvell has two lanes.", "published": "2023-08-01"},
    {"id": "undated", "text": "The bridge at Orvell has two lanes, one each way."},
]
ROWS = [
    {"claim": "The bridge at Orvell has two lanes.", "label": "REFUTES", "day": ""},
    {"claim": "The bridge at Orvell has one lane.", "label": "REFUTES", "day": "2024-01-31"},
]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    for name, rows in (("documents", DOCUMENTS), ("rows", ROWS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    store = str(tmp_path / "s.db")
    assert run(["corpus", "add", str(tmp_path / "documents.jsonl"), "--store", store]) == 0
    mapping = "claim=claim,label=label,as_of=day"
    given = ["--dataset", "table", "--path", str(tmp_path / "rows.jsonl"), "--map", mapping, "--store", store]
    return ["bench", "run", *given, "--offline", "-q", "--method", "single-reader:tools=corpus,top_k=3"]


def row(folder: Path) -> ComparedSystem:
    (only,) = read_results(folder).rows
    return only


def test_later_and_undated_evidence_is_marked_and_counted_against_each_claims_day(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--as-of", "2020-06-01", "--out", str(tmp_path / "b")]) == 0
    # Of the first claim one in time, one later, one undated; the second has a day of its own: two in time.
    assert row(tmp_path / "b").timing == EvidenceDates(read=(3, 1, 2))
    assert re.search(r"^A .* +3 +1 +2 +0 +0 +0$", capfd.readouterr().out, re.MULTILINE)
    assert run(["report", str(tmp_path / "b"), "-f", "md", "-o", str(tmp_path / "b.md")]) == 0
    report = (tmp_path / "b.md").read_text()
    assert "| Read: in time | Read: later | Read: undated |" in report
    assert "as-of date 2020-06-01" in report
    assert "--as-of 2020-06-01" in report


def test_strict_mode_leaves_it_out_counts_it_and_changes_the_verdict(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    strict = [*command, "--as-of", "2020-06-01", "--strict-as-of", "--out", str(tmp_path / "s")]
    assert run(strict) == 0
    assert row(tmp_path / "s").timing == EvidenceDates(read=(3, 0, 0), left_out=(0, 1, 2))
    table = capfd.readouterr().out
    assert re.search(r"^A .* +3 +0 +0 +0 +1 +2$", table, re.MULTILINE)
    assert run([*command, "--as-of", "2020-06-01", "--out", str(tmp_path / "b")]) == 0
    assert row(tmp_path / "b").said[0].label != row(tmp_path / "s").said[0].label
    capfd.readouterr()
    assert run(strict) == 0  # goes on where it stopped
    assert capfd.readouterr().out == table
    claims = [each.claim for each in reopen(tmp_path / "s", tmp_path / "rows.jsonl").examples]
    assert [str(each.as_of) for each in claims] == ["2020-06-01", "2024-01-31"]
    assert all(each.only_in_time for each in claims)


def test_another_day_is_another_bench_and_strict_mode_needs_a_day(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--as-of", "2020-06-01", "--out", str(tmp_path / "b")]) == 0
    assert run([*command, "--as-of", "2021-06-01", "--out", str(tmp_path / "b")]) == 2
    said = capfd.readouterr().err
    assert "already holds a bench of another sample: as_of: '2020-06-01' there, '2021-06-01' here" in said
    assert run([*command, "--strict-as-of", "--out", str(tmp_path / "c")]) == 2
    assert "give one: --as-of" in capfd.readouterr().err
