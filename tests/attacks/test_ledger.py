"""A ledger that someone else writes to: a worker starts, contacts, reads and writes only what its own settings name."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from redargue.claims import Claim
from redargue.cli.app import run
from redargue.cluster import worker_job
from redargue.cluster.commands import run_worker
from redargue.cluster.queue import submit
from redargue.cluster.store import open_ledger
from redargue.errors import RedargueError, UsageError
from redargue.spec import RunSpec
from redargue.verifier import Verifier
from support.loopback import Loopback

LEDGER = Path("ledger.db")
CLAIMS = [Claim(text="Bees are insects.")]


@pytest.fixture
def batch() -> dict[str, Any]:
    """The specification of a batch in a ledger, which the batch's owner made."""
    spec = RunSpec(method="single-reader", store="starter", offline=True)
    with Verifier(spec) as verifier, closing(open_ledger(LEDGER)) as ledger:
        about = verifier.manifest().model_dump(mode="json", exclude={"claims"})
        job: dict[str, Any] = worker_job(verifier, 1)[0].model_dump(mode="json")
        submit(ledger, CLAIMS, about=about, job=job)
    return job


def write(table: str, column: str, value: object) -> None:
    with closing(sqlite3.connect(LEDGER)) as database, database:
        database.execute(f"UPDATE {table} SET {column} = ?", (value,))


@pytest.mark.slow
def test_an_honest_ledger_is_worked_off(batch: dict[str, Any]) -> None:
    run_worker(str(LEDGER), "")
    with closing(sqlite3.connect(LEDGER)) as database:
        assert database.execute("SELECT state FROM jobs").fetchall() == [(2,)]


def test_a_ledger_starts_no_command(batch: dict[str, Any], tmp_path: Path) -> None:
    marker = tmp_path / "started"
    spec = {**batch["spec"], "method": "mermaid", "mcp": [f"sh -c 'touch {marker}; cat'"], "settings": {}}
    write("batches", "job", json.dumps({**batch, "spec": spec}))
    with pytest.raises(UsageError, match="REDARGUE_MCP is not set here"):
        run_worker(str(LEDGER), "")
    assert not marker.exists()


REACHING = {
    "mcp over HTTP": {"method": "mermaid", "settings": {}, "mcp": ["{url}/mcp"]},
    "another server's model": {"model": "m", "base_url": "{url}/v1"},
    "a memory elsewhere": {"method": "mermaid", "settings": {}, "memory": "{folder}/planted.db"},
    "a memory on a server": {"method": "mermaid", "settings": {}, "memory": "postgresql://192.0.2.1/x"},
    "a corpus of this user": {"store": "{folder}/private.db"},
    "a corpus on a server": {"store": "milvus:http://192.0.2.1:19530"},
    "prompts of this machine": {"model": "m", "prompts": "{folder}"},
    "prices of this machine": {"prices": "{folder}/prices.toml"},
    "a model of a hub": {"backend": "transformers", "model": "someone/model"},
}


@pytest.mark.parametrize("change", REACHING.values(), ids=REACHING)
def test_a_ledger_chooses_no_address_and_no_file(
    change: dict[str, Any], batch: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    folder = tmp_path / "other"
    folder.mkdir()
    with Loopback() as server:
        text = json.dumps({**batch["spec"], **change}).replace("{url}", server.url).replace("{folder}", str(folder))
        write("batches", "job", json.dumps({**batch, "spec": json.loads(text)}))
        with pytest.raises(UsageError, match=r"'(?!://).* is not set here"):
            run_worker(str(LEDGER), "")
        assert not server.counts.requests
    assert list(folder.iterdir()) == []


def test_a_worker_whose_settings_name_the_same_is_let(batch: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from redargue.cluster import read_job

    job = read_job(
        {**batch, "spec": {**batch["spec"], "base_url": "http://127.0.0.1:9/v1", "mcp": ["wikipedia", "a b"]}}
    )
    allowed = {"REDARGUE_BASE_URL": "http://127.0.0.1:9/v1", "REDARGUE_MCP": "wikipedia a b", "REDARGUE_OFFLINE": "1"}
    assert job.with_environment(allowed).mcp == ("wikipedia", "a b")
    assert job.with_environment(allowed).offline
    with pytest.raises(UsageError, match="is 'http://other/v1' here"):
        job.with_environment(allowed | {"REDARGUE_BASE_URL": "http://other/v1"})


def test_a_worker_that_is_offline_stays_so(batch: dict[str, Any]) -> None:
    from redargue.cluster import read_job

    job = read_job({**batch, "spec": {**batch["spec"], "offline": False}})
    assert job.with_environment({"REDARGUE_OFFLINE": "1"}).offline
    assert not job.with_environment({"REDARGUE_OFFLINE": "0"}).offline


def test_a_ledger_reads_no_other_variable(batch: dict[str, Any]) -> None:
    write("batches", "job", json.dumps({**batch, "withheld": ["OPENAI_API_KEY"]}))
    with pytest.raises(UsageError, match="which is not an address"):
        run_worker(str(LEDGER), "")


BROKEN: dict[str, tuple[str, str, object]] = {
    "job not JSON": ("batches", "job", "{"),
    "job a list": ("batches", "job", "[]"),
    "job null": ("batches", "job", "null"),
    "job deep": ("batches", "job", "[" * 100_000),
    "job empty": ("batches", "job", "{}"),
    "job of another version": ("batches", "job", '{"spec": {"none": 1}, "concurrency": 1}'),
    "concurrency zero": ("batches", "job", '{"spec": {}, "concurrency": 0}'),
    "concurrency huge": ("batches", "job", '{"spec": {}, "concurrency": 1000000000}'),
    "method unknown": ("batches", "job", '{"spec": {"method": "none"}, "concurrency": 1}'),
    "settings unknown": ("batches", "job", '{"spec": {"settings": {"none": 1}}, "concurrency": 1}'),
    "budget unreadable": ("batches", "job", '{"spec": {"budget": "much"}, "concurrency": 1}'),
    "rates of no shape": ("batches", "job", '{"spec": {}, "rates": {"model": 1}, "concurrency": 1}'),
    "about not JSON": ("batches", "about", "{"),
    "about a number": ("batches", "about", "1"),
    "about empty": ("batches", "about", "{}"),
    "about of another method": ("batches", "about", '{"spec": {"method": "none"}, "format": 3}'),
    "claim not JSON": ("jobs", "claim", "{"),
    "claim empty": ("jobs", "claim", '{"text": ""}'),
    "claim with other fields": ("jobs", "claim", '{"text": "a", "mcp": "b"}'),
}


@pytest.mark.parametrize(("table", "column", "value"), BROKEN.values(), ids=BROKEN)
def test_a_broken_ledger_is_a_typed_error(
    table: str, column: str, value: object, batch: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    write(table, column, value)
    with pytest.raises(RedargueError):
        run_worker(str(LEDGER), "")
    assert run(["ledger", "ls", str(LEDGER)]) in (0, 2)
    assert "Traceback" not in capfd.readouterr().err


def test_escapes_of_a_ledger_do_not_reach_the_terminal(
    batch: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    write("batches", "about", json.dumps({"method": "\x1b]0;owned\x07\x1b[31m"}))
    run(["ledger", "ls", str(LEDGER)])
    assert "\x1b" not in capfd.readouterr().out
