"""The claims of a batch as jobs that workers lease, and what came of them.

A batch is known by the hash of what was asked and of every claim, a job by its batch and the claim's place: adding the
same again adds nothing. A job is waiting, leased, done, or ended in an error. What a worker has paid for stands beside
its job until the job is done; then the job's events replace it, in the transaction that says so.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from redargue.claims import Claim
from redargue.cluster.store import Rows, SharedDatabase
from redargue.errors import RecordError, UsageError

WAITING, LEASED, DONE, FAILED = range(4)
SUSPECT = 3  # attempts after which a claim may be what its workers died of: it is then in work alone, after all else
CHUNK = 5_000  # claims a transaction
DROPPED = "-"  # how the id of a batch begins that is being dropped: nobody finds it any more


class Batch(NamedTuple):
    """A batch of a ledger.

    Attributes:
        number: in the ledger.
        id: the hash of what was asked and of every claim.
        about: what was asked, as a run folder's ``run.json`` has it, but for the claims.
        spec: what a worker needs to be told, to ask the same.
        total: its claims.
    """

    number: int
    id: str
    about: dict[str, Any]
    spec: dict[str, Any]
    total: int


class Standing(NamedTuple):
    """How far a batch is: claims done and claims that ended in an error; calls and dollars spent."""

    done: int
    errors: int
    calls: int = 0
    usd: float = 0.0


def submit(
    database: SharedDatabase, claims: Sequence[Claim], *, about: Mapping[str, Any], spec: Mapping[str, Any]
) -> Batch:
    """Adds a batch, or finds it, or goes on with adding it.

    Args:
        database: the ledger.
        claims: in their order.
        about: what is asked of them; its ``run`` is a name and makes no other batch.
        spec: for the workers; of a batch that is there already, the newest counts.

    Raises:
        RecordError: it was dropped meanwhile.
    """
    key = batch_id(claims, about)
    with database.transaction() as db:
        words = json.dumps(dict(about), ensure_ascii=False), json.dumps(dict(spec), ensure_ascii=False)
        db.execute(
            "INSERT INTO batches (id, about, spec, total) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET spec = excluded.spec",
            (key, *words, len(claims)),
        )
    found = find(database, key)
    while True:
        with database.transaction() as db:
            there(db, found.number, lock=db.lock)
            row = db.execute("SELECT filled FROM batches WHERE number = ?", (found.number,)).fetchone()
            some = list(itertools.islice(enumerate(claims), row[0], row[0] + CHUNK))
            if not some:
                return found
            db.executemany(
                "INSERT INTO jobs (batch, place, claim) VALUES (?, ?, ?)",
                [(found.number, place, claim.model_dump_json()) for place, claim in some],
            )
            filled = row[0] + len(some)
            db.execute("UPDATE batches SET filled = ? WHERE number = ?", (filled, found.number))


def batch_id(claims: Sequence[Claim], about: Mapping[str, Any]) -> str:
    """What a batch is known by: the hash of what is asked and of every claim."""
    asked = json.dumps({name: value for name, value in about.items() if name != "run"}, sort_keys=True)
    digest = hashlib.sha256(asked.encode())
    for claim in claims:
        digest.update(claim.model_dump_json().encode() + b"\n")
    return digest.hexdigest()


def find(database: SharedDatabase, id_: str = "") -> Batch:
    """The batch with that id, or with an id that begins so; the newest by default.

    Raises:
        UsageError: none, or several.
    """
    query = (
        "SELECT number, id, about, spec, total FROM batches"
        f" WHERE substr(id, 1, ?) = ? AND substr(id, 1, 1) <> '{DROPPED}' ORDER BY number DESC LIMIT 2"
    )
    with database.transaction() as db:
        rows = db.execute(query, (len(id_), id_)).fetchall()
    if not rows or (id_ and len(rows) > 1):
        what = f"{'several batches' if rows else 'no batch'} {id_!r} in this ledger".replace(" ''", "")
        raise UsageError(what, hint="redargue ledger ls lists them")
    number, key, about, spec, total = rows[0]
    return Batch(number, key, json.loads(about), json.loads(spec), total)


def there(db: Rows, batch: int, *, lock: str = "") -> None:
    """Looks whether a batch is there; under a lock it stays there until the transaction ends.

    Raises:
        RecordError: it was dropped.
    """
    row = db.execute(f"SELECT id FROM batches WHERE number = ?{lock}", (batch,)).fetchone()
    if row is None or row[0].startswith(DROPPED):
        raise RecordError(
            f"the batch number {batch} of this ledger was dropped", hint="redargue ledger ls lists what is left"
        )


def retry(database: SharedDatabase, batch: int) -> int:
    """Has what ended in an error tried again; what was paid for it is not paid again. Returns how many claims."""
    with database.transaction() as db:
        failed = "SELECT place FROM jobs WHERE batch = ? AND state = ?"
        db.execute(f"UPDATE paid SET old = 1 WHERE batch = ? AND place IN ({failed})", (batch, batch, FAILED))
        done = db.execute(
            "UPDATE jobs SET state = ?, attempts = 0 WHERE batch = ? AND state = ?", (WAITING, batch, FAILED)
        )
        return int(done.rowcount)


def standing(database: SharedDatabase, batch: int) -> Standing:
    """What is finished, counted one by one: for the beginning and the end."""
    with database.transaction() as db:
        rows = db.execute("SELECT state, count(*) FROM jobs WHERE batch = ? GROUP BY state", (batch,)).fetchall()
    counts = dict(rows)
    return Standing(counts.get(DONE, 0), counts.get(FAILED, 0))


def progress(database: SharedDatabase, batch: int) -> tuple[Standing, bool]:
    """What all its workers have finished and spent so far, as they count it, and whether anything is left to do.

    Raises:
        RecordError: it was dropped.
    """
    with database.transaction() as db:
        there(db, batch)
        sums = "SELECT coalesce(sum(done), 0), coalesce(sum(errors), 0), coalesce(sum(calls), 0), coalesce(sum(usd), 0)"
        done, errors, calls, usd = db.execute(f"{sums} FROM workers WHERE batch = ?", (batch,)).fetchone()
        return Standing(int(done), int(errors), int(calls), float(usd)), left(db, batch)


def left(db: Rows, batch: int) -> bool:
    """Whether a claim of the batch is waiting, leased, or yet to be added."""
    more = "SELECT 1 FROM batches WHERE number = ? AND filled < total"
    waiting = f"SELECT 1 FROM jobs {db.by.format('jobs_waiting')} WHERE batch = ? AND state = {WAITING} LIMIT 1"
    leased = f"SELECT 1 FROM jobs {db.by.format('jobs_leased')} WHERE batch = ? AND state = {LEASED} LIMIT 1"
    return any(db.execute(each, (batch,)).fetchone() for each in (waiting, leased, more))


def results(database: SharedDatabase, batch: int, *, page: int = 200) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Each finished claim's place and its events as lines of JSON, the last with the verdict; in the claims' order."""
    last, query = (
        -1,
        (
            "SELECT r.place, r.events FROM results r JOIN jobs j ON j.batch = r.batch AND j.place = r.place"
            " WHERE r.batch = ? AND r.place > ? AND j.state >= ? ORDER BY r.place LIMIT ?"
        ),
    )
    while True:
        with database.transaction() as db:
            rows = db.execute(query, (batch, last, DONE, page)).fetchall()
        for place, packed in rows:
            yield place, unpacked(packed)
        if not rows:
            return
        last = rows[-1][0]


def packed(lines: Sequence[str]) -> bytes:
    """Events as the ledger keeps them."""
    return zlib.compress("\n".join(lines).encode())


def unpacked(events: bytes) -> tuple[str, ...]:
    """What :func:`packed` made smaller."""
    return tuple(zlib.decompress(events).decode().split("\n"))


class Lease(NamedTuple):
    """Asks for claims.

    Attributes:
        most: how many.
    """

    most: int


class Job(NamedTuple):
    """A leased claim.

    Attributes:
        place: in its batch, from 0.
        claim: as JSON.
        lease: the how manyth of this claim, from 1.
        attempts: workers that have died over it, and this one.
        paid: what earlier attempts have paid for, as events in JSON; and whether each belongs to an attempt that ended
            in an error.
    """

    place: int
    claim: str
    lease: int
    attempts: int
    paid: tuple[tuple[str, bool], ...]


class Leased(NamedTuple):
    """The answer: claims, and whether any is left where there are none; others may die of what they have."""

    jobs: tuple[Job, ...]
    left: bool = True


class Finish(NamedTuple):
    """Says what came of a claim.

    Attributes:
        place: in its batch.
        events: packed, the last with the verdict.
        error: whether the verdict is an error.
    """

    place: int
    events: bytes
    error: bool


class Queue:
    """The window where a worker leases claims and says what came of them.

    Args:
        owner: the worker.
        batch: whose claims.
    """

    def __init__(self, owner: str, batch: int) -> None:
        self.owner, self.batch = owner, batch

    def serve(self, db: Rows, asked: Sequence[Lease | Finish]) -> list[Leased | bool]:
        """A lease is answered with claims; a finish with whether it counted, which it does while the lease holds."""
        counted = self._finish(db, {each.place: each for each in asked if isinstance(each, Finish)})
        answers: list[Leased | bool] = []
        for each in asked:
            if isinstance(each, Lease):
                answers.append(self._lease(db, each.most))
            else:
                answers.append(each.place in counted)
                counted.discard(each.place)
        return answers

    def _finish(self, db: Rows, ended: Mapping[int, Finish]) -> set[int]:
        """Closes the jobs that are still this worker's, with their results; which."""
        counted: set[int] = set()
        for state, error in ((DONE, False), (FAILED, True)):
            places = [place for place, each in ended.items() if each.error is error]
            if not places:
                continue
            held = db.execute(
                "UPDATE jobs SET state = ?, owner = NULL"
                f" WHERE batch = ? AND place IN ({_marks(places)}) AND owner = ? AND state = {LEASED} RETURNING place",
                (state, self.batch, *places, self.owner),
            )
            mine = [place for (place,) in held.fetchall()]
            store_results(db, self.batch, [(place, ended[place].events) for place in mine])
            if mine and not error:
                paid = f"DELETE FROM paid WHERE batch = ? AND place IN ({_marks(mine)})"
                db.execute(paid, (self.batch, *mine))
            if mine:
                column = "errors" if error else "done"
                count = f"UPDATE workers SET {column} = {column} + ? WHERE owner = ?"
                db.execute(count, (len(mine), self.owner))
            counted |= set(mine)
        return counted

    def _lease(self, db: Rows, most: int) -> Leased:
        held = (
            f"SELECT count(*), coalesce(max(attempts), 0) FROM jobs {db.by.format('jobs_leased')}"
            f" WHERE batch = ? AND owner = ? AND state = {LEASED}"
        )
        in_work, tried = db.execute(held, (self.batch, self.owner)).fetchone()
        if tried > SUSPECT:
            return Leased(())  # what may kill stands alone
        rows = self._take(db, "AND attempts < ?", (SUSPECT,), most)
        if not rows and not in_work:
            rows = self._take(db, "", (), 1)
        if not rows:
            return Leased((), left(db, self.batch))
        paid: dict[int, list[tuple[str, bool]]] = {}
        if again := [place for place, _, lease, _ in rows if lease > 1]:
            query = (
                f"SELECT place, event, old FROM paid WHERE batch = ? AND place IN ({_marks(again)}) ORDER BY lease, n"
            )
            for place, event, old in db.execute(query, (self.batch, *again)).fetchall():
                paid.setdefault(place, []).append((event, bool(old)))
        return Leased(tuple(Job(*row, tuple(paid.get(row[0], ()))) for row in rows))

    def _take(self, db: Rows, which: str, values: tuple[int, ...], most: int) -> list[tuple[int, str, int, int]]:
        """Two statements: as one, a server may plan to look for waiting claims once for each job there is.

        The state stands in the statement: an index of some rows alone is of no use to one that could be about others.
        """
        rows = db.execute(
            f"SELECT place, claim, leases + 1, attempts + 1 FROM jobs {db.by.format('jobs_waiting')}"
            f" WHERE batch = ? AND state = {WAITING} {which} ORDER BY place LIMIT ?{db.skip}",
            (self.batch, *values, most),
        ).fetchall()
        if rows:
            places = [row[0] for row in rows]
            db.execute(
                "UPDATE jobs SET state = ?, owner = ?, attempts = attempts + 1, leases = leases + 1"
                f" WHERE batch = ? AND place IN ({_marks(places)})",
                (LEASED, self.owner, self.batch, *places),
            )
        return list(rows)


def store_results(db: Rows, batch: int, found: Sequence[tuple[int, bytes]]) -> None:
    """Keeps what came of claims, packed, by place; in the place of what came of them before."""
    db.executemany(
        "INSERT INTO results VALUES (?, ?, ?) ON CONFLICT (batch, place) DO UPDATE SET events = excluded.events",
        [(batch, *each) for each in found],
    )


def _marks(values: Sequence[int]) -> str:
    return ", ".join("?" * len(values))
