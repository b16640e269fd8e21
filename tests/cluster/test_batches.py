"""What batches a ledger holds, and dropping one of them, on every database there is."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.conftest import Clock, Opened
from cluster.test_queue import ABOUT, CLAIMS, ManualWorker, batch_of
from redargue.cli.app import run
from redargue.cluster import batches, queue
from redargue.cluster.batches import drop_batch, summarize_batches
from redargue.cluster.queue import FAILED, STOPPED, find_batch, progress, submit
from redargue.cluster.store import SharedDatabase, open_ledger
from redargue.cluster.worker import LEASE
from redargue.errors import RecordError, UsageError

TABLES = ("jobs", "results", "paid", "workers")


def rows(database: SharedDatabase, batch: int) -> list[int]:
    with database.transaction() as db:
        each = "SELECT count(*) FROM {} WHERE batch = ?"
        return [int(db.execute(each.format(name), (batch,)).fetchone()[0]) for name in TABLES]


def worked(database: SharedDatabase, **about: Any) -> ManualWorker:
    """A batch of which four claims are leased: one is done, one failed, one is paid for, the budget stopped one."""
    worker = ManualWorker(database, batch_of(database, **about))
    worker.lease(4)
    worker.finish(0)
    worker.finish(1, state=FAILED)
    worker.finish(3, state=STOPPED)
    worker.pay(2, "key")
    return worker


def test_every_batch_is_listed_with_how_far_it_is(opened: Opened) -> None:
    database = opened()
    worked(database)
    batch_of(database, spec={"method": "mermaid"})
    second, first = summarize_batches(database)
    assert (second.method, second.waiting, second.workers) == ("mermaid", len(CLAIMS), 0)
    assert (first.total, first.waiting, first.leased, first.done, first.errors, first.stopped) == (
        len(CLAIMS),
        8,
        1,
        1,
        1,
        1,
    )
    assert (first.workers, first.id) == (1, find_batch(database, first.id[:12]).id)


@pytest.mark.parametrize("command", [["ledger", "ls"], ["worker"]], ids=" ".join)
def test_a_damaged_ledger_is_exit_2_with_what_to_do(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ledger.db"
    with closing(open_ledger(path)) as database:
        batch_of(database)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert run([*command, str(path)]) == 2
    assert "ledger.db' is damaged: " in (err := capfd.readouterr().err)
    assert "→ restore the file from a backup" in err


def test_a_dropped_batch_is_gone_and_the_others_stay(opened: Opened, clock: Clock) -> None:
    database = opened()
    worker, other = worked(database), worked(database, seed=1)
    with pytest.raises(UsageError, match="1 worker is working on batch"):
        drop_batch(database, worker.batch)
    worker.leave()
    before = rows(database, other.batch.number)
    assert drop_batch(database, worker.batch) == len(CLAIMS)
    assert rows(database, worker.batch.number) == [0, 0, 0, 0]
    assert rows(database, other.batch.number) == before
    assert [each.id for each in summarize_batches(database)] == [other.batch.id]
    with pytest.raises(UsageError, match="no batch"):
        find_batch(database, worker.batch.id)
    clock.now += LEASE + 1  # a worker that was killed counts no longer
    assert drop_batch(database, other.batch) == len(CLAIMS)
    assert summarize_batches(database) == ()


def test_what_is_half_dropped_is_found_by_nobody_and_dropped_to_its_end(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK", 5)
    database = opened()
    worker, other = worked(database), worked(database, seed=1)
    for each in (worker, other):
        each.leave()
    begun: list[str] = []

    class Torn:
        """A database that goes away in the third transaction."""

        wait = 0.0

        def reopen(self) -> None: ...

        def transaction(self) -> Any:
            begun.append("one")
            if len(begun) == 3:
                raise KeyboardInterrupt
            return database.transaction()

        def close(self) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        drop_batch(Torn(), worker.batch)
    assert 0 < rows(database, worker.batch.number)[0] < len(CLAIMS)
    again = batch_of(database)  # the same claims: a new batch, not half of the old one
    assert again.number != worker.batch.number
    assert find_batch(database, again.id) == again
    assert len(summarize_batches(database)) == 2
    assert drop_batch(database, other.batch) == len(CLAIMS)
    assert rows(database, worker.batch.number) == [0, 0, 0, 0]
    assert rows(database, again.number)[0] == len(CLAIMS)


def test_the_commands_list_and_drop_and_make_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "ledger.db"
    for command in (["ledger", "ls", str(where)], ["ledger", "drop", str(where), "a"], ["worker", str(where)]):
        assert run(command) == 2
        assert "no ledger at" in capfd.readouterr().err
    assert not where.exists()
    database = open_ledger(where)
    worker = worked(database)
    worker.leave()
    database.close()
    assert run(["ledger", "ls", str(where)]) == 0
    printed = capfd.readouterr().out
    assert printed.startswith(worker.batch.id[:12])
    assert "1 of 12 done, 1 failed, 1 stopped by the budget, 0 in progress; workers: 0; " in printed
    assert run(["ledger", "ls", str(where), "--json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["batches"]
    assert (found["id"], found["done"]) == (worker.batch.id, 1)
    for command in (["ledger", "drop", str(where), "zz", "--yes"], ["worker", str(where), "--batch", "zz"]):
        assert run(command) == 2
        said = capfd.readouterr().err
        assert "no batch 'zz'" in said
        assert "redargue ledger ls lists them" in said
    assert run(["ledger", "drop", str(where), "", "--yes"]) == 2  # a shell's variable that is not set
    assert "is empty" in capfd.readouterr().err
    assert run(["ledger", "drop", str(where), worker.batch.id[:8], "--yes"]) == 0
    assert capfd.readouterr().out == "12 claims removed\n"
    assert run(["ledger", "ls", str(where), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["batches"] == []


def test_who_knew_a_dropped_batch_gets_nothing_of_the_next_one(opened: Opened) -> None:
    database = opened()
    old = batch_of(database)  # a worker has found it, and loads its models
    drop_batch(database, old)
    new = batch_of(database, method="mermaid")
    assert new.number != old.number
    with pytest.raises(RecordError, match="was dropped"):
        ManualWorker(database, old)
    with pytest.raises(RecordError, match="was dropped"):
        progress(database, old.number)
    assert rows(database, new.number) == [len(CLAIMS), 0, 0, 0]


def test_a_batch_that_is_dropped_while_it_is_added_leaves_nothing_behind(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "CHUNK", 5)
    database, other, begun = opened(), opened(), list[str]()

    class Slow:
        """A database in which somebody else drops the batch between two chunks of its claims."""

        wait = 0.0

        def reopen(self) -> None: ...

        def transaction(self) -> Any:
            begun.append("one")
            if len(begun) == 4:
                drop_batch(other, find_batch(other))
            return database.transaction()

        def close(self) -> None: ...

    with pytest.raises(RecordError, match="was dropped"):
        submit(Slow(), CLAIMS, about=ABOUT, job={})
    with database.transaction() as db:
        assert db.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_a_worker_that_finds_its_ledger_busy_may_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "ledger.db"
    database = open_ledger(where)
    batch_of(database)
    monkeypatch.setattr("redargue.cluster.store.SqliteLedger.busy_timeout", 0.01)
    with database.transaction():
        assert run(["worker", str(where)]) == 5  # 2 would end the batch: a worker that cannot be set up here
    assert "is locked by other writers" in capfd.readouterr().err
    database.close()


class _InterruptedWhileItWaits:
    """A connection whose next transaction is interrupted by Ctrl-C at the moment it gets its lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str) -> sqlite3.Cursor:
        result = self._connection.execute(statement)
        if statement.startswith("BEGIN"):
            raise KeyboardInterrupt
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_an_interrupt_while_a_transaction_waits_for_its_lock_does_not_leave_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_ledger(str(tmp_path / "ledger.db"))) as ledger:
        opened: Any = ledger
        with monkeypatch.context() as patched:
            patched.setattr(opened, "_connection", _InterruptedWhileItWaits(opened._connection))
            with pytest.raises(KeyboardInterrupt):
                batch_of(ledger)
        assert progress(ledger, batch_of(ledger).number)[1]
