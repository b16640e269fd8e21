"""One worker in this process: how it ends, and what that counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from redargue.claims import Claim
from redargue.cluster.queue import Batch, Counts, Job, count_finished, submit
from redargue.cluster.store import SharedDatabase, open_ledger
from redargue.cluster.worker import Worker, expire_worker
from redargue.errors import RecordError
from redargue.events import ClaimEnded
from redargue.verdicts import Verdict

pytestmark = pytest.mark.anyio
CLAIMS = [Claim(text=f"The bridge at Orvell was opened in {year}.") for year in range(1880, 1900)]


@pytest.fixture
def where(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


def begun(where: str) -> tuple[SharedDatabase, Batch]:
    ledger = open_ledger(where)
    return ledger, submit(ledger, CLAIMS, about={"run": "mine"}, job={})


def jobs(ledger: SharedDatabase) -> list[tuple[int, int]]:
    """States and attempts of the first two claims."""
    with ledger.transaction() as db:
        return list(db.execute("SELECT state, attempts FROM jobs WHERE place < 2 ORDER BY place").fetchall())


def reached(worker: Worker, job: Job) -> Verdict:
    verdict = Verdict(claim=Claim.model_validate_json(job.claim), label=None)
    worker.record.write(ClaimEnded(item=job.place, verdict=verdict))
    return verdict


@pytest.mark.slow
async def test_two_workers_share_a_batch_and_end_when_nothing_is_left(where: str) -> None:
    ledger, batch = begun(where)
    together = most = 0

    async def work() -> int:
        async with Worker(where, batch) as worker:

            async def verify(job: Job) -> Verdict:
                nonlocal together, most
                together += 1
                most = max(most, together)
                await asyncio.sleep(0.001)
                together -= 1
                return reached(worker, job)

            await worker.work(verify, concurrency=3)
            return worker.finished

    assert sum(await asyncio.gather(work(), work())) == len(CLAIMS)
    assert 1 < most <= 6
    assert count_finished(ledger, batch.number) == Counts(len(CLAIMS), 0)
    ledger.close()


@pytest.mark.parametrize(("stopped", "attempts"), [(True, 0), (False, 1)])
async def test_a_stop_is_no_attempt_and_a_failure_is_one(where: str, stopped: bool, attempts: int) -> None:
    ledger, batch = begun(where)
    in_hand = asyncio.Event()

    async def work() -> None:
        async with Worker(where, batch) as worker:

            async def verify(job: Job) -> Verdict:
                in_hand.set()
                if not stopped:
                    raise KeyError(job.place)
                await asyncio.Event().wait()
                raise AssertionError

            await worker.work(verify, concurrency=2)

    running = asyncio.create_task(work())
    await in_hand.wait()
    if stopped:
        running.cancel()
    with pytest.raises(asyncio.CancelledError if stopped else KeyError):
        await running
    assert jobs(ledger) == [(0, attempts), (0, attempts)]
    ledger.close()


async def test_a_worker_that_was_given_up_stops_and_its_results_do_not_count(where: str) -> None:
    ledger, batch = begun(where)
    seen = 0

    async with Worker(where, batch) as worker:

        async def verify(job: Job) -> Verdict:
            nonlocal seen
            seen += 1
            with ledger.transaction() as db:
                expire_worker(db, worker.heartbeat.owner)
            return reached(worker, job)

        with pytest.raises(RecordError):
            await worker.work(verify, concurrency=1)
    assert seen == 1
    assert count_finished(ledger, batch.number) == Counts(0, 0)
    ledger.close()
