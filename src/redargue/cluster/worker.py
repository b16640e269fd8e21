"""A worker: leases claims from a shared ledger, has several of them in work in one process, says what came of each.

It needs nothing but the ledger: what it is to ask stands there, what it has paid for goes there, and limits and budget
are those of all workers together. It may be killed at any moment.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType

from redargue.claims import Claim
from redargue.cluster.budget import SharedBudget, Till
from redargue.cluster.heartbeat import LEASE, Leave, Membership
from redargue.cluster.queue import Batch, Finish, Job, Lease, Leased, Queue, packed
from redargue.cluster.rate_limit import Pacing, SharedLimiter
from redargue.cluster.record import Entries, SharedRecord
from redargue.cluster.store import Rows, open_ledger
from redargue.cluster.transaction_batcher import Desk
from redargue.errors import UsageError
from redargue.net.rate_limit import Rate
from redargue.net.secrets import Secrets
from redargue.runs.budget import Budget
from redargue.runs.manifest import read_manifest
from redargue.verdicts import Verdict
from redargue.verifier import Verifier

IDLE = 1.0  # seconds until a worker without a claim looks again

Verify = Callable[[Job], Awaitable[Verdict]]


class Worker:
    """One process' part in a batch; an async context manager.

    Args:
        where: the ledger.
        batch: of it.
        budget: the batch's limits.
        rates: of the services, the same for all workers.
        owner: the worker's name; one of its own by default.
        lease: seconds without a sign of life after which others get its claims.
        secrets: keys that nothing in the ledger may hold.

    Attributes:
        record: for a verifier's ``calls``.
        budget: for its ``budget``.
        limiter: for its transport.
        finished: claims so far.
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
    ) -> None:
        self.membership = Membership(batch.number, owner=owner, lease=lease)
        owner, limits = self.membership.owner, budget or Budget()
        self._queue, entries = Queue(owner, batch.number), Entries(batch.number)
        self._pacing, till = Pacing(owner, rates or {}), Till(owner, batch.number, limits)
        windows = (entries, self._queue, self._pacing, till, self.membership)
        self.desk = Desk(lambda: open_ledger(where), windows, alive=self._begin, every=self.membership.every)
        run = str(batch.about.get("run", ""))
        self.record = SharedRecord(run, self.desk, entries, secrets=secrets or Secrets.from_environment())
        self.budget, self.limiter = SharedBudget(limits, self.desk, till), SharedLimiter(self.desk, self._pacing)
        self.finished = 0

    def _begin(self, db: Rows) -> None:
        self.membership(db)
        self._pacing.look(db)

    async def __aenter__(self) -> Worker:
        await self.desk.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if not self.desk.broken:
            stopped = kind is None or issubclass(kind, asyncio.CancelledError | KeyboardInterrupt)
            self.desk.post(self.membership, Leave(failed=not stopped))
        await self.desk.__aexit__()

    async def work(self, verify: Verify, *, concurrency: int) -> None:
        """Works until the batch has nothing left, for this worker or another.

        Args:
            verify: reaches a verdict on a leased claim.
            concurrency: number of claims verified at the same time.

        Raises:
            RecordError: the ledger failed, or this worker was given up.
        """
        work: set[asyncio.Task[None]] = set()
        idle = min(IDLE, self.membership.every)
        try:
            while True:
                free = concurrency - len(work)
                leased = Leased(())
                if free >= max(1, concurrency // 4):
                    leased = await self.desk.ask(self._queue, Lease(free))
                    work |= {asyncio.create_task(self._one(job, verify)) for job in leased.jobs}
                if not work and not leased.left:
                    return
                wait = (
                    None if work and (leased.jobs or free < max(1, concurrency // 4)) else idle * random.uniform(0.5, 1)
                )
                if not work:
                    await asyncio.sleep(wait or idle)
                    continue
                ended, work = await asyncio.wait(work, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for each in ended:
                    each.result()
        finally:
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _one(self, job: Job, verify: Verify) -> None:
        self.record.begin(job)
        verdict = await verify(job)
        events = packed(self.record.end(job.place))
        if await self.desk.ask(self._queue, Finish(job.place, events, verdict.error is not None)):
            self.finished += 1


async def verify_leased(worker: Worker, verifier: Verifier, batch: Batch, *, concurrency: int) -> None:
    """Has a verifier do a worker's work.

    Args:
        worker: entered.
        verifier: made with the worker's record, budget and limiter.
        batch: what it is to amount to.
        concurrency: number of claims verified at the same time.

    Raises:
        UsageError: this verifier would ask something else than the batch: another version, corpus, model or setting.
        RecordError: as :meth:`Worker.work`.
    """
    if apart := verifier.manifest().differing(read_manifest(batch.about, "the batch")):
        name, mine, theirs = apart
        raise UsageError(
            f"this worker's {name} is {mine}, the batch's is {theirs}",
            hint="give every machine the same redargue, corpus, models and settings",
        )

    async def verify(job: Job) -> Verdict:
        return await verifier.verify(Claim.model_validate_json(job.claim), item=job.place)

    async with verifier.transport:
        await worker.work(verify, concurrency=concurrency)
