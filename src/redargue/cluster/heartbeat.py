"""Worker registration, heartbeats and expiry."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from redargue.claims import Claim
from redargue.cluster.queue import FAILED, LEASED, WAITING, compress, require_batch, store_results
from redargue.cluster.store import LedgerTransaction
from redargue.errors import RecordError, RedargueError
from redargue.events import EVENT, CallFailed, CallFinished, ClaimEnded, EvidenceFound, EvidenceMissing
from redargue.runs.budget import Cost
from redargue.runs.usage import UsageCounter
from redargue.verdicts import ErrorInfo, Verdict

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

        Raises RecordError if this worker has expired, and RecordError if the batch was dropped before it joined.
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
                raise RecordError(
                    f"the worker {self.owner!r} sent no heartbeat for {self.lease:g} s",
                    hint="its claims are leased to other workers",
                )
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
        db.execute(
            "UPDATE lanes SET requests_due = requests_due - ?, tokens_due = tokens_due - ?,"
            " paused_until = paused_until - ?",
            (back, back, back),
        )
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
    about: dict[str, Any] = json.loads(db.execute("SELECT about FROM batches WHERE number = ?", (batch,)).fetchone()[0])
    usage = UsageCounter(bool(about.get("priced")))
    paid = "SELECT event FROM paid WHERE batch = ? AND place = ? ORDER BY lease, n"
    for (line,) in db.execute(paid, (batch, place)).fetchall():
        event = EVENT.validate_json(line)
        if isinstance(event, CallFinished | CallFailed):
            usage.call(event)
        elif isinstance(event, EvidenceFound | EvidenceMissing):
            usage.search(event)
    what = f"{attempts} workers died while verifying this claim, or were lost"
    error = ErrorInfo.of(WorkerLost(what, hint="see their logs; repeat the command to try again"))
    fields = {name: str(about.get(name, "")) for name in ("method", "profile", "backend", "run")}
    verified = Claim.model_validate_json(claim)
    verdict = Verdict(claim=verified, label=None, usage=usage.usage(), error=error, **fields)
    return ClaimEnded(item=place, verdict=verdict).model_dump_json()
