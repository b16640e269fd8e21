"""A worker: leases claims from a shared ledger, verifies several concurrently, and stores their results.

A worker needs only the ledger, which stores its job, its paid calls, and the limits and budget of all workers. It may
be killed at any time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from pydantic import ValidationError

from redargue.claims import Claim
from redargue.cluster.budget import BudgetTable, LedgerBudget
from redargue.cluster.heartbeat import LEASE, Heartbeat, Leave
from redargue.cluster.queue import Batch, Finish, Job, Lease, Leased, Queue, compress
from redargue.cluster.rate_limit import RateTable, SharedLimiter
from redargue.cluster.record import PaidCallTable, SharedRecord
from redargue.cluster.store import WAIT, LedgerTransaction, open_ledger
from redargue.cluster.transaction_batcher import TransactionBatcher
from redargue.errors import UsageError
from redargue.net.rate_limit import Rate
from redargue.net.secrets import Secrets
from redargue.runs.budget import Budget
from redargue.runs.manifest import read_manifest
from redargue.verdicts import Verdict
from redargue.verifier import Verifier

_IDLE = 1.0  # seconds until a worker without claims asks for some again

Verify = Callable[[Job], Awaitable[Verdict]]


class Worker:
    """One process of a batch; an async context manager. Its verifier uses its record, budget and limiter.

    ``wait``: seconds that a ledger which does not answer is waited for.
    """

    def __init__(
        self,
        where: str,
        batch: Batch,
        *,
        budget: Budget | None = None,
        rates: Mapping[str, Rate] | None = None,
        owner: str = "",
        lease: float = LEASE,
        secrets: Secrets | None = None,
        wait: float = WAIT,
    ) -> None:
        self.heartbeat = Heartbeat(batch.number, owner=owner, lease=lease)
        owner, limits = self.heartbeat.owner, budget or Budget()
        self._queue, paid_calls = Queue(owner, batch.number), PaidCallTable(batch.number)
        self._rates, budgets = RateTable(owner, rates or {}), BudgetTable(owner, batch.number, limits)
        handlers = (paid_calls, self._queue, self._rates, budgets, self.heartbeat)
        self.batcher = TransactionBatcher(
            lambda: open_ledger(where, wait=wait),
            handlers,
            begin=self._begin,
            interval=self.heartbeat.interval,
            recover=self.heartbeat.recover,
        )
        run = str(batch.about.get("run", ""))
        self.record = SharedRecord(run, self.batcher, paid_calls, secrets=secrets or Secrets.from_environment())
        self.budget = LedgerBudget(limits, self.batcher, budgets)
        self.limiter = SharedLimiter(self.batcher, self._rates)
        self.finished = 0

    def _begin(self, db: LedgerTransaction) -> None:
        self.heartbeat(db)
        self._rates.refresh_pauses(db)

    async def __aenter__(self) -> Worker:
        await self.batcher.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.batcher.failure:
            stopped = kind is None or issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
            self.batcher.post(self.heartbeat, Leave(failed=not stopped))
        await self.batcher.__aexit__()

    async def work(self, verify: Verify, *, concurrency: int) -> None:
        """Verifies up to ``concurrency`` claims at a time until no claim of the batch is unfinished.

        Raises RecordError if the ledger failed or this worker has expired.
        """
        tasks: set[asyncio.Task[None]] = set()
        idle, min_free = min(_IDLE, self.heartbeat.interval), max(1, concurrency // 4)
        try:
            while True:
                free, leased = concurrency - len(tasks), Leased(())
                if free >= min_free:
                    leased = await self.batcher.ask(self._queue, Lease(free))
                    tasks |= {asyncio.create_task(self._verify(job, verify)) for job in leased.jobs}
                if not tasks and not leased.unfinished:
                    return
                pause = idle * random.uniform(0.5, 1)
                if not tasks:
                    await asyncio.sleep(pause)
                    continue
                timeout = None if leased.jobs or free < min_free else pause
                done, running = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # where one raises, those of ``done`` that failed with it are gathered below
                tasks = running
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _verify(self, job: Job, verify: Verify) -> None:
        self.record.begin(job)
        verdict = await verify(job)
        events = compress(self.record.end(job.place))
        if await self.batcher.ask(self._queue, Finish(job.place, events, verdict.error is not None)):
            self.finished += 1


async def verify_leased(worker: Worker, verifier: Verifier, batch: Batch, *, concurrency: int) -> None:
    """Verifies a worker's claims with a verifier that uses the worker's record, budget and limiter.

    Raises UsageError if the verifier's version, corpus, model or settings differ from the batch's, and RecordError if
    the ledger failed or the worker has expired.
    """
    if difference := verifier.manifest().differing(read_manifest(batch.about, "the batch")):
        name, own, expected = difference
        raise UsageError(
            f"this worker's {name} is {own}, the batch's is {expected}",
            hint="use the same version, corpus, models and settings on every machine",
        )

    async def verify(job: Job) -> Verdict:
        return await verifier.verify(_claim(job), item=job.place)

    async with verifier.transport:
        await worker.work(verify, concurrency=concurrency)


def _claim(job: Job) -> Claim:
    try:
        return Claim.model_validate_json(job.claim)
    except ValidationError as error:
        what = f"claim {job.place + 1} in this ledger is damaged: {str(error.errors()[0]['msg'])[:200]}"
        raise UsageError(what, hint="start the batch again") from None
