"""Lists the batches of a shared ledger, and removes batches that are no longer needed."""

from __future__ import annotations

from typing import NamedTuple

from redargue.cluster.queue import CHUNK, DONE, FAILED, LEASED, Batch, count_states, read_object
from redargue.cluster.store import SharedDatabase
from redargue.errors import UsageError

_COUNT_ALIVE = "SELECT count(*) FROM workers WHERE batch = ? AND gone = 0 AND until >= ?"


class BatchSummary(NamedTuple):
    """Progress and cost of a batch."""

    id: str
    method: str
    total: int
    waiting: int  # claims that are not leased, including those that are not in the ledger yet
    leased: int
    done: int
    errors: int  # claims that ended in an error
    workers: int  # live workers
    calls: int  # paid calls, including those of claims in progress
    tokens: int
    usd: float


def summarize_batches(database: SharedDatabase) -> tuple[BatchSummary, ...]:
    """All batches, newest first. Counts every claim in one transaction per batch, which blocks the workers."""
    with database.transaction() as db:
        rows = db.execute(
            "SELECT number, id, about, total FROM batches WHERE id IS NOT NULL ORDER BY number DESC"
        ).fetchall()
    return tuple(_summary(database, *row) for row in rows)


def _summary(database: SharedDatabase, number: int, id_: str, about: str, total: int) -> BatchSummary:
    sums = (
        "SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM workers WHERE batch = ?"
    )
    with database.transaction() as db:
        counts = count_states(db, number)
        (workers,) = db.execute(_COUNT_ALIVE, (number, db.now())).fetchone()
        calls, tokens, usd = db.execute(sums, (number,)).fetchone()
    leased, done, errors = (counts.get(state, 0) for state in (LEASED, DONE, FAILED))
    waiting, method = total - leased - done - errors, str(read_object(about, "description").get("method"))
    spent = int(calls), int(tokens), float(usd)
    return BatchSummary(id_, method, total, waiting, leased, done, errors, int(workers), *spent)


def drop_batch(database: SharedDatabase, batch: Batch) -> int:
    """Removes a batch with its results, and returns its number of claims; also completes interrupted removals.

    From the first step on, the batch cannot be found: the same command then starts a new batch. Raises UsageError if
    workers are working on it.
    """
    with database.transaction() as db:
        # Before the workers are counted: this waits for a worker that is joining.
        db.execute("UPDATE batches SET id = NULL WHERE number = ?", (batch.number,))
        (alive,) = db.execute(_COUNT_ALIVE, (batch.number, db.now())).fetchone()
        if alive:
            raise UsageError(
                f"{alive} {'worker is' if alive == 1 else 'workers are'} working on batch {batch.id[:12]!r}",
                hint="stop them first; a killed worker counts as alive for 15 s",
            )
        rows = db.execute("SELECT number, total FROM batches WHERE id IS NULL ORDER BY number").fetchall()
    for number, total in rows:
        for start in range(0, total, CHUNK):
            with database.transaction() as db:
                for table in ("paid", "results", "jobs"):
                    delete = f"DELETE FROM {table} WHERE batch = ? AND place >= ? AND place < ?"
                    db.execute(delete, (number, start, start + CHUNK))
        with database.transaction() as db:
            db.execute("DELETE FROM workers WHERE batch = ?", (number,))
            db.execute("DELETE FROM batches WHERE number = ?", (number,))
    return batch.total
