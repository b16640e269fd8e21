"""Claims that workers lease from one ledger: nothing is lost, nothing counts twice, whoever dies when."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.conftest import Clock, Opened
from redargue.claims import Claim
from redargue.cluster.queue import (
    DONE,
    FAILED,
    STOPPED,
    SUSPECT,
    Batch,
    Counts,
    Finish,
    Job,
    Lease,
    Queue,
    compress,
    count_finished,
    find_batch,
    has_unfinished,
    progress,
    results,
    retry,
    submit,
)
from redargue.cluster.store import LEDGER_SCHEMA, SharedDatabase, open_ledger
from redargue.cluster.worker import LEASE, MAX_ATTEMPTS, Heartbeat, Leave, PaidCall, PaidCallTable, expire_worker
from redargue.errors import CorpusError, RecordError, UsageError
from redargue.events import EVENT, CallFinished, ClaimEnded
from redargue.verdicts import Verdict
from support.postgres import Server

CLAIMS = [Claim(text=f"The bridge at Orvell was opened in {year}.") for year in range(1880, 1892)]
ABOUT = {"run": "mine", "method": "tool-mad", "seed": 0, "priced": True}


def batch_of(database: SharedDatabase, claims: list[Claim] = CLAIMS, **about: Any) -> Batch:
    return submit(database, claims, about={**ABOUT, **about}, job={})


class ManualWorker:
    """A worker without a thread: each request is a transaction of its own."""

    def __init__(self, database: SharedDatabase, batch: Batch) -> None:
        self.database, self.batch = database, batch
        self.heartbeat = Heartbeat(batch.number)
        self.queue = Queue(self.heartbeat.owner, batch.number)
        self.here()

    def here(self) -> None:
        with self.database.transaction() as db:
            self.heartbeat(db)

    def lease(self, most: int) -> list[Job]:
        with self.database.transaction() as db:
            self.heartbeat(db)
            (answer,) = self.queue.handle(db, [Lease(most)])
        assert not isinstance(answer, bool)
        return list(answer.jobs)

    def finish(self, *places: int, state: int = DONE) -> list[bool]:
        with self.database.transaction() as db:
            self.heartbeat(db)
            return [bool(each) for each in self.queue.handle(db, [ended(place, state) for place in places])]

    def pay(self, place: int, key: str, lease: int = 1) -> None:
        paid = CallFinished(
            item=place, agent="judge", round=1, task="Judge", key=key, requests=3, prompt_tokens=5,
            completion_tokens=2, usd=0.25, outputs=(),
        )  # fmt: skip
        with self.database.transaction() as db:
            self.heartbeat(db)
            PaidCallTable(self.batch.number).handle(db, [PaidCall(place, lease, 0, paid.model_dump_json())])

    def leave(self, *, failed: bool = False) -> None:
        with self.database.transaction() as db:
            self.heartbeat(db)
            self.heartbeat.handle(db, [Leave(failed=failed)])


def ended(place: int, state: int = DONE) -> Finish:
    verdict = Verdict(claim=CLAIMS[place % len(CLAIMS)], label=None)
    return Finish(place, compress([ClaimEnded(item=place, verdict=verdict).model_dump_json()]), state)


def places(jobs: list[Job]) -> list[int]:
    return [job.place for job in jobs]


# batches


def test_the_same_claims_and_settings_are_the_same_batch_and_anything_else_is_another(opened: Opened) -> None:
    database = opened()
    first = batch_of(database)
    assert batch_of(opened(), run="under another name") == first
    others = [batch_of(database, CLAIMS[:-1]), batch_of(database, seed=1)]
    assert len({first.id, *(each.id for each in others)}) == 3
    assert [count_finished(database, each.number) for each in (first, *others)] == [Counts(0, 0)] * 3
    assert find_batch(database, first.id[:12]) == first
    assert find_batch(database) == others[-1]
    with pytest.raises(UsageError, match="no batch 'zz'"):
        find_batch(database, "zz")


def test_a_batch_that_was_half_added_is_added_to_its_end(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redargue.cluster.queue.CHUNK", 5)
    database = opened()

    class Torn(list[Claim]):
        def __iter__(self) -> Any:
            self.read = getattr(self, "read", 0) + 1
            for place, each in enumerate(list.__iter__(self)):
                if self.read == 3 and place == 7:  # once for the hash, once for the first five; then in the next five
                    raise KeyboardInterrupt
                yield each

    claims = CLAIMS * 2
    torn = Torn(claims)
    with pytest.raises(KeyboardInterrupt):
        batch_of(database, torn)
    batch = find_batch(database)
    worker = ManualWorker(database, batch)
    assert 0 < len(worker.lease(100)) < 24
    with database.transaction() as db:
        assert has_unfinished(db, batch.number)
    batch_of(database, claims)
    assert len(worker.lease(100)) == 24 - 5


# leases


def test_claims_are_leased_in_their_order_and_each_to_one_worker(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    one, two = ManualWorker(database, batch), ManualWorker(opened(), batch)
    assert (places(one.lease(4)), places(two.lease(3)), places(one.lease(100))) == (
        [0, 1, 2, 3],
        [4, 5, 6],
        [7, 8, 9, 10, 11],
    )
    assert two.lease(1) == []


def test_rows_that_another_worker_is_leasing_are_passed_over(where: str, opened: Opened) -> None:
    database = opened()
    if not where.startswith("postgresql"):
        pytest.skip("SQLite lets one worker in at a time")
    batch = batch_of(database)
    one, two = ManualWorker(database, batch), ManualWorker(opened(), batch)
    with one.database.transaction() as db:
        one.heartbeat(db)
        (first,) = one.queue.handle(db, [Lease(5)])
        assert places(two.lease(5)) == [5, 6, 7, 8, 9]
    assert not isinstance(first, bool)
    assert places(list(first.jobs)) == [0, 1, 2, 3, 4]


def test_a_result_and_its_completion_are_one_transaction(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    worker = ManualWorker(database, batch)
    worker.lease(3)

    def interrupted() -> None:
        with database.transaction() as db:
            worker.heartbeat(db)
            worker.queue.handle(db, [ended(0)])
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert list(results(database, batch.number)) == []
    assert worker.finish(0, 2) == [True, True]
    assert [place for place, _ in results(database, batch.number, page=1)] == [0, 2]
    assert progress(database, batch.number) == (Counts(2, 0), True)


def test_a_lease_that_ran_out_goes_back_and_its_late_owner_counts_for_nothing(opened: Opened, clock: Clock) -> None:
    database = opened()
    batch = batch_of(database)
    late, other = ManualWorker(database, batch), ManualWorker(opened(), batch)
    late.lease(4)
    late.pay(0, "paid")
    clock.now += LEASE - 0.1
    other.here()
    assert places(other.lease(1)) == [4]  # not yet
    clock.now += LEASE / 2
    other.here()
    (first, *_) = other.lease(8)
    assert (first.place, first.lease, first.attempts, len(first.paid)) == (0, 2, 2, 1)
    with pytest.raises(RecordError, match="sent no heartbeat for 15 s"):
        late.finish(1)
    with pytest.raises(RecordError):
        late.lease(1)
    assert count_finished(database, batch.number) == Counts(0, 0)
    assert other.finish(0, 1, 1) == [True, True, False]
    assert count_finished(database, batch.number) == Counts(2, 0)


def test_heartbeats_keep_a_lease(opened: Opened, clock: Clock) -> None:
    database = opened()
    batch = batch_of(database)
    slow, other = ManualWorker(database, batch), ManualWorker(opened(), batch)
    slow.lease(2)
    for _ in range(20):
        clock.now += slow.heartbeat.interval
        slow.here()
        other.here()
    assert places(other.lease(1)) == [2]
    assert slow.finish(0, 1) == [True, True]


def test_what_is_handed_back_counts_as_no_attempt_and_what_fails_as_one(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    for failed, attempts in ((False, 1), (False, 1), (True, 1), (True, 2)):
        worker = ManualWorker(database, batch)
        jobs = worker.lease(3)
        assert {job.attempts for job in jobs} == {attempts}
        worker.pay(0, "again and again", jobs[0].lease)
        worker.leave(failed=failed)


def test_a_claim_that_workers_die_of_is_tried_alone_and_becomes_an_error(opened: Opened, clock: Clock) -> None:
    database = opened()
    batch = batch_of(database, CLAIMS[:6])
    deaths, finished = 0, set()
    while True:
        worker = ManualWorker(database, batch)
        jobs = worker.lease(4)
        if not jobs:
            break
        if jobs[0].attempts > SUSPECT:
            assert len(jobs) == 1
        if 2 in places(jobs):  # what kills, before anything else of its lease is done
            worker.pay(2, f"at {deaths}", jobs[0].lease)
            deaths += 1
            clock.now += LEASE + 1
            ManualWorker(database, batch)  # somebody notices
            continue
        finished |= {job.place for job in jobs if worker.finish(job.place) == [True]}
    assert (deaths, finished) == (MAX_ATTEMPTS, {0, 1, 3, 4, 5})
    assert count_finished(database, batch.number) == Counts(5, 1)
    verdicts = {place: EVENT.validate_json(lines[-1]) for place, lines in results(database, batch.number)}
    lost = verdicts[2]
    assert isinstance(lost, ClaimEnded)
    assert lost.item == 2
    assert lost.verdict.error
    assert (lost.verdict.error.type, lost.verdict.error.exit_code, lost.verdict.label) == ("WorkerLost", 3, None)
    assert (lost.verdict.usage.calls, lost.verdict.usage.usd, lost.verdict.method) == (15, 1.25, "tool-mad")


def test_what_workers_may_have_died_of_stands_beside_nothing(opened: Opened, clock: Clock) -> None:
    database = opened()
    batch = batch_of(database, CLAIMS[:6])
    for _ in range(SUSPECT):
        ManualWorker(database, batch).lease(3)
        clock.now += LEASE + 1
    worker, other = ManualWorker(database, batch), ManualWorker(database, batch)
    assert places(worker.lease(4)) == [3, 4, 5]
    assert places(worker.lease(1)) == []  # three are in work, and would die with it
    assert places(other.lease(4)) == [0]
    assert places(other.lease(3)) == []
    worker.leave()
    assert places(other.lease(3)) == []  # what the other one handed back has to wait, too
    other.finish(0)
    assert places(other.lease(4)) == [3, 4, 5]
    other.finish(3, 4, 5)
    assert [places(other.lease(4)), other.finish(1), places(other.lease(4))] == [[1], [True], [2]]


def test_what_failed_or_was_stopped_by_the_budget_is_tried_again_with_what_it_paid(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database)
    worker = ManualWorker(database, batch)
    worker.lease(3)
    worker.pay(0, "a")
    worker.pay(1, "b")
    assert worker.finish(0, state=FAILED) + worker.finish(1, state=STOPPED) + worker.finish(2) == [True] * 3
    assert count_finished(database, batch.number) == Counts(1, 1, 1)
    assert progress(database, batch.number)[0] == Counts(1, 1, 1)
    assert [retry(database, batch.number), retry(database, batch.number)] == [2, 0]
    assert [place for place, _ in results(database, batch.number)] == [2]
    jobs = worker.lease(2)
    assert [(job.place, job.lease, job.attempts, [old for _, old in job.paid]) for job in jobs] == [
        (0, 2, 1, [True]),
        (1, 2, 1, [True]),
    ]
    worker.finish(0, 1)
    with database.transaction() as db:
        assert db.execute("SELECT count(*) FROM paid").fetchone() == (0,)
    assert [place for place, _ in results(database, batch.number)] == [0, 1, 2]


def test_a_batch_is_left_as_long_as_somebody_may_die_of_it(opened: Opened) -> None:
    database = opened()
    batch = batch_of(database, CLAIMS[:2])
    worker = ManualWorker(database, batch)
    worker.lease(2)
    with database.transaction() as db:
        assert has_unfinished(db, batch.number)
    worker.finish(0, 1)
    with database.transaction() as db:
        assert not has_unfinished(db, batch.number)


def test_a_worker_whose_machine_is_lost_in_a_transaction_holds_nobody_up(
    where: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not where.startswith("postgresql"):
        pytest.skip("on one host a lost process is noticed at once")
    monkeypatch.setattr("redargue.cluster.store.IDLE", 1)
    lost = opened()
    batch = batch_of(lost)
    monkeypatch.undo()

    def silent() -> None:
        with lost.transaction() as db:
            db.execute("UPDATE jobs SET owner = 'lost' WHERE place = 0")
            with opened().transaction() as other:  # waits for the row, and gets it
                other.execute("UPDATE jobs SET owner = 'found' WHERE place = 0")

    with pytest.raises(RecordError):
        silent()
    with opened().transaction() as db:
        owner = "SELECT owner FROM jobs WHERE batch = ? AND place = 0"
        assert db.execute(owner, (batch.number,)).fetchone() == ("found",)


# processes

WORKER = """
import random, sys
from redargue.claims import Claim
from redargue.events import ClaimEnded
from redargue.cluster.store import open_ledger
from redargue.cluster.worker import Heartbeat
from redargue.cluster.queue import DONE, Finish, Lease, Queue, find_batch, compress
from redargue.verdicts import Verdict

database = open_ledger(sys.argv[1])
batch = find_batch(database)
heartbeat = Heartbeat(batch.number, owner=sys.argv[2])
queue = Queue(sys.argv[2], batch.number)
print("ready", flush=True)
while True:
    with database.transaction() as db:
        heartbeat(db)
        (leased,) = queue.handle(db, [Lease(7)])
    if not leased.jobs:
        break
    for job in leased.jobs:
        verdict = Verdict(claim=Claim.model_validate_json(job.claim), label=None, reason=sys.argv[2])
        events = compress([ClaimEnded(item=job.place, verdict=verdict).model_dump_json()])
        with database.transaction() as db:
            heartbeat(db)
            (counted,) = queue.handle(db, [Finish(job.place, events, DONE)])
        print(job.place if counted else "refused", flush=True)
"""


@pytest.mark.slow
def test_killed_processes_lose_nothing_and_nothing_is_done_twice(where: str) -> None:
    database = open_ledger(where)
    claims = [Claim(text=f"The bridge at Orvell has {number} arches.") for number in range(300)]
    batch = submit(database, claims, about=ABOUT, job={})
    said: list[str] = []
    for round_ in range(4):  # three workers each time; those of the first three rounds are killed in the middle
        names = [f"worker {round_}.{number}" for number in range(3)]
        command = [sys.executable, "-c", WORKER, where]
        running = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in names]
        for process in running:
            assert process.stdout
            if round_ < 3:
                said += [process.stdout.readline() for _ in range(15 + 5 * round_)]
                process.kill()
            said += [line for line in process.stdout if line.endswith("\n")]
            process.wait()
            process.stdout.close()
        with database.transaction() as db:
            for name in names:
                expire_worker(db, name)
    told = [int(line) for line in said if line.strip().isdigit()]
    assert len(told) == len(set(told))  # nothing was done twice …
    assert "refused\n" not in said
    found = [place for place, _ in results(database, batch.number)]
    assert found == list(range(300))  # … and nothing is missing
    assert count_finished(database, batch.number) == Counts(300, 0)
    assert len(told) >= 300 - 9  # a killed process may have finished one that it did not tell of
    database.close()


# the file


def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(CorpusError, match="is not a redargue ledger"):
        open_ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("address", ["postgre://host/database", "http://host", "sqlite:///ledger.db"])
def test_an_address_of_another_scheme_does_not_become_a_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"no ledger is opened at '{address}'"):
        open_ledger(address)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_second_connection_of_a_process_leaves_the_first_one_its_locks(tmp_path: Path) -> None:
    """A file that is closed loses all locks of its process; the last of the others would then take the log away."""
    where = str(tmp_path / "ledger.db")
    first = open_ledger(where)
    batch = submit(first, CLAIMS, about=ABOUT, job={})
    open_ledger(where).close()
    elsewhere = (
        "import sys; from redargue.cluster.store import open_ledger; database = open_ledger(sys.argv[1])\n"
        "with database.transaction() as db: db.execute('UPDATE jobs SET state = 2')\n"
        "database.close()"
    )
    subprocess.run([sys.executable, "-c", elsewhere, where], check=True)
    assert count_finished(first, batch.number) == Counts(len(CLAIMS), 0)
    with first.transaction() as db:
        db.execute("UPDATE jobs SET state = 3")
    second = open_ledger(where)
    assert count_finished(second, batch.number) == Counts(0, len(CLAIMS))
    first.close()
    second.close()


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(RecordError) as raised:
        open_ledger(f"postgresql://keeper:granite-1871@/lamp?host={tmp_path}")
    assert "granite-1871" not in str(raised.value)


@pytest.mark.extra
def test_a_server_without_a_ledger_is_not_changed_by_a_reader(postgres_server: Server) -> None:
    url = postgres_server.create("ledger_missing")
    for _ in range(2):
        with pytest.raises(UsageError, match="no ledger at"):
            open_ledger(url, make=False)


@pytest.mark.extra
def test_a_schema_of_another_program_is_not_used_as_a_ledger(postgres_server: Server) -> None:
    import psycopg

    url = postgres_server.create("ledger_foreign")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"CREATE SCHEMA {LEDGER_SCHEMA}".encode())
        other.execute(f"CREATE TABLE {LEDGER_SCHEMA}.jobs (name TEXT)".encode())
    with pytest.raises(CorpusError, match="is not a redargue ledger"):
        open_ledger(url)


@pytest.mark.extra
@pytest.mark.parametrize(("version", "made"), [("2", "an earlier"), ("4", "a newer")])
def test_a_ledger_on_a_server_made_by_another_redargue_is_refused(
    postgres_server: Server, version: str, made: str
) -> None:
    url = postgres_server.create(f"ledger_format_{version}")
    database = open_ledger(url)
    with database.transaction() as db:
        db.execute("UPDATE meta SET value = ?", (version,))
    database.close()
    with pytest.raises(UsageError, match=rf"made by {made} redargue \(format {version}\)"):
        open_ledger(url)


@pytest.mark.parametrize(("version", "made"), [(2, "an earlier"), (4, "a newer")])
def test_a_ledger_in_a_file_made_by_another_redargue_is_refused(tmp_path: Path, version: int, made: str) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(UsageError, match=rf"made by {made} redargue \(format {version}\)"):
        open_ledger(path)
