"""A file of claims, verified into a folder: what is read, what is written, and what a killed process leaves."""

from __future__ import annotations

import asyncio
import csv
import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from redargue.batch import COLUMNS, Tally, check_row, count_answers
from redargue.claims import FEVER, TWO, Claim
from redargue.cli.app import run
from redargue.cli.batch import engines
from redargue.errors import UsageError
from redargue.events import canonical
from redargue.evidence import without_retrieval_times
from redargue.inputs.claims import ClaimRow, read_mapping, read_rows
from redargue.runs.budget import Budget, Cost
from redargue.runs.manifest import load_manifest
from redargue.runs.record import read_events
from redargue.sanitize import csv_cell
from redargue.spec import RunSpec
from redargue.text import Report
from redargue.text.segment import Text
from redargue.text.verification import with_documents
from redargue.verdicts import ErrorInfo, Usage, Verdict
from redargue.verifier import Verifier

OPTIONS = ["--store", "starter", "--method", "tool-mad", "--rounds", "1"]
DEADLINE = 120.0
TABLE = """statement,about,day,set,answer
The Ritz in London opened in 1926.,A hotel.,2020-01-02,two,yes
"=HYPERLINK(""http://x"") is a bird.",,,,no
Anything at all?,,,free-text,maybe
"""
MAP = ["--map", "claim=statement,context=about", "--map", "as_of=day,labels=set"]


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def cells(folder: Path) -> list[dict[str, str]]:
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_table_becomes_verdicts_in_its_order_and_the_same_command_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "claims.csv", tmp_path / "out"
    file.write_text(TABLE)
    command = ["batch", str(file), *MAP, "-o", str(out), *OPTIONS]
    assert run([*command, "--jsonl"]) == 3  # the embedded backend cannot answer in free text
    said, err = capfd.readouterr()
    found = lines(out)
    assert load_manifest(out).origin.name == "claims.csv"
    assert sorted(said.splitlines()) == sorted((out / "verdicts.jsonl").read_text().splitlines())
    assert [each["item"] for each in found] == [1, 2, 3]
    assert (found[0]["label"], found[0]["claim"]["context"]) == ("REFUTES", "A hotel.")
    assert (found[0]["claim"]["labels"]["name"], found[0]["claim"]["as_of"]) == ("two", "2020-01-02")
    assert found[2]["error"]["type"] == "UnsupportedTask"
    assert "3 of 3 claims, 1 error" in err
    table = cells(out)
    assert tuple(table[0]) == COLUMNS
    assert table[0]["quotes_against"].startswith("The Swiss hotelier")
    assert table[1]["claim"] == '\'=HYPERLINK("http://x") is a bird.'
    assert table[2]["error"].startswith("UnsupportedTask: ")
    before = (out / "verdicts.csv").read_bytes(), (out / "verdicts.jsonl").read_bytes()
    assert run(command) == 3
    said, err = capfd.readouterr()
    assert "resuming: 2 of 3 claims finished" in err
    assert said.startswith("3 claims: Error (UnsupportedTask): 1; Not enough evidence: 1; Refuted: 1\n")
    assert (before[0], before[1]) == ((out / "verdicts.csv").read_bytes(), (out / "verdicts.jsonl").read_bytes())
    file.write_text(TABLE.replace("1926", "1927"))
    assert run([*command, "-q"]) == 2
    assert "already holds a run whose claims differ" in capfd.readouterr().err
    assert (out / "verdicts.csv").read_bytes() == before[0]


@pytest.mark.slow
def test_a_spent_budget_is_exit_4_and_a_gate_exit_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text('{"claim": "The Ritz in London opened in 1926."}\n\n{"claim": "Fred Perry was left-handed."}\n')
    command = ["batch", str(file), "-q", "--concurrency", "1", *OPTIONS]
    assert run([*command, "-o", "cut", "--budget", "3calls"]) == 4
    out, err = capfd.readouterr()
    assert out.startswith("2 claims: Refuted: 1; Stopped by the budget: 1\n")
    assert err == ""
    assert [each["label"] for each in lines(Path("cut"))] == ["REFUTES", None]
    assert run([*command, "-o", "whole", "--fail-on", "refuted"]) == 1
    assert run(["batch", str(file), "-q", "-o", "cut", *OPTIONS]) == 0  # without the budget it goes on
    assert [each["error"] for each in lines(Path("cut"))] == [None, None]
    assert run([*command, "-o", "whole", "--fail-on", "refuts"]) == 2


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    file = tmp_path / "claims.jsonl"
    claims = ["The Ritz in London opened in 1926.", "Fred Perry was left-handed.", "Bees are birds."] * 2
    file.write_text("".join(json.dumps({"claim": f"{place}: {text}"}) + "\n" for place, text in enumerate(claims)))
    return ["batch", str(file), *OPTIONS, "-q", "-o"]


def disturbed(command: list[str], out: Path, sign: signal.Signals) -> tuple[int, bytes]:
    """A process of its own that gets a signal after its first verdict: exit code and messages."""
    call = [sys.executable, "-m", "redargue.cli.app", *command, str(out)]
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    log, deadline = out / "verdicts.jsonl", time.monotonic() + DEADLINE
    while not log.exists() or b"\n" not in log.read_bytes():
        assert process.poll() is None, "the batch ended before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(sign)
    _, err = process.communicate(timeout=DEADLINE)
    return process.returncode, err


def timeless_lines(folder: Path) -> list[dict[str, Any]]:
    return [without_retrieval_times(each) for each in lines(folder)]


@pytest.mark.slow
def test_killed_and_resumed_is_as_if_undisturbed(command: list[str], tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    assert run([*command, str(whole)]) == 0
    disturbed(command, killed, signal.SIGKILL)
    assert not (killed / "verdicts.csv").exists()
    assert 0 < len([each for each in read_events(killed) if each.kind == "claim_ended"]) < 6
    assert run([*command, str(killed)]) == 0
    calls = Counter((each.item, each.key) for each in read_events(killed) if each.kind == "call_finished")
    assert set(calls.values()) == {1}
    assert canonical(read_events(killed)) == canonical(read_events(whole))
    assert timeless_lines(killed) == timeless_lines(whole)
    assert (killed / "verdicts.csv").read_bytes() == (whole / "verdicts.csv").read_bytes()


class Full(io.BytesIO):
    """A file on a disk without room."""

    def write(self, *_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_a_batch_with_the_name_of_its_folder_and_no_traceback(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    row = {"claim": "The tower was first lit in 1871.", "contexts": ["The tower was first lit in 1871."]}
    file.write_text(f"{json.dumps(row)}\n" * 6)
    monkeypatch.setattr("redargue.batch.open_to_write", lambda path: Full())
    assert run(["batch", str(file), "-o", str(out), "--method", "single-reader", "-q"]) == 2
    err = capfd.readouterr().err
    assert f"{str(out / 'verdicts.jsonl')!r} cannot be written: No space left on device" in err
    assert "free disk space" in err
    assert "Traceback" not in err
    assert caplog.records == []  # of asyncio: exceptions that nobody took
    assert not (out / "verdicts.csv").exists()


@pytest.mark.slow
def test_interrupted_by_hand_is_exit_130_and_keeps_what_was_reached(command: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, err = disturbed(command, out, signal.SIGINT)
    assert code == 130
    assert b"the same command resumes the batch" in err
    assert [each["claim"] for each in cells(out)] == [each["claim"]["text"] for each in lines(out)] != []
    assert run([*command, str(out)]) == 0
    assert len(cells(out)) == 6


def claims_of(file: Path, mapping: dict[str, str]) -> list[Claim]:
    rows = list(read_rows(file, mapping, labels=FEVER, as_of=date(2000, 1, 1)))
    return [row.claim for row in rows if isinstance(row, ClaimRow)]


@pytest.mark.slow
def test_a_row_with_an_empty_cell_is_refused_and_the_others_are_verified(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "claims.csv", tmp_path / "out"
    file.write_text("id,claim\na,Bees are birds.\nb,\nc,Fred Perry was left-handed.\n")
    assert run(["batch", str(file), "-o", str(out), "--store", "starter", "--method", "single-reader"]) == 3
    out_text, err = capfd.readouterr()
    assert "refused" in err
    assert "row 2" in err
    found = lines(out)
    assert [(each["item"], each["id"]) for each in found] == [(1, "a"), (2, "b"), (3, "c")]
    assert found[1]["label"] is None
    assert found[1]["error"]["where"].endswith("row 2")
    assert found[0]["label"]
    assert [(row["item"], row["id"], bool(row["error"])) for row in cells(out)] == [
        ("1", "a", False),
        ("2", "b", True),
        ("3", "c", False),
    ]
    assert "2 claims" in out_text
    assert "1 row refused" in out_text


def test_a_row_is_checked_against_its_own_contexts_alone(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    claim = "The lighthouse at Cape Ansel was first lit in 1871."
    contexts = [[claim], ["Bread is made of flour.", "Dough rises."]]
    file.write_text("".join(json.dumps({"claim": claim, "contexts": each, "id": 7}) + "\n" for each in contexts))
    command = ["batch", str(file), "-o", str(out), "--method", "single-reader", "-q"]
    assert run(command) == 0
    told, open_ = lines(out)
    assert (told["label"], open_["label"]) == ("SUPPORTS", "NOT ENOUGH INFO")
    assert told["quotes"][0]["source"]["document"] == "context-1"
    assert told["id"] == "7"
    assert run([*command, "--workers", "2"]) == 2
    file.write_text(json.dumps({"claim": claim, "contexts": claim}) + "\n" + json.dumps({"claim": claim}) + "\n")
    assert run([*command[:2], "-o", str(tmp_path / "other")]) == 2  # the second row has none


def test_a_row_of_question_answer_and_contexts_is_verified_whole(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.csv", tmp_path / "out"
    contexts = json.dumps(["The lighthouse at Cape Ansel was first lit in 1871.", "Bread is made of flour."])
    with file.open("w", newline="") as written:
        rows = csv.writer(written)
        rows.writerow(["id", "question", "answer", "contexts"])
        rows.writerow(["q1", "When was it lit?", "The lighthouse at Cape Ansel was first lit in 1871.", contexts])
        rows.writerow(["q2", "", "The lighthouse at Cape Ansel was first lit in 1871.", contexts])
        rows.writerow(["q3", "When?", "", contexts])
    assert run(["batch", str(file), "-o", str(out), "--method", "single-reader", "-q"]) == 3
    whole, alone, refused = lines(out)
    assert whole["claim"]["text"] == "When was it lit? The lighthouse at Cape Ansel was first lit in 1871."
    assert alone["label"] == "SUPPORTS"
    assert "answer: expected text" in refused["error"]["what"]


def test_an_answer_is_verified_claim_by_claim_beside_its_whole_and_resumed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    contexts = ["The lighthouse at Cape Ansel was first lit in 1871. The museum at Orvell is closed on Mondays."]
    answer = (
        "The lighthouse at Cape Ansel was first lit in 1871. The museum at Orvell is open on Mondays. Isn't it nice?"
    )
    written = [
        {"id": "q1", "question": "When was it lit?", "answer": answer, "contexts": contexts},
        {"id": "q2", "answer": "La lumière du phare fut allumée pour la première fois en 1871.", "contexts": contexts},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in written))
    command = ["batch", str(file), "-o", str(out), "--method", "single-reader", "-q"]
    assert run(command) == 0
    assert "2 claims in the answers: Refuted: 1; Supported: 1; 1 sentence not checked" in capfd.readouterr().out
    first, second = lines(out)
    report = first["answer"]
    assert [claim["verdict"]["meaning"] for claim in report["claims"]] == ["supported", "refuted"]
    assert [claim["stated"] for claim in report["claims"]] == [
        "The lighthouse at Cape Ansel was first lit in 1871.",
        "The museum at Orvell is open on Mondays.",
    ]
    assert report["outcome"] == "non_factual"
    assert report["context"] == "When was it lit?"
    assert second["answer"]["outcome"] == "unchecked"
    assert [row["answer_refuted"] for row in cells(out)] == ["1", "0"]
    assert cells(out)[1]["answer_not_checked"] == "1"
    before = (out / "verdicts.jsonl").read_bytes()
    assert run([*command, "--fail-on", "refuted", "--allow-unchecked"]) == 1  # of a claim of an answer
    assert (out / "verdicts.jsonl").read_bytes() == before
    assert run(["runs", "show", str(out / "answers" / "000001"), "--json"]) == 0
    assert run([*command[:-1], "-o", str(tmp_path / "cut"), "--budget", "1calls"]) == 4
    assert {line["answer_error"]["type"] for line in lines(tmp_path / "cut") if "answer_error" in line} <= {
        "BudgetReached"
    }


@pytest.mark.slow
def test_what_recorded_answers_have_cost_is_counted_once_and_before_anything_else(tmp_path: Path) -> None:
    text = Text(text="The lighthouse at Cape Ansel was first lit in 1871. The museum is open.")
    row = ClaimRow(1, Claim(text="It was lit in 1871."), contexts=("The lighthouse was lit in 1871.",), answer=text)
    spec, parts = with_documents(RunSpec(method="single-reader"), [row.documents])
    budgets = [Budget(50), Budget(50)]
    for budget in budgets:
        with Verifier(spec, parts=replace(parts, budget=budget)) as verifier:
            count_answers([row], verifier, tmp_path)
            assert budget.spent == (Cost() if budget is budgets[0] else budgets[0].spent)
            assert isinstance(asyncio.run(check_row(row, verifier, tmp_path, concurrency=2)), Report)
    assert budgets[0].spent == budgets[1].spent
    assert budgets[0].spent.calls == 3


def test_rows_are_read_by_their_own_names_or_by_a_mapping(tmp_path: Path) -> None:
    packed = tmp_path / "claims.jsonl.gz"
    row = {"claim": "A b.", "context": "C.", "as_of": "2021-03-31", "labels": "x", "options": None, "n": 1}
    packed.write_bytes(gzip.compress((json.dumps(row) + "\n").encode()))
    (claim,) = claims_of(packed, {})
    assert claim == Claim(text="A b.", context="C.", as_of=date(2021, 3, 31))
    table = tmp_path / "claims.tsv"
    table.write_text('q\tchoices\tkind\nWhich?\t"[""x"", ""y""]"\toptions\nThat.\t\ttwo\n')
    mapping = read_mapping(["claim=q, options=choices", "labels=kind"])
    which, that = claims_of(table, mapping)
    assert (which.options, which.labels.name, that.labels) == (("x", "y"), "options", TWO)
    assert that.as_of == date(2000, 1, 1)


@pytest.mark.parametrize(
    ("name", "text", "mapping", "said"),
    [
        ("a.csv", "claim\n?!\n", "", "row 1"),
        ("a.csv", "text\nA b.\n", "", "no field claim; its fields: text"),
        ("a.csv", "claim,day\nA b.,tomorrow\n", "as_of=day", "expected a date like '2021-03-31'"),
        ("a.csv", "claim,set\nA b.,fevr\n", "labels=set", "did you mean 'fever'"),
        ("a.csv", "claim\nA b.\n", "context=about", "no field about"),
        ("a.csv", "claim,choices\nA b.,x\n", "options=choices", "a JSON list"),
        ("a.jsonl", '{"claim": "A b."}\nB c.\n', "", "not JSON"),
        ("a.jsonl", '{"claim": 5}\n', "", "claim: expected text, got 5"),
        ("a.jsonl", "", "", "empty"),
        ("a.txt", "A b.\n", "", "redargue check"),
        ("a.csv", "claim\nA b.\n", "clam=x", "did you mean 'claim'"),
        ("a.csv", "claim\nA b.\n", "claim", "cannot read 'claim'"),
        ("a.csv", "claim\nA b.\n", "claim=a,claim=b", "two columns"),
    ],
)
def test_a_wrong_file_or_mapping_is_exit_2_and_says_where(
    name: str, text: str, mapping: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert run(["batch", name, "-o", "out", *(["--map", mapping] if mapping else []), *OPTIONS]) == 2
    assert said in " ".join(capfd.readouterr().err.split())
    assert not (tmp_path / "out").exists()


def test_no_file_is_exit_2() -> None:
    with pytest.raises(UsageError, match="no file"):
        list(read_rows(Path("nowhere.csv"), {}, labels=FEVER))


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "\x00=", "\u202e="])
def test_no_cell_is_a_formula(sign: str) -> None:
    assert csv_cell(f"{sign}1+1").startswith("'")
    assert csv_cell("1-1") == "1-1"
    assert csv_cell(None) == ""
    assert csv_cell("a\x1b[2Jb") == "a[2Jb"


def test_a_long_batch_holds_one_verdict_of_each_kind() -> None:
    tally = Tally()
    for number in range(1000):
        error = ErrorInfo(type="BadReply", what="w", exit_code=3) if number % 10 == 0 else None
        tally.add(Verdict(claim=Claim(text="A b."), label=None, error=error, usage=Usage(calls=2, usd=0.5)))
    assert len({id(each) for each in tally.outcomes}) == 2
    assert (len(tally.outcomes), tally.errors, tally.calls, tally.usd) == (1000, 100, 2000, 500.0)
    assert tally.labels == {"Error (BadReply)": 100, "No answer": 900}


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (lambda *given, **options: False, "the engine 'own' ended without a verdict on 3 claims"),
        (lambda spec, batch: False, "the engine 'own' of 'test_batch', an extension, failed: TypeError"),
    ],
)
def test_an_engine_that_verifies_nothing_is_an_error(
    engine: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.__module__ = "test_batch"
    monkeypatch.setitem(engines._loaded, "own", engine)
    (tmp_path / "claims.csv").write_text(TABLE)
    code = run(["batch", str(tmp_path / "claims.csv"), "-o", str(tmp_path / "out"), "--engine", "own", *MAP, *OPTIONS])
    assert (code, said in capsys.readouterr().err) == (3, True)
