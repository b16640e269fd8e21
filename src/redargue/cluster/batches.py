"""Lists the batches of a shared ledger, and removes batches that are no longer needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from redargue.claims import Claim, Frozen
from redargue.cluster.queue import (
    CHUNK,
    DONE,
    FAILED,
    LEASED,
    STOPPED,
    Batch,
    count_states,
    find_batch,
    json_object,
    results,
)
from redargue.cluster.store import SharedDatabase
from redargue.errors import RecordError, UsageError
from redargue.events import EVENT, ClaimEnded
from redargue.files import make_folder, read_stored, replacing
from redargue.runs.record import write_atomically, writing
from redargue.verdicts import Verdict

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
    stopped: int  # claims that the budget stopped
    workers: int  # live workers
    calls: int  # paid calls, including those of claims in progress
    tokens: int
    usd: float


def summarize_batches(database: SharedDatabase) -> tuple[BatchSummary, ...]:
    """All batches, newest first. Counts every claim in one transaction per batch, which blocks the workers."""
    query = "SELECT number, id, about, total FROM batches WHERE id IS NOT NULL ORDER BY number DESC"
    with database.transaction() as db:
        rows = db.execute(query).fetchall()
    return tuple(_summary(database, *row) for row in rows)


def _summary(database: SharedDatabase, number: int, id_: str, about: str, total: int) -> BatchSummary:
    sums = ", ".join(f"coalesce(sum({column}), 0)" for column in ("calls", "tokens", "usd"))
    with database.transaction() as db:
        counts = count_states(db, number)
        (workers,) = db.execute(_COUNT_ALIVE, (number, db.now())).fetchone()
        calls, tokens, usd = db.execute(f"SELECT {sums} FROM workers WHERE batch = ?", (number,)).fetchone()
    leased, done, errors, stopped = (counts.get(state, 0) for state in (LEASED, DONE, FAILED, STOPPED))
    waiting, described = total - leased - done - errors - stopped, json_object(about, "description").get("spec")
    method = str(described.get("method", "")) if isinstance(described, dict) else ""
    spent = int(calls), int(tokens), float(usd)
    return BatchSummary(id_, method, total, waiting, leased, done, errors, stopped, int(workers), *spent)


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


# A batch folder has the files of a single-process batch, and ``ledger.json``: the id of the batch, and the
# size of the log at the last export.


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Creates a folder if necessary and locks it; raises RecordError if another command has locked it."""
    try:
        make_folder(folder)
    except OSError as error:
        what = f"{str(folder)!r} cannot be a batch folder: {error.strerror}"
        raise UsageError(what, hint="choose another folder: -o DIR") from error
    with writing(folder):
        yield


def check_not_dropped(folder: Path, batch_id: str, ledger: SharedDatabase) -> None:
    """Raises RecordError if a folder contains results of a batch that is not in the ledger."""
    if not any(read_mark(folder, batch_id).log):
        return
    try:
        find_batch(ledger, batch_id)
    except UsageError:
        dropped = "a batch that is not in this ledger: it was dropped, or is in another"
        hint = "pass the ledger that has the batch, or choose another folder to verify all claims again"
        raise RecordError(f"{str(folder)!r} contains results of {dropped}", hint=hint) from None


class LedgerMark(Frozen):
    """What ``ledger.json`` holds: the batch, and the sizes in bytes of the log before and after the last export."""

    batch: str = ""
    log: tuple[int, ...] = ()


def read_mark(folder: Path, batch_id: str) -> LedgerMark:
    """Reads ``ledger.json``; empty if the folder has none.

    Raises RecordError if the folder belongs to another batch or run, or its log has changed since the last export.
    """
    hint = "choose another folder: -o DIR"
    mark = read_stored(folder / "ledger.json", LedgerMark.model_validate, hint=hint) or LedgerMark()
    if mark.batch and mark.batch != batch_id:
        raise RecordError(
            f"{str(folder)!r} holds another batch: {mark.batch[:16]}, not {batch_id[:16]}",
            hint="repeat the command with the same claims and options, or choose another folder",
        )
    log = folder / "events.jsonl"
    if log.exists() and log.stat().st_size not in mark.log:
        what = f"{str(folder)!r} holds the run of a single process"
        raise RecordError(what, hint="resume without --engine, or choose another folder")
    return mark


def prepare_folder(folder: Path, batch: Batch, claims: Sequence[Claim]) -> None:
    if not read_mark(folder, batch.id).batch:
        head = json.dumps({"run": folder.name, **batch.about}, indent=1, ensure_ascii=False).removesuffix("\n}")
        with replacing(folder / "run.json") as file:  # one claim at a time: there may be a million
            file.write(f'{head},\n "claims": ['.encode())
            for place, claim in enumerate(claims):
                file.write((("," if place else "") + "\n  " + claim.model_dump_json()).encode())
            file.write(b"\n ]\n}\n")
        write_atomically(folder / "ledger.json", json.dumps({"batch": batch.id, "log": []}))


def write_log(folder: Path, batch: Batch, ledger: SharedDatabase) -> Iterator[tuple[int, Verdict]]:
    """Rewrites the log with all finished claims; yields the index and verdict of each."""
    log = folder / "events.jsonl"
    size_before = log.stat().st_size if log.exists() else 0
    with replacing(log) as file:
        for place, lines in results(ledger, batch.number):
            file.write("".join(f"{line}\n" for line in lines).encode())
            try:
                event = EVENT.validate_json(lines[-1])
            except ValidationError:
                event = None
            if not isinstance(event, ClaimEnded):
                raise RecordError(f"the result of claim {place + 1} in this ledger is damaged", hint="drop the batch")
            yield place, event.verdict
        # Both sizes: the command may be killed between the two replacements.
        write_atomically(folder / "ledger.json", json.dumps({"batch": batch.id, "log": [size_before, file.tell()]}))
