"""A batch on several processes of this host: the same folder as one process makes, whoever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.cluster.store import LedgerAway
from redargue.events import canonical
from redargue.evidence import without_retrieval_times
from redargue.runs.record import read_events, writing
from support.postgres import Server

OPTIONS = ["--store", "starter", "--method", "tool-mad", "--rounds", "1", "-q"]
DEADLINE = 180.0
TEXTS = ["The Ritz in London opened in 1926.", "Fred Perry was left-handed.", "Bees are birds."]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    file = tmp_path / "claims.jsonl"
    file.write_text("".join(json.dumps({"claim": f"{place}: {text}"}) + "\n" for place, text in enumerate(TEXTS * 2)))
    return ["batch", str(file), *OPTIONS, "-o"]


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def keys(folder: Path) -> Counter[tuple[int, str]]:
    return Counter((each.item, each.key) for each in read_events(folder) if each.kind == "call_finished")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("alone")


@pytest.fixture
def one(command: list[str], folders: Path) -> Path:
    """The batch of one process, made once."""
    if not (folders / "run").exists():
        assert run([*command, str(folders / "run")]) == 0
    return folders / "run"


def same(many: Path, one: Path) -> bool:
    """Whether two folders hold the same batch."""
    about = [json.loads((each / "run.json").read_text()) for each in (many, one)]
    return (
        about[0] == about[1]
        and canonical(read_events(many)) == canonical(read_events(one))
        and [without_retrieval_times(each) for each in lines(many)]
        == [without_retrieval_times(each) for each in lines(one)]
        and (many / "verdicts.csv").read_bytes() == (one / "verdicts.csv").read_bytes()
    )


def leased(ledger: Path) -> dict[str, int]:
    """Number of leased claims by worker."""
    try:
        with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as db:
            rows = db.execute("SELECT owner, count(*) FROM jobs WHERE state = 1 GROUP BY owner").fetchall()
    except sqlite3.OperationalError:
        return {}
    finally:
        if "db" in locals():
            db.close()
    return dict(rows)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def begun(command: list[str], out: Path, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Runs the command in a process, and returns when both of its workers have leased claims."""
    arguments = [*command, str(out), "--engine", "local"]
    process = subprocess.Popen([sys.executable, "-m", "redargue.cli.app", *arguments], stderr=stderr)
    deadline = time.monotonic() + DEADLINE
    while len(leased(out / "ledger.db")) < 2:
        assert process.poll() is None, "the batch ended before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return process


@pytest.mark.slow
def test_two_workers_make_the_folder_that_one_process_makes(command: list[str], one: Path, tmp_path: Path) -> None:
    many = tmp_path / "many" / "run"
    assert run([*command, str(many), "--engine", "local", "--workers", "2", "--concurrency", "2"]) == 0
    assert same(many, one)
    before = (many / "verdicts.csv").read_bytes()
    assert run([*command, str(many), "--engine", "local"]) == 0  # nothing is left to do
    assert (many / "verdicts.csv").read_bytes() == before
    assert run(["replay", str(many)]) == 0


@pytest.mark.extra
def test_two_workers_share_a_server_and_a_second_batch_stands_beside_the_first(
    one: Path, command: list[str], tmp_path: Path, postgres_server: Server
) -> None:
    where = postgres_server.create("of_two_batches")
    many, other = tmp_path / "many" / "run", tmp_path / "other" / "run"
    assert run([*command, str(many), "--workers", "2", "--ledger", where]) == 0
    assert same(many, one)
    assert run([*command, str(other), "--workers", "1", "--ledger", where, "--seed", "1"]) == 0
    assert run([*command, str(many), "--workers", "1", "--ledger", where]) == 0
    assert same(many, one)
    assert not (many / "ledger.db").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_worker_is_replaced_and_nothing_is_lost_or_repeated(
    command: list[str], one: Path, tmp_path: Path
) -> None:
    many = tmp_path / "many" / "run"
    process = begun([*command[:-1], "--concurrency", "2", "-o"], many, subprocess.PIPE)
    victim = children(process.pid)[0]
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    assert b" died (exit code -9); " in err
    assert b" replaces it\n" in err
    assert set(keys(many).values()) == {1}
    assert same(many, one)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_command_leaves_no_worker_and_goes_on(command: list[str], one: Path, tmp_path: Path) -> None:
    many = tmp_path / "many" / "run"
    process = begun([*command[:-1], "--concurrency", "2", "-o"], many)
    workers = children(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + DEADLINE
    while any(Path(f"/proc/{each}/exe").exists() for each in workers):
        assert time.monotonic() < deadline, "a worker goes on without the process that watches it"
        time.sleep(0.01)
    assert run([*command, str(many), "--engine", "local"]) == 0
    assert set(keys(many).values()) == {1}
    assert [each["label"] for each in lines(many)] == [each["label"] for each in lines(one)]  # what was stopped counts


def test_a_ledger_that_went_away_for_too_long_is_not_waited_for_again(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    def wait(*_: object, **options: object) -> None:
        out.rename(tmp_path / "moved")
        raise LedgerAway("the ledger is not there; it was waited for 6 s")

    monkeypatch.setattr("redargue.cluster.commands._supervise", wait)
    assert run([*command, str(out), "--engine", "local"]) == 5
    assert capfd.readouterr().err == "redargue: the ledger is not there; it was waited for 6 s\n"
    assert not out.exists()


@pytest.mark.slow
def test_interrupted_by_hand_is_exit_130_and_keeps_what_was_reached(command: list[str], tmp_path: Path) -> None:
    many = tmp_path / "many" / "run"
    process = begun([*command[:-1], "--concurrency", "2", "-o"], many)
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == 130
    assert leased(many / "ledger.db") == {}  # handed back
    assert len(lines(many)) < 6
    assert run([*command, str(many), "--engine", "local"]) == 0
    assert len(lines(many)) == 6


@pytest.mark.slow
def test_the_budget_is_that_of_all_workers_and_what_was_paid_is_not_paid_again(
    command: list[str], one: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = tmp_path / "many" / "run"
    assert run([*command, str(many), "--engine", "local", "--budget", "12calls"]) == 4
    assert run(["ledger", "ls", str(many / "ledger.db")]) == 0
    *_, summary, _, listed = capfd.readouterr().out.splitlines()
    assert re.search(r"Stopped by the budget: [1-6]\b", summary)
    assert re.search(r" 0 failed, [1-6] stopped by the budget, 0 in progress; ", listed)
    spent = sum(each["usage"]["calls"] for each in lines(many))
    assert 0 < spent <= 12
    assert {each["error"]["type"] for each in lines(many) if each["error"]} == {"BudgetReached"}
    assert run([*command, str(many), "--engine", "local"]) == 0  # without the budget it goes on
    assert set(keys(many).values()) == {1}
    assert same(many, one)


@pytest.mark.slow
def test_a_folder_of_something_else_is_left_as_it_is(
    command: list[str], one: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (one / "events.jsonl").read_bytes()
    assert run([*command, str(one), "--engine", "local"]) == 2
    assert "holds the run of a single process" in capfd.readouterr().err
    assert (one / "events.jsonl").read_bytes() == before
    assert run([*command, "out", "--engine", "lokal"]) == 2
    assert "did you mean 'local'" in capfd.readouterr().err
    assert run([*command, "out", "--engine", "ray"]) == 2
    assert "needs a ledger that every node reaches" in capfd.readouterr().err
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_machine_with_another_corpus_may_not_work_on_the_batch(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    many = tmp_path / "many" / "run"
    assert run([*command, str(many), "--engine", "local", "--budget", "1calls"]) == 4
    with sqlite3.connect(many / "ledger.db") as db:
        (job,) = db.execute("SELECT job FROM batches").fetchone()
        changed = json.loads(job)
        changed["spec"]["seed"] = 7
        db.execute("UPDATE batches SET job = ?", (json.dumps(changed),))
        db.execute("UPDATE jobs SET state = 0")
    db.close()
    assert run(["worker", str(many / "ledger.db")]) == 2
    assert "this worker's seed is 7, the batch's is 0" in capfd.readouterr().err


@pytest.mark.parametrize(  # a plain word in an address is a password, too
    "password", [pytest.param("url-pass-83hf7a0q", marks=pytest.mark.slow), "swordfish"]
)
@pytest.mark.slow
def test_no_key_stands_in_the_ledger(
    command: list[str], password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-Zq81LmNa72QwErTy55UiOp"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("REDARGUE_MODEL_REQUESTS_PER_MINUTE", "6000")
    address = f"http://user:{password}@127.0.0.1:9/v1"
    many = tmp_path / "run"
    options = ["--model", "m", "--base-url", address, "--engine", "local", "--workers", "1"]
    assert run([*command, str(many), *options]) == 5  # nobody is there
    held = b"".join(each.read_bytes() for each in many.iterdir())
    assert key.encode() not in held
    assert password.encode() not in held
    with sqlite3.connect(many / "ledger.db") as db:
        assert db.execute("SELECT requests_due > 0 FROM lanes WHERE service = 'model'").fetchone() == (1,)
    db.close()


@pytest.mark.slow
def test_what_a_folder_refuses_is_no_batch_of_the_ledger(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = tmp_path / "many" / "run"
    assert run([*command, str(many), "--workers", "1", "--budget", "1calls"]) == 4
    assert run([*command, str(many), "--workers", "1", "--seed", "1"]) == 2
    assert "holds another batch" in capfd.readouterr().err
    with sqlite3.connect(many / "ledger.db") as db:  # a worker by hand takes the newest
        assert db.execute("SELECT count(*) FROM batches").fetchone() == (1,)
    db.close()


@pytest.mark.slow
def test_what_was_exported_and_dropped_is_not_written_over(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = tmp_path / "many" / "run"
    assert run([*command, str(many), "--workers", "1", "--budget", "1calls"]) == 4
    before = (many / "events.jsonl").read_bytes(), (many / "verdicts.csv").read_bytes()
    batch = json.loads((many / "ledger.json").read_text())["batch"]
    assert run(["ledger", "drop", str(many / "ledger.db"), batch, "--yes"]) == 0
    assert run([*command, str(many), "--workers", "1", "--budget", "1calls"]) == 2
    assert "a batch that is not in this ledger" in capfd.readouterr().err
    assert ((many / "events.jsonl").read_bytes(), (many / "verdicts.csv").read_bytes()) == before


def test_two_commands_cannot_write_one_folder(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = tmp_path / "many" / "run"
    many.mkdir(parents=True)
    with writing(many):
        assert run([*command, str(many), "--workers", "1"]) == 2
    assert "another process is writing to" in capfd.readouterr().err
    assert not (many / "verdicts.jsonl").exists()
