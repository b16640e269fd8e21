"""Who works on a shared ledger: joining, saying that one is alive, and what becomes of those who no longer do."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from redargue.claims import Claim
from redargue.cluster.queue import FAILED, LEASED, WAITING, packed, store_results, there
from redargue.cluster.store import Rows
from redargue.errors import LeaseLost, WorkerLost
from redargue.events import EVENT, CallFailed, CallFinished, ClaimEnded, EvidenceFound, EvidenceMissing
from redargue.runs.usage import UsageCounter
from redargue.verdicts import ErrorInfo, Verdict

LEASE = 15.0  # seconds without a sign of life after which a worker is given up
ATTEMPTS = 5  # workers that may die over a claim

_HELD = f"WHERE batch = ? AND owner = ? AND state = {LEASED}"


class Leave(NamedTuple):
    """Says that the worker ends.

    Attributes:
        failed: over one of its claims: that was an attempt. Otherwise what it hands back counts as none.
    """

    failed: bool = False


class Membership:
    """A worker's place in a ledger. Calling it begins a transaction of that worker.

    Whoever begins so holds the worker's row until the transaction ends: nobody can give the worker up in its midst, and
    a worker that was given up changes nothing any more.

    Args:
        batch: that it works on.
        owner: its name, one of its own each time a process starts.
        lease: seconds that its leases last beyond its last sign of life.
    """

    def __init__(self, batch: int, *, owner: str = "", lease: float = LEASE) -> None:
        self.batch, self.lease = batch, lease
        self.owner = owner or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._joined, self._swept = False, 0.0

    @property
    def every(self) -> float:
        """Seconds between signs of life."""
        return self.lease / 3

    def __call__(self, db: Rows) -> None:
        """Says that the worker is alive, and now and then gives up those that are not.

        Raises:
            LeaseLost: this one was given up.
            RecordError: its batch was dropped before it came.
        """
        now = db.now()
        if not self._joined:
            there(db, self.batch, lock=db.lock)  # nobody drops it while somebody joins
            db.execute(
                "INSERT INTO workers (owner, batch, until) VALUES (?, ?, ?)", (self.owner, self.batch, now + self.lease)
            )
            self._joined = True
        else:
            alive = "UPDATE workers SET until = ? WHERE owner = ? AND gone = 0"
            if db.execute(alive, (now + self.lease, self.owner)).rowcount != 1:
                raise LeaseLost(
                    f"the worker {self.owner!r} gave no sign of life for {self.lease:g} s",
                    hint="others have its claims",
                )
        if now >= self._swept + self.every:
            self._swept = now
            give_up_lost(db, now)

    def serve(self, db: Rows, asked: Sequence[Leave]) -> list[None]:
        """Hands back what the worker has leased."""
        if not all(each.failed for each in asked):
            given = f"UPDATE jobs {db.by.format('jobs_leased')} SET state = ?, owner = NULL, attempts = attempts - 1"
            given += f" {_HELD}"
            db.execute(given, (WAITING, self.batch, self.owner))
        give_up(db, self.owner)
        return [None] * len(asked)


def give_up_lost(db: Rows, now: float) -> int:
    """Gives up every worker whose leases have run out, whatever batch it worked on; how many."""
    lost = db.execute(f"SELECT owner FROM workers WHERE gone = 0 AND until < ?{db.skip}", (now,)).fetchall()
    for (owner,) in lost:
        give_up(db, owner)
    return len(lost)


def give_up(db: Rows, owner: str) -> None:
    """Takes from a worker what it has: its claims wait again, its places are free, what it held of the budget is spent.

    Its requests may have been sent, and billed. A claim over which too many workers were lost becomes an error.
    """
    row = db.execute(f"SELECT batch FROM workers WHERE owner = ? AND gone = 0{db.lock}", (owner,)).fetchone()
    if row is None:
        return
    (batch,) = row
    tried = f"SELECT place, claim, attempts FROM jobs {db.by.format('jobs_leased')} {_HELD} AND attempts >= ?"
    for place, claim, attempts in db.execute(tried, (batch, owner, ATTEMPTS)).fetchall():
        store_results(db, batch, [(place, packed([_lost(db, batch, place, claim, attempts)]))])
        db.execute("UPDATE jobs SET state = ?, owner = NULL WHERE batch = ? AND place = ?", (FAILED, batch, place))
        db.execute("UPDATE workers SET errors = errors + 1 WHERE owner = ?", (owner,))
    given = f"UPDATE jobs {db.by.format('jobs_leased')} SET state = ?, owner = NULL {_HELD}"
    db.execute(given, (WAITING, batch, owner))
    db.execute("DELETE FROM places WHERE owner = ?", (owner,))
    db.execute(
        "UPDATE workers SET gone = 1, calls = calls + held_calls, tokens = tokens + held_tokens, usd = usd + held_usd,"
        " held_calls = 0, held_tokens = 0, held_usd = 0 WHERE owner = ?",
        (owner,),
    )


def _lost(db: Rows, batch: int, place: int, claim: str, attempts: int) -> str:
    """The last event of a claim whose workers died, with what it has cost."""
    (words,) = db.execute("SELECT about FROM batches WHERE number = ?", (batch,)).fetchone()
    about: dict[str, Any] = json.loads(words)
    spent = UsageCounter(bool(about.get("priced")))
    paid = "SELECT event FROM paid WHERE batch = ? AND place = ? ORDER BY lease, n"
    for (line,) in db.execute(paid, (batch, place)).fetchall():
        event = EVENT.validate_json(line)
        if isinstance(event, CallFinished | CallFailed):
            spent.call(event)
        elif isinstance(event, EvidenceFound | EvidenceMissing):
            spent.search(event)
    error = WorkerLost(
        f"{attempts} workers died over this claim, or were lost",
        hint="look at their logs; the same command tries again",
    )
    named = {name: str(about.get(name, "")) for name in ("method", "profile", "backend", "run")}
    checked = Claim.model_validate_json(claim)
    verdict = Verdict(claim=checked, label=None, usage=spent.usage(), error=ErrorInfo.of(error), **named)
    return ClaimEnded(item=place, verdict=verdict).model_dump_json()
