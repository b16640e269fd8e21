"""The claims of a batch as a queue of jobs that workers lease, and their results.

A batch is identified by the hash of its manifest and claims, a job by its batch and the claim's index (``place``):
submitting the same batch again adds nothing. A job is waiting, leased, done, failed or stopped. Its paid calls are
kept until it is done; its events then replace them in the transaction that completes it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from redargue.claims import Claim
from redargue.cluster.store import LedgerTransaction, SharedDatabase, repeated
from redargue.errors import RecordError, UsageError

WAITING, LEASED, DONE, FAILED, STOPPED = range(5)  # stopped: by the budget
SUSPECT = 3  # attempts after which a claim is leased alone, after all others: it may be what killed its workers
CHUNK = 5_000  # claims per transaction
_FINISHED = {DONE: "done", FAILED: "errors", STOPPED: "stopped"}  # a worker's counts by state
LARGEST_EVENTS = 500_000_000  # bytes of a claim's events, decompressed


class Batch(NamedTuple):
    """A batch of a ledger."""

    number: int
    id: str
    about: dict[str, object]  # the manifest as in ``run.json``, without the claims
    job: dict[str, Any]  # the job of its workers; see :class:`redargue.cluster.WorkerJob`
    total: int  # number of claims


class Counts(NamedTuple):
    """Numbers of claims that are done, ended in an error or were stopped by the budget, and what was spent."""

    done: int
    errors: int
    stopped: int = 0
    calls: int = 0
    usd: float = 0.0


def submit(
    database: SharedDatabase,
    claims: Sequence[Claim],
    *,
    about: Mapping[str, Any],
    job: Mapping[str, Any],
    owner: str = "",
) -> Batch:
    """Adds a batch, completes one that was added in part, or finds one that exists.

    The ``run`` in ``about`` is only a name, and not part of the batch's identity; ``job`` replaces that of an existing
    batch, and ``owner`` keeps equal batches of several users of one ledger apart. Raises RecordError if the batch was
    dropped meanwhile.
    """
    id_ = batch_id(claims, about, owner)
    insert = "INSERT INTO batches (id, about, job, total) VALUES (?, ?, ?, ?)"
    texts = (json.dumps(dict(fields), ensure_ascii=False) for fields in (about, job))
    with database.transaction() as db:
        db.execute(f"{insert} ON CONFLICT (id) DO UPDATE SET job = excluded.job", (id_, *texts, len(claims)))
    batch = find_batch(database, id_)
    while True:
        with database.transaction() as db:
            require_batch(db, batch.number, lock=db.for_update)
            (filled,) = db.execute("SELECT filled FROM batches WHERE number = ?", (batch.number,)).fetchone()
            chunk = list(itertools.islice(enumerate(claims), filled, filled + CHUNK))
            if not chunk:
                return batch
            db.executemany(
                "INSERT INTO jobs (batch, place, claim) VALUES (?, ?, ?)",
                [(batch.number, place, claim.model_dump_json()) for place, claim in chunk],
            )
            db.execute("UPDATE batches SET filled = ? WHERE number = ?", (filled + len(chunk), batch.number))


def batch_id(claims: Sequence[Claim], about: Mapping[str, Any], owner: str = "") -> str:
    """What identifies a batch: its claims, what their verdicts depend on, and whose it is."""
    facts = {name: value for name, value in about.items() if name not in ("run", "origin")}
    manifest = json.dumps(facts, sort_keys=True)
    digest = hashlib.sha256(manifest.encode())
    digest.update(owner.encode())
    for claim in claims:
        digest.update(claim.model_dump_json().encode() + b"\n")
    return digest.hexdigest()


def find_batch(database: SharedDatabase, id_: str = "") -> Batch:
    """The batch with this id or unique prefix, or the newest; raises UsageError if none or several match."""
    query = (
        "SELECT number, id, about, job, total FROM batches"
        " WHERE substr(id, 1, ?) = ? ORDER BY number DESC LIMIT 2"  # one that is being removed has no id
    )
    with database.transaction() as db:
        rows = db.execute(query, (len(id_), id_)).fetchall()
    if not rows or (id_ and len(rows) > 1):
        what = f"{'several batches' if rows else 'no batch'} {id_!r} in this ledger".replace(" ''", "")
        raise UsageError(what, hint="redargue ledger ls lists them")
    number, full_id, about, job, total = rows[0]
    return Batch(number, full_id, json_object(about, "description"), json_object(job, "specification"), total)


def json_object(text: str, what: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(f"the {what} of the batch in this ledger is damaged", hint="start the batch again")
    return value


def require_batch(db: LedgerTransaction, batch: int, *, lock: str = "") -> None:
    """Raises RecordError if a batch was dropped; with a lock, it cannot be dropped until the transaction ends."""
    row = db.execute(f"SELECT id FROM batches WHERE number = ?{lock}", (batch,)).fetchone()
    if row is None or row[0] is None:
        raise RecordError(f"batch {batch} of this ledger was dropped", hint="redargue ledger ls lists the others")


def retry(database: SharedDatabase, batch: int) -> int:
    """Queues the claims that failed or were stopped again; their paid calls are kept. Returns how many."""
    with database.transaction() as db:
        failed = "SELECT place FROM jobs WHERE batch = ? AND state > ?"
        db.execute(f"UPDATE paid SET old = 1 WHERE batch = ? AND place IN ({failed})", (batch, batch, DONE))
        requeue = "UPDATE jobs SET state = ?, attempts = 0 WHERE batch = ? AND state > ?"
        return int(db.execute(requeue, (WAITING, batch, DONE)).rowcount)


def count_finished(database: SharedDatabase, batch: int) -> Counts:
    """Counts the finished claims one by one, which is slow for large batches."""
    with database.transaction() as db:
        counts = count_states(db, batch)
    return Counts(*(counts.get(state, 0) for state in _FINISHED))


def count_states(db: LedgerTransaction, batch: int) -> dict[int, int]:
    return dict(db.execute("SELECT state, count(*) FROM jobs WHERE batch = ? GROUP BY state", (batch,)).fetchall())


def progress(database: SharedDatabase, batch: int) -> tuple[Counts, bool]:
    """The workers' counts, and whether claims are unfinished; raises RecordError if the batch was dropped."""
    sums = ", ".join(f"coalesce(sum({column}), 0)" for column in (*_FINISHED.values(), "calls", "usd"))

    def read() -> tuple[Counts, bool]:
        with database.transaction() as db:
            require_batch(db, batch)
            query = f"SELECT {sums} FROM workers WHERE batch = ?"
            done, errors, stopped, calls, usd = db.execute(query, (batch,)).fetchone()
            counts = Counts(int(done), int(errors), int(stopped), int(calls), float(usd))
            return counts, has_unfinished(db, batch)

    return repeated(database, read)


def has_unfinished(db: LedgerTransaction, batch: int) -> bool:
    waiting = f"SELECT 1 FROM jobs {db.indexed_by.format('jobs_waiting')} WHERE batch = ? AND state = {WAITING} LIMIT 1"
    leased = f"SELECT 1 FROM jobs {db.indexed_by.format('jobs_leased')} WHERE batch = ? AND state = {LEASED} LIMIT 1"
    missing = "SELECT 1 FROM batches WHERE number = ? AND filled < total"
    return any(db.execute(query, (batch,)).fetchone() for query in (waiting, leased, missing))


def results(
    database: SharedDatabase, batch: int, *, start: int = 0, page: int = 200
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields the index and events of each finished claim in order; events are lines of JSON, the last the verdict."""
    query = (
        "SELECT r.place, r.events FROM results r JOIN jobs j ON j.batch = r.batch AND j.place = r.place"
        " WHERE r.batch = ? AND r.place > ? AND j.state >= ? ORDER BY r.place LIMIT ?"
    )
    last = start - 1

    def read() -> list[tuple[int, bytes]]:
        with database.transaction() as db:
            return list(db.execute(query, (batch, last, DONE, page)).fetchall())

    while True:
        rows = repeated(database, read)
        for place, events in rows:
            yield place, tuple(_decompress(events, place).split("\n"))
        if not rows:
            return
        last = rows[-1][0]


def _decompress(events: bytes, place: int) -> str:
    unpack = zlib.decompressobj()
    try:
        text = unpack.decompress(events, LARGEST_EVENTS).decode()
    except (zlib.error, UnicodeDecodeError):
        text = ""
    if not text or unpack.unconsumed_tail:
        what = f"the result of claim {place + 1} in this ledger is damaged"
        raise RecordError(what, hint="drop the batch: redargue ledger")
    return text


def compress(lines: Sequence[str]) -> bytes:
    return zlib.compress("\n".join(lines).encode())


class Lease(NamedTuple):
    """Requests up to ``limit`` claims."""

    limit: int


class Job(NamedTuple):
    """A leased claim."""

    place: int
    claim: str  # JSON
    lease: int  # number of this lease of the claim, from 1
    attempts: int  # workers that died on the claim, plus this one
    paid: tuple[tuple[str, bool], ...]  # paid events of earlier attempts as JSON; whether the attempt ended in an error


class Leased(NamedTuple):
    """Leased claims; if there are none, ``unfinished`` is whether any are left: other workers may die."""

    jobs: tuple[Job, ...]
    unfinished: bool = True


class Finish(NamedTuple):
    """Completes a claim; its last event contains the verdict, which may be an error."""

    place: int
    events: bytes
    state: int  # DONE, FAILED or STOPPED


class Queue:
    """The leases and results of a worker."""

    def __init__(self, owner: str, batch: int) -> None:
        self.owner, self.batch = owner, batch

    def handle(self, db: LedgerTransaction, requests: Sequence[Lease | Finish]) -> list[Leased | bool]:
        """Answers a lease with claims, and a result with whether it was accepted: its lease must be valid."""
        accepted = self._finish(db, {request.place: request for request in requests if isinstance(request, Finish)})
        answers: list[Leased | bool] = []
        for request in requests:
            if isinstance(request, Lease):
                answers.append(self._lease(db, request.limit))
            else:
                answers.append(request.place in accepted)
                accepted.discard(request.place)
        return answers

    def _finish(self, db: LedgerTransaction, finished: Mapping[int, Finish]) -> set[int]:
        accepted: set[int] = set()
        for state, column in _FINISHED.items():
            places = [place for place, finish in finished.items() if finish.state == state]
            if not places:
                continue
            completed = db.execute(
                "UPDATE jobs SET state = ?, owner = NULL WHERE batch = ?"
                f" AND place IN ({_placeholders(places)}) AND owner = ? AND state = {LEASED} RETURNING place",
                (state, self.batch, *places, self.owner),
            )
            own = [place for (place,) in completed.fetchall()]
            if not own:
                continue
            store_results(db, self.batch, [(place, finished[place].events) for place in own])
            if state == DONE:
                delete = f"DELETE FROM paid WHERE batch = ? AND place IN ({_placeholders(own)})"
                db.execute(delete, (self.batch, *own))
            db.execute(f"UPDATE workers SET {column} = {column} + ? WHERE owner = ?", (len(own), self.owner))
            accepted |= set(own)
        return accepted

    def _lease(self, db: LedgerTransaction, limit: int) -> Leased:
        own = (
            f"SELECT count(*), coalesce(max(attempts), 0) FROM jobs {db.indexed_by.format('jobs_leased')}"
            f" WHERE batch = ? AND owner = ? AND state = {LEASED}"
        )
        leased, attempts = db.execute(own, (self.batch, self.owner)).fetchone()
        if attempts > SUSPECT:
            return Leased(())  # a suspect claim is verified alone
        rows = self._take(db, "AND attempts < ?", (SUSPECT,), limit)
        if not rows and not leased:
            rows = self._take(db, "", (), 1)
        if not rows:
            return Leased((), has_unfinished(db, self.batch))
        paid: dict[int, list[tuple[str, bool]]] = {}
        if again := [place for place, _, lease, _ in rows if lease > 1]:
            query = f"SELECT place, event, old FROM paid WHERE batch = ? AND place IN ({_placeholders(again)})"
            for place, event, old in db.execute(f"{query} ORDER BY lease, n", (self.batch, *again)).fetchall():
                paid.setdefault(place, []).append((event, bool(old)))
        return Leased(tuple(Job(*row, tuple(paid.get(row[0], ()))) for row in rows))

    def _take(
        self, db: LedgerTransaction, condition: str, values: tuple[int, ...], limit: int
    ) -> list[tuple[int, str, int, int]]:
        """Leases waiting claims with two statements: PostgreSQL may plan a single one as a scan per job.

        The state is a literal: the databases do not use a partial index for a state that is a parameter.
        """
        rows = db.execute(
            f"SELECT place, claim, leases + 1, attempts + 1 FROM jobs {db.indexed_by.format('jobs_waiting')}"
            f" WHERE batch = ? AND state = {WAITING} {condition} ORDER BY place LIMIT ?{db.skip_locked}",
            (self.batch, *values, limit),
        ).fetchall()
        if rows:
            places = [row[0] for row in rows]
            db.execute(
                "UPDATE jobs SET state = ?, owner = ?, attempts = attempts + 1, leases = leases + 1"
                f" WHERE batch = ? AND place IN ({_placeholders(places)})",
                (LEASED, self.owner, self.batch, *places),
            )
        return list(rows)


def store_results(db: LedgerTransaction, batch: int, events: Sequence[tuple[int, bytes]]) -> None:
    """Stores compressed events by place; replaces those of an earlier attempt."""
    db.executemany(
        "INSERT INTO results VALUES (?, ?, ?) ON CONFLICT (batch, place) DO UPDATE SET events = excluded.events",
        [(batch, *row) for row in events],
    )


def _placeholders(values: Sequence[int]) -> str:
    return ", ".join("?" * len(values))
