"""A ledger that goes away and returns: real PostgreSQL stopped and started, a file moved and put back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redargue.claims import Claim
from redargue.cluster import BudgetTable, Commit, Reserve
from redargue.cluster.queue import Job, Lease, Leased, Queue, count_finished, results, submit
from redargue.cluster.store import LedgerAway, LedgerTransaction, SqliteLedger, TransactionBatcher, open_ledger
from redargue.cluster.worker import Heartbeat, PaidCall, PaidCallTable, Worker
from redargue.events import ClaimEnded
from redargue.runs.budget import Budget, Cost
from redargue.verdicts import Verdict
from support import postgres

CLAIMS = [Claim(text=f"The bridge at Orvell was opened in {year}.") for year in range(1850, 1900)]
DEADLINE = 180.0


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    """A server of the test's own, which it may stop."""
    if why := postgres.missing():
        assert not postgres.REQUIRED, why
        pytest.skip(why)
    with postgres.running(durable=True) as server:
        yield server


async def _two_workers(where: str, away: Callable[[], Any], back: Callable[[], Any]) -> Counter[str]:
    """Two workers verify a batch whose ledger goes away after ten claims; what was verified, and how often."""
    ledger = open_ledger(where)
    batch, verified = submit(ledger, CLAIMS, about={"run": "mine"}, job={}), Counter[str]()
    ledger.close()
    left, gone = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with Worker(where, batch, wait=DEADLINE) as worker:

            async def verify(job: Job) -> Verdict:
                verdict = Verdict(claim=Claim.model_validate_json(job.claim), label=None)
                verified[verdict.claim.text] += 1
                if verified.total() == 10:
                    left.set()
                if verified.total() >= 10:
                    await gone.wait()  # these results are reported to a ledger that is away
                worker.record.write(ClaimEnded(item=job.place, verdict=verdict))
                return verdict

            await worker.work(verify, concurrency=4)

    async def interrupt() -> None:
        await left.wait()
        await asyncio.to_thread(away)
        gone.set()
        await asyncio.to_thread(back)

    async with asyncio.timeout(DEADLINE):
        await asyncio.gather(work(), work(), interrupt())
    ledger = open_ledger(where, make=False)
    assert count_finished(ledger, batch.number)[:2] == (len(CLAIMS), 0)
    assert [place for place, _ in results(ledger, batch.number)] == list(range(len(CLAIMS)))
    with ledger.transaction() as db:
        done, gone_early = db.execute("SELECT sum(done), count(*) FROM workers").fetchone()
        attempts = db.execute("SELECT max(attempts), max(leases) FROM jobs").fetchone()
    ledger.close()
    assert (int(done), gone_early) == (len(CLAIMS), 2)  # each was counted once, by the workers that began
    assert tuple(attempts) == (1, 1)
    return verified


@pytest.mark.anyio
@pytest.mark.extra
async def test_a_server_that_is_stopped_in_the_middle_is_waited_for_and_nothing_is_lost_or_repeated(
    server: postgres.Server,
) -> None:
    verified = await _two_workers(server.create("away"), server.stop, server.start)
    assert verified == Counter({claim.text: 1 for claim in CLAIMS})


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_file_that_is_moved_in_the_middle_is_waited_for_and_nothing_is_lost_or_repeated(
    tmp_path: Path,
) -> None:
    where, elsewhere = tmp_path / "ledger.db", tmp_path / "moved.db"
    verified = await _two_workers(str(where), lambda: where.rename(elsewhere), lambda: elsewhere.rename(where))
    assert verified == Counter({claim.text: 1 for claim in CLAIMS})


@pytest.mark.slow
@pytest.mark.extra
def test_a_command_whose_server_is_away_for_seconds_finishes_and_one_that_stays_away_ends_with_5(
    server: postgres.Server, tmp_path: Path
) -> None:
    where, claims = server.create("batch"), tmp_path / "claims.jsonl"
    claims.write_text("".join(json.dumps({"claim": f"{n}: Bees are birds."}) + "\n" for n in range(40)))

    def begun(out: str, wait: str) -> subprocess.Popen[str]:
        """The command, when its workers have finished a claim."""
        options = ["--store", "starter", "--method", "single-reader", "--ledger", where, "--workers", "2", "-q"]
        command = [sys.executable, "-m", "redargue", "batch", str(claims), "-o", str(tmp_path / out), *options]
        command += ["--ledger-wait", wait, "--seed", wait]  # a batch of its own
        environment = os.environ | {"REDARGUE_OFFLINE": "1"}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + DEADLINE
        while not _finished(where, batches=int(out)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process

    waited = begun("1", "170")
    server.stop()
    server.start()
    said = waited.communicate(timeout=DEADLINE)[1]
    assert waited.returncode == 0, said
    lines = [json.loads(line) for line in (tmp_path / "1" / "verdicts.jsonl").read_text().splitlines()]
    assert sorted(int(line["claim"]["text"].partition(":")[0]) for line in lines) == list(range(40))
    gave_up = begun("2", "1")
    server.stop()
    said = gave_up.communicate(timeout=DEADLINE)[1]
    assert gave_up.returncode == 5, said
    assert "does not answer" in said
    assert "the same command resumes the batch" in said
    assert "Traceback" not in said
    server.start()


def _finished(where: str, *, batches: int) -> bool:
    """Whether the newest of so many batches has finished a claim."""
    try:
        ledger = open_ledger(where, make=False)
    except Exception:
        return False  # the batch has not been created
    try:
        with ledger.transaction() as db:
            rows = db.execute("SELECT sum(done) FROM workers GROUP BY batch ORDER BY batch").fetchall()
    finally:
        ledger.close()
    return len(rows) == batches and rows[-1][0] > 0


class _LosesAnswers(SqliteLedger):
    """Loses the connection in a transaction: after its commit, or before; ``lose`` says in which ones."""

    def __init__(self, path: Path, lose: dict[int, str]) -> None:
        super().__init__(path, make=False, wait=DEADLINE)
        self.lose, self.count = lose, 0

    def reopen(self) -> None: ...

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        self.count += 1
        when = self.lose.get(self.count, "")
        if when == "before":
            raise LedgerAway("gone")
        with super().transaction() as db:
            yield db
            if when == "rolled back":
                raise LedgerAway("gone")
        if when == "after":
            raise LedgerAway("gone")


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("when", ["before", "rolled back", "after"])
@pytest.mark.parametrize("number", [1, 2])
async def test_a_transaction_whose_answer_is_lost_happens_once(tmp_path: Path, when: str, number: int) -> None:
    ledger = open_ledger(tmp_path / "ledger.db")
    batch = submit(ledger, CLAIMS, about={"run": "mine"}, job={})
    heartbeat, limits = Heartbeat(batch.number), Budget(calls=100)
    queue, paid = Queue(heartbeat.owner, batch.number), PaidCallTable(batch.number)
    budgets = BudgetTable(heartbeat.owner, batch.number, limits)

    def connect() -> _LosesAnswers:
        return _LosesAnswers(tmp_path / "ledger.db", {number: when})

    handlers = (paid, queue, budgets)
    async with TransactionBatcher(
        connect, handlers, begin=heartbeat, interval=60, recover=heartbeat.recover
    ) as batcher:
        leased: Leased = await batcher.ask(queue, Lease(3))
        batcher.post(paid, PaidCall(0, 1, 0, "{}"))
        batcher.post(budgets, Commit(Cost(), Cost(calls=2)))
        assert await batcher.ask(budgets, Reserve(Cost(calls=5)))
    assert [job.place for job in leased.jobs] == [0, 1, 2]
    with ledger.transaction() as db:
        assert db.execute("SELECT count(*) FROM jobs WHERE state = 1").fetchone() == (3,)
        assert db.execute("SELECT max(attempts), max(leases) FROM jobs").fetchone() == (1, 1)
        assert db.execute("SELECT count(*) FROM paid").fetchone() == (1,)
        assert db.execute("SELECT calls, held_calls, gone FROM workers").fetchall() == [(2, 5, 0)]
    ledger.close()


@pytest.mark.anyio
async def test_a_worker_that_is_stopped_while_its_ledger_is_away_does_not_wait(tmp_path: Path) -> None:
    where = tmp_path / "ledger.db"
    ledger = open_ledger(where)
    batch = submit(ledger, CLAIMS, about={"run": "mine"}, job={})
    heartbeat = Heartbeat(batch.number)
    queue = Queue(heartbeat.owner, batch.number)
    batcher = TransactionBatcher(lambda: open_ledger(where, wait=3600), (queue,), begin=heartbeat, interval=60)
    async with asyncio.timeout(60), batcher:
        await batcher.ask(queue, Lease(1))
        where.rename(tmp_path / "moved.db")
        batcher.post(queue, Lease(1))
    assert "stopped while its ledger was away" in str(batcher.failure)
    ledger.close()


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("returns", [True, False])
async def test_no_request_is_sent_while_the_ledger_that_would_store_its_result_is_away(
    tmp_path: Path, returns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    where, elsewhere = tmp_path / "ledger.db", tmp_path / "moved.db"
    ledger = open_ledger(where)
    batch = submit(ledger, CLAIMS, about={"run": "mine"}, job={})
    ledger.close()
    async with asyncio.timeout(DEADLINE), Worker(str(where), batch, wait=DEADLINE if returns else 1) as worker:
        await worker.batcher.ask(worker._queue, Lease(1))
        await worker.budget.reserve(Cost(calls=1))
        where.rename(elsewhere)
        worker.budget.settle(Cost(calls=1), Cost(calls=1))
        while "waiting for it" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        reserving = asyncio.create_task(worker.budget.reserve(Cost(calls=1)))
        assert not (await asyncio.wait({reserving}, timeout=0.1))[0]
        if returns:
            elsewhere.rename(where)
            await reserving
        else:
            with pytest.raises(LedgerAway, match="it was waited for 1 s"):
                await reserving


def test_a_file_in_the_place_of_a_ledger_is_not_written_to(tmp_path: Path) -> None:
    where = tmp_path / "ledger.db"
    ledger = open_ledger(where)
    where.unlink()
    where.touch()
    with pytest.raises(LedgerAway, match="is another file"), ledger.transaction():
        pass
    with pytest.raises(LedgerAway, match="is empty"):
        ledger.reopen()
    assert where.stat().st_size == 0
    ledger.close()
