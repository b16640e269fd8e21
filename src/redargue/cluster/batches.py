"""All batches of a shared ledger: how far each is, and dropping one that is exported."""

from __future__ import annotations

import json
from typing import NamedTuple

from redargue.cluster.queue import CHUNK, DONE, DROPPED, FAILED, LEASED, Batch
from redargue.cluster.store import SharedDatabase
from redargue.errors import UsageError

_ALIVE = "SELECT count(*) FROM workers WHERE batch = ? AND gone = 0 AND until >= ?"


class Listed(NamedTuple):
    """A batch of a ledger.

    Attributes:
        id: see :class:`redargue.cluster.queue.Batch`.
        method: that is asked.
        total: claims.
        waiting: of them nobody has, or they are yet to be added.
        leased: are in work.
        done: have a verdict.
        errors: ended in one.
        workers: alive.
        calls: paid, by all its workers; those of claims in work included.
        tokens: likewise.
        usd: likewise.
    """

    id: str
    method: str
    total: int
    waiting: int
    leased: int
    done: int
    errors: int
    workers: int
    calls: int
    tokens: int
    usd: float


def listed(database: SharedDatabase) -> tuple[Listed, ...]:
    """Every batch, the newest first; claims are counted one by one, a transaction a batch: workers wait meanwhile."""
    with database.transaction() as db:
        rows = db.execute(
            f"SELECT number, id, about, total FROM batches WHERE substr(id, 1, 1) <> '{DROPPED}' ORDER BY number DESC"
        ).fetchall()
    return tuple(_listed(database, *row) for row in rows)


def _listed(database: SharedDatabase, number: int, key: str, about: str, total: int) -> Listed:
    states = "SELECT state, count(*) FROM jobs WHERE batch = ? GROUP BY state"
    sums = (
        "SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM workers WHERE batch = ?"
    )
    with database.transaction() as db:
        counts = dict(db.execute(states, (number,)).fetchall())
        (workers,) = db.execute(_ALIVE, (number, db.now())).fetchone()
        calls, tokens, usd = db.execute(sums, (number,)).fetchone()
    leased, done, errors = (counts.get(state, 0) for state in (LEASED, DONE, FAILED))
    return Listed(
        id=key,
        method=json.loads(about)["method"],
        total=total,
        waiting=total - leased - done - errors,
        leased=leased,
        done=done,
        errors=errors,
        workers=int(workers),
        calls=int(calls),
        tokens=int(tokens),
        usd=float(usd),
    )


def drop(database: SharedDatabase, batch: Batch) -> int:
    """Removes a batch with all that came of it; what was begun and interrupted is done first.

    From its first step on nobody finds the batch any more: the same command again begins a new one.

    Args:
        database: the ledger.
        batch: as ``find`` gives it.

    Returns:
        How many claims it had.

    Raises:
        UsageError: workers are at it.
    """
    with database.transaction() as db:
        # First: who is joining is waited for.
        db.execute("UPDATE batches SET id = ? WHERE number = ?", (f"{DROPPED}{batch.number}", batch.number))
        (alive,) = db.execute(_ALIVE, (batch.number, db.now())).fetchone()
        if alive:
            raise UsageError(
                f"{alive} {'worker is' if alive == 1 else 'workers are'} at the batch {batch.id[:12]!r}",
                hint="end them first; one that was killed counts for 15 s",
            )
        rows = db.execute(
            f"SELECT number, total FROM batches WHERE substr(id, 1, 1) = '{DROPPED}' ORDER BY number"
        ).fetchall()
    for number, total in rows:
        for first in range(0, total, CHUNK):
            with database.transaction() as db:
                for table in ("paid", "results", "jobs"):
                    places = (number, first, first + CHUNK)
                    db.execute(f"DELETE FROM {table} WHERE batch = ? AND place >= ? AND place < ?", places)
        with database.transaction() as db:
            db.execute("DELETE FROM workers WHERE batch = ?", (number,))
            db.execute("DELETE FROM batches WHERE number = ?", (number,))
    return batch.total
