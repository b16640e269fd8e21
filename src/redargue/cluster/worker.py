"""A worker: leases claims from a shared ledger, verifies several concurrently, and stores their results.

A worker needs only the ledger, which stores its job, its paid calls, and the limits and budget of all workers. It may
be killed at any time: the others expire a worker without a heartbeat.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from redargue.assembly import Parts, connect
from redargue.claims import Claim
from redargue.cluster import BudgetTable, LedgerBudget, RateTable, SharedLimiter
from redargue.cluster.queue import (
    DONE,
    FAILED,
    LEASED,
    STOPPED,
    WAITING,
    Batch,
    Finish,
    Job,
    Lease,
    Leased,
    Queue,
    compress,
    require_batch,
    store_results,
)
from redargue.cluster.store import WAIT, LedgerTransaction, TransactionBatcher, open_ledger
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import EVENT, CallFailed, ClaimEnded, Event
from redargue.net.secrets import Secrets
from redargue.net.transport import Rate, Transport
from redargue.runs.budget import Budget, Cost, UsageCounter
from redargue.runs.manifest import read_manifest
from redargue.runs.record import Paid, RecordMode
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

# Records paid calls in the shared ledger as they finish, so that a claim's next worker does not pay
# for them again.
#
# The unit is one call, as in a run folder (:mod:`redargue.runs.record`).


class PaidCall(NamedTuple):
    """The paid event with this ``number`` in its lease, as JSON."""

    place: int
    lease: int
    number: int
    event: str


class PaidCallTable:
    """Stores the paid events of a batch."""

    def __init__(self, batch: int) -> None:
        self._batch = batch

    def handle(self, db: LedgerTransaction, requests: Sequence[PaidCall]) -> list[None]:
        insert = "INSERT INTO paid (batch, place, lease, n, event) VALUES (?, ?, ?, ?, ?)"
        db.executemany(insert, [(self._batch, *request) for request in requests])
        return [None] * len(requests)


@dataclass
class _LeasedClaim:
    lease: int
    known: dict[str, Paid | CallFailed]
    failed: tuple[CallFailed, ...]
    lines: list[str]
    written: int = 0


class SharedRecord:
    """The record of a worker's leased claims (a :class:`~redargue.runs.record.CallRecord`); ``secrets`` are masked."""

    def __init__(
        self, run: str, batcher: TransactionBatcher, table: PaidCallTable, *, secrets: Secrets | None = None
    ) -> None:
        self.id, self.folder = run, Path(run)
        self._batcher, self._table, self._secrets = batcher, table, secrets or Secrets()
        self.mode: RecordMode = "record"
        self._claims: dict[int, _LeasedClaim] = {}

    def begin(self, job: Job) -> None:
        try:
            events = [(EVENT.validate_json(text), old) for text, old in job.paid]
        except ValidationError:
            what = f"a paid call of claim {job.place + 1} in this ledger is damaged"
            raise UsageError(what, hint="drop the batch (redargue ledger drop) and start it again") from None
        paid: dict[str, Paid | CallFailed] = {event.key: event for event, _ in events if isinstance(event, Paid)}
        failures = [(event, old) for event, old in events if isinstance(event, CallFailed)]
        replies = (event for event, old in failures if not old and event.error.type == "BadReply")
        # The debate continued without these replies.
        unreadable = {event.key: event for event in replies if event.key not in paid}
        failed = tuple(event for event, old in failures if old or event.key not in unreadable)
        lines = [event.model_dump_json() for event in failed]
        self._claims[job.place] = _LeasedClaim(job.lease, paid | unreadable, failed, lines)

    def end(self, item: int) -> list[str]:
        return self._claims.pop(item).lines

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        return self._claims[item].known.get(key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        return self._claims[item].failed

    def write(self, event: Event) -> None:
        claim = self._claims[event.item]
        line = self._secrets.hide(event.model_dump_json())
        claim.lines.append(line)
        if isinstance(event, Paid | CallFailed) and event.key not in claim.known:
            self._batcher.post(self._table, PaidCall(event.item, claim.lease, claim.written, line))
            claim.written += 1


LEASE = 15.0  # seconds without a heartbeat after which a worker expires
MAX_ATTEMPTS = 5  # workers that may die on a claim

_OWNED = f"WHERE batch = ? AND owner = ? AND state = {LEASED}"


class WorkerLost(RedargueError):
    """Every worker that had the claim crashed or failed on it; it is not retried automatically."""

    exit_code = 3


class Leave(NamedTuple):
    """Ends a worker; unless it failed on a claim, its leases do not count as attempts."""

    failed: bool = False


class Heartbeat:
    """A worker's registration. Calling it must begin every transaction of the worker.

    The call locks the worker's row until the transaction ends: the worker cannot expire during it, and an expired
    worker cannot change anything. A worker expires ``lease`` seconds after its last heartbeat; ``owner`` is its name,
    unique to the process.
    """

    def __init__(self, batch: int, *, owner: str = "", lease: float = LEASE) -> None:
        self.batch, self.lease, self.interval = batch, lease, lease / 3
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._joined, self._swept, self._until = False, 0.0, 0.0

    def __call__(self, db: LedgerTransaction) -> None:
        """Records a heartbeat; once per interval, expires the workers that sent none.

        Raises RecordError if this worker has expired, or the batch was dropped before it joined.
        """
        now = db.now()
        self._until = now + self.lease
        if not self._joined:
            require_batch(db, self.batch, lock=db.for_update)  # a batch cannot be dropped while a worker joins
            insert = "INSERT INTO workers (owner, batch, until) VALUES (?, ?, ?)"
            db.execute(insert, (self.owner, self.batch, self._until))
            self._joined = True
        else:
            extend = "UPDATE workers SET until = ? WHERE owner = ? AND gone = 0"
            if db.execute(extend, (self._until, self.owner)).rowcount != 1:
                what = f"the worker {self.owner!r} sent no heartbeat for {self.lease:g} s"
                raise RecordError(what, hint="its claims are leased to other workers")
        if not self._swept <= now < self._swept + self.interval:
            self._swept = now
            _follow_clock(db, now, self.lease)
            late = f"SELECT owner FROM workers WHERE gone = 0 AND until < ?{db.skip_locked}"
            for (owner,) in db.execute(late, (now,)).fetchall():
                expire_worker(db, owner)

    def recover(self, db: LedgerTransaction) -> bool:
        """Whether the last transaction was committed although its answer was lost, after the ledger was away.

        Its heartbeat shows it. The other workers get an interval to return before they are expired.
        """
        row = db.execute("SELECT until FROM workers WHERE owner = ?", (self.owner,)).fetchone()
        self._joined, self._swept = row is not None, db.now()
        return row is not None and float(row[0]) == self._until

    def handle(self, db: LedgerTransaction, requests: Sequence[Leave]) -> list[None]:
        if not all(request.failed for request in requests):
            release = f"UPDATE jobs {db.indexed_by.format('jobs_leased')} SET state = ?, owner = NULL,"
            db.execute(f"{release} attempts = attempts - 1 {_OWNED}", (WAITING, self.batch, self.owner))
        expire_worker(db, self.owner)
        return [None] * len(requests)


def _follow_clock(db: LedgerTransaction, now: float, lease: float) -> None:
    """Moves stored times back with a clock that was set back by more than a lease.

    Otherwise the claims of dead workers and paused services would wait until the clock is where it was.
    """
    row = db.execute(f"SELECT value FROM meta WHERE name = 'clock'{db.for_update}").fetchone()
    if row and (back := float(row[0]) - now) > lease:
        # A worker that has sent a heartbeat since then is at most a lease ahead.
        ahead = f"SELECT owner FROM workers WHERE until > ?{db.skip_locked}"
        db.execute(f"UPDATE workers SET until = until - ? WHERE owner IN ({ahead})", (back, now + lease))
        columns = ("requests_due", "tokens_due", "paused_until")
        db.execute(f"UPDATE lanes SET {', '.join(f'{name} = {name} - ?' for name in columns)}", [back] * 3)
    if not row or float(row[0]) != now:
        store = "INSERT INTO meta VALUES ('clock', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        db.execute(store, (repr(now),))


def expire_worker(db: LedgerTransaction, owner: str) -> None:
    """Releases a worker's claims and request slots, and counts its reserved budget as spent.

    Its requests may have been sent, and billed. A claim on which too many workers were lost ends in an error.
    """
    row = db.execute(f"SELECT batch FROM workers WHERE owner = ? AND gone = 0{db.for_update}", (owner,)).fetchone()
    if row is None:
        return
    (batch,) = row
    leased = f"jobs {db.indexed_by.format('jobs_leased')}"
    exhausted = f"SELECT place, claim, attempts FROM {leased} {_OWNED} AND attempts >= ?"
    for place, claim, attempts in db.execute(exhausted, (batch, owner, MAX_ATTEMPTS)).fetchall():
        store_results(db, batch, [(place, compress([_worker_lost(db, batch, place, claim, attempts)]))])
        db.execute("UPDATE jobs SET state = ?, owner = NULL WHERE batch = ? AND place = ?", (FAILED, batch, place))
        db.execute("UPDATE workers SET errors = errors + 1 WHERE owner = ?", (owner,))
    db.execute(f"UPDATE {leased} SET state = ?, owner = NULL {_OWNED}", (WAITING, batch, owner))
    db.execute("DELETE FROM places WHERE owner = ?", (owner,))
    changes = ", ".join(f"{name} = {name} + held_{name}, held_{name} = 0" for name in Cost._fields)
    db.execute(f"UPDATE workers SET gone = 1, {changes} WHERE owner = ?", (owner,))


def _worker_lost(db: LedgerTransaction, batch: int, place: int, claim: str, attempts: int) -> str:
    (text,) = db.execute("SELECT about FROM batches WHERE number = ?", (batch,)).fetchone()
    about: dict[str, object] = json.loads(text)
    usage = UsageCounter(bool(about.get("priced")))
    paid = "SELECT event FROM paid WHERE batch = ? AND place = ? ORDER BY lease, n"
    for (line,) in db.execute(paid, (batch, place)).fetchall():
        usage.count(EVENT.validate_json(line))
    what = f"{attempts} workers died while verifying this claim, or were lost"
    error = ErrorInfo.of(WorkerLost(what, hint="see their logs; repeat the command to try again"))
    fields = {name: str(about.get(name, "")) for name in ("method", "profile", "backend", "run")}
    verified = Claim.model_validate_json(claim)
    verdict = Verdict(claim=verified, label=None, usage=usage.usage(), error=error, **fields)
    return ClaimEnded(item=place, verdict=verdict).model_dump_json()


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
        secrets: Secrets | None = None,
        wait: float = WAIT,
    ) -> None:
        self.heartbeat = Heartbeat(batch.number, owner=owner)
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
        state = STOPPED if verdict.stopped else FAILED if verdict.error else DONE
        if await self.batcher.ask(self._queue, Finish(job.place, events, state)):
            self.finished += 1


async def verify_batch(
    where: str,
    batch: Batch,
    spec: RunSpec,
    parts: Parts,
    *,
    rates: Mapping[str, Rate],
    concurrency: int,
    owner: str = "",
    wait: float = WAIT,
) -> None:
    """Works on a batch until no claims are left; ``parts`` are those besides transport and budget.

    Raises UsageError and RecordError as :func:`verify_leased` does.
    """
    budget = Budget.parse(spec.budget) if spec.budget else Budget()
    secrets = Secrets.from_environment()
    async with Worker(where, batch, budget=budget, rates=rates, owner=owner, secrets=secrets, wait=wait) as worker:
        transport = Transport(worker.limiter, secrets=secrets, offline=spec.offline)
        parts = await connect(spec, replace(parts, transport=transport, budget=worker.budget))
        with Verifier(spec, parts=parts, calls=worker.record) as verifier:
            await verify_leased(worker, verifier, batch, concurrency=concurrency)


async def verify_leased(worker: Worker, verifier: Verifier, batch: Batch, *, concurrency: int) -> None:
    """Verifies a worker's claims with a verifier that uses the worker's record, budget and limiter.

    Raises UsageError if the verifier's version, corpus, model or settings differ from the batch's, and RecordError if
    the ledger failed or the worker has expired.
    """
    if difference := verifier.manifest().differing(read_manifest(batch.about, "the batch")):
        name, own, expected = difference
        hint = "use the same version, corpus, models and settings on every machine"
        raise UsageError(f"this worker's {name} is {own}, the batch's is {expected}", hint=hint)

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
