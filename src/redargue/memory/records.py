"""Reads and writes the memory's tables, and searches their vectors.

The statements are the same for SQLite and PostgreSQL. Each function runs within the caller's transaction. Record
numbers come from the database and are formatted into statements; all other values are passed as parameters.

Vectors are searched approximately, as codes of one bit per dimension in memory. A code keeps the sign of each
dimension: 48 bytes for 384 dimensions. A search first selects the codes with the smallest Hamming distance to the
query's code, then ranks them by the dot product of their signs with the query vector. The caller compares the best of
these exactly. On 35,000 passages of FEVER and SciFact, 200 candidates contain 0.998 of the true ten nearest neighbours;
a million codes are searched in a few milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from redargue.database import Database
from redargue.evidence import Passage
from redargue.memory import Finding, MemoryRecord, RecordFilter, normalize_entity
from redargue.nli.session import Floats

_BLOCK = 32_768  # codes compared per step: the intermediate sums stay in the processor's cache
WORD_BITS = 64
OVERSAMPLING = 10  # candidates selected by Hamming distance per code that is returned


def pack_signs(vectors: Floats) -> list[bytes]:
    """Codes of vectors of shape (count, dimensions): a bit per dimension, zero-padded to whole 64-bit words."""
    bits = np.packbits(vectors > 0, axis=1)
    return [row.tobytes() for row in np.pad(bits, ((0, 0), (0, -bits.shape[1] % (WORD_BITS // 8))))]


class BinaryIndex:
    """Codes and their record numbers, in ascending order of the numbers. Not thread-safe."""

    def __init__(self, dimensions: int) -> None:
        self._words = -(-dimensions // WORD_BITS)
        # One row per word of the code, so that the comparison of one word runs over contiguous memory.
        self._codes = np.empty((self._words, 0), np.uint64)
        self._numbers = np.empty(0, np.int64)

    @property
    def count(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> int:
        return int(self._numbers[-1]) if self.count else 0

    def extend(self, rows: list[tuple[int, bytes]]) -> None:
        """Appends codes; their numbers must be larger than :attr:`last` and ascending."""
        new = np.frombuffer(b"".join(bytes(code) for _, code in rows), np.uint64).reshape(len(rows), self._words)
        self._codes = np.hstack((self._codes, new.T))
        self._numbers = np.append(self._numbers, [number for number, _ in rows])

    def nearest(self, vector: Floats, depth: int) -> list[int]:
        """Numbers of the ``depth`` codes that are probably nearest to a vector of shape (dimensions,).

        Ties go to the newest. If the index holds no more than ``depth`` codes, all numbers are returned.
        """
        if depth >= self.count:
            return [int(number) for number in self._numbers]
        query_code = np.frombuffer(pack_signs(vector[None])[0], np.uint64)
        positions = self._nearest_by_hamming(query_code, OVERSAMPLING * depth)
        codes = np.ascontiguousarray(self._codes[:, positions].T).view(np.uint8)
        signs = np.unpackbits(codes, axis=1, count=len(vector)).astype(np.float32)
        order = np.lexsort((-positions, -np.round(signs @ vector, 5)))[:depth]
        return [int(number) for number in self._numbers[positions[order]]]

    def _nearest_by_hamming(self, query_code: npt.NDArray[np.uint64], depth: int) -> npt.NDArray[np.intp]:
        """Positions of the codes with the smallest Hamming distance; ties go to the newest."""
        if depth >= self.count:
            return np.arange(self.count)
        distances = np.empty(self.count, np.uint16)
        for start in range(0, self.count, _BLOCK):
            stop = min(self.count, start + _BLOCK)
            block_distances = np.zeros(stop - start, np.uint16)
            for row, query_word in zip(self._codes, query_code, strict=True):
                block_distances += np.bitwise_count(row[start:stop] ^ query_word)
            distances[start:stop] = block_distances
        positions = np.flatnonzero(distances <= np.partition(distances, depth - 1)[depth - 1])
        return positions[np.lexsort((-positions, distances[positions]))[:depth]]


MEMORY_TABLES = 1
META = (("purges", "0"),)  # initial rows of the table ``meta``

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE records (
    number {number}, workspace TEXT NOT NULL, digest TEXT NOT NULL, status TEXT NOT NULL, tool TEXT NOT NULL,
    query TEXT NOT NULL, arguments TEXT NOT NULL, text TEXT NOT NULL, length INTEGER NOT NULL, document TEXT NOT NULL,
    title TEXT NOT NULL, url TEXT NOT NULL, publisher TEXT NOT NULL, published TEXT NOT NULL, start INTEGER NOT NULL,
    retrieved TEXT NOT NULL, checked TEXT NOT NULL, UNIQUE (workspace, digest)
);
CREATE TABLE entities (
    workspace TEXT NOT NULL, entity TEXT NOT NULL, record BIGINT NOT NULL, PRIMARY KEY (workspace, entity, record)
) {rowless};
CREATE INDEX entities_of_record ON entities (record);
CREATE TABLE claims (
    record BIGINT NOT NULL, claim TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (record, claim)
) {rowless};
CREATE TABLE vectors (record {key}, vector {bytes} NOT NULL);
CREATE TABLE codes (
    workspace TEXT NOT NULL, record BIGINT NOT NULL, code {bytes} NOT NULL, PRIMARY KEY (workspace, record)
) {rowless}
"""


class MemoryTransaction(Protocol):
    """Executes statements with the placeholder ``?``, as :class:`sqlite3.Connection` does."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any: ...


class MemoryStore(Protocol):
    """A database with the tables of the memory, which threads share."""

    def read(self) -> AbstractContextManager[MemoryTransaction]: ...

    def write(self) -> AbstractContextManager[MemoryTransaction]: ...

    def shrink(self) -> None: ...

    def close(self) -> None: ...


class SqliteMemory(Database):
    """A memory in one SQLite file; see :class:`redargue.database.Database`."""

    noun: ClassVar[str] = "memory"
    option: ClassVar[str] = "--memory"
    create_command: ClassVar[str] = "redargue check … --method mermaid --memory"
    application: ClassVar[int] = 0x52444D45  # "RDME"
    schema: ClassVar[int] = MEMORY_TABLES
    tables: ClassVar[str] = TABLES.strip().format(
        number="INTEGER PRIMARY KEY AUTOINCREMENT", key="INTEGER PRIMARY KEY", bytes="BLOB", rowless="WITHOUT ROWID"
    )
    initial_meta: ClassVar[tuple[tuple[str, str], ...]] = META
    synchronous: ClassVar[str] = "FULL"
    busy_timeout: ClassVar[float] = 30.0


MAX_TEXT = 20_000  # characters of a record's text
PER_ENTITY = 500  # newest records per entity that a recall considers
CODE_BATCH = 50_000  # codes per query
VECTOR_BATCH = 1_000  # vectors per query
DELETE_BATCH = 5_000  # records per DELETE statement

_VECTOR_TYPE = np.dtype("<f2")  # half the size of float32
_FIELDS = "document title url publisher published tool query".split()
_OWN = "number workspace status arguments text length start retrieved checked".split()
_COLUMNS = ", ".join([*_OWN, *_FIELDS])
_TABLES = dict.fromkeys(("entities", "claims", "vectors", "codes"), "record") | {"records": "number"}


class NewRecord(NamedTuple):
    """A finding prepared for storage."""

    finding: Finding
    arguments: str
    text: str
    digest: str  # hash of the call and its content; unique in a workspace
    miss_digest: str  # hash of the same call without a result
    embedded_text: str  # text that the record's vector is computed from

    @classmethod
    def of(cls, finding: Finding) -> NewRecord:
        passage, given = finding.passage, finding.arguments or {"query": finding.passage.query}
        arguments = json.dumps(given, sort_keys=True, ensure_ascii=False)
        text = passage.text[:MAX_TEXT]
        return cls(
            finding,
            arguments,
            text,
            _digest(passage.tool, arguments, passage.text, passage.url),
            _digest(passage.tool, arguments, "", ""),
            ". ".join(filter(None, (passage.title, text))) or passage.query,
        )


class Vector(NamedTuple):
    """A record's vector of shape (dimensions,), and its sign code."""

    values: Floats
    code: bytes


def stored_digests(db: MemoryTransaction, workspace: str, digests: Iterable[str]) -> set[str]:
    find = "SELECT 1 FROM records WHERE workspace = ? AND digest = ?"
    return {digest for digest in digests if db.execute(find, (workspace, digest)).fetchone()}


def refresh(db: MemoryTransaction, workspace: str, new: NewRecord, now: datetime) -> int | None:
    """Updates status and time of the record with the same digest, and returns its number; None if there is none."""
    update = "UPDATE records SET status = ?, retrieved = ? WHERE workspace = ? AND digest = ? RETURNING number"
    retrieved = _timestamp(new.finding.passage.retrieved or now)
    rows = db.execute(update, (new.finding.status, retrieved, workspace, new.digest)).fetchall()
    return int(rows[0][0]) if rows else None


def insert(db: MemoryTransaction, workspace: str, new: NewRecord, vector: Vector, now: datetime) -> int:
    """Inserts a record, in place of a miss of the same call, and returns its number."""
    passage, status = new.finding.passage, new.finding.status
    find = "SELECT number FROM records WHERE workspace = ? AND digest = ?"
    if status == "ok" and (misses := _column(db, find, (workspace, new.miss_digest))):
        remove_records(db, workspace, RecordFilter(numbers=misses))
    row: dict[str, object] = {"workspace": workspace, "digest": new.digest, "status": status}
    row |= {"arguments": new.arguments, "text": new.text, "length": len(passage.text)}
    row |= {"start": passage.start, "retrieved": _timestamp(passage.retrieved or now), "checked": ""}
    row |= {name: getattr(passage, name) for name in _FIELDS}
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    insert = f"INSERT INTO records ({columns}) VALUES ({marks}) RETURNING number"
    number = int(db.execute(insert, tuple(row.values())).fetchall()[0][0])
    vector_bytes = np.asarray(vector.values, _VECTOR_TYPE).tobytes()
    db.execute("INSERT INTO vectors (record, vector) VALUES (?, ?)", (number, vector_bytes))
    insert = "INSERT INTO codes (workspace, record, code) VALUES (?, ?, ?)"
    db.execute(insert, (workspace, number, vector.code))
    return number


def link(db: MemoryTransaction, workspace: str, number: int, entities: Iterable[str], claim: str, run: str) -> None:
    values = "VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    rows = [(workspace, entity, number) for entity in entities]
    db.executemany(f"INSERT INTO entities (workspace, entity, record) {values}", rows)
    db.execute(f"INSERT INTO claims (record, claim, run) {values}", (number, claim, run))


def entities_by_record(db: MemoryTransaction, workspace: str, keys: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Maps the records stored under any of the keys to those keys: most keys first, then newest first."""
    find = "SELECT record FROM entities WHERE workspace = ? AND entity = ? ORDER BY record DESC"
    entities: dict[int, tuple[str, ...]] = {}
    for key in keys:
        for number in _column(db, f"{find} LIMIT {PER_ENTITY}", (workspace, key)):
            entities[number] = (*entities.get(number, ()), key)
    return dict(sorted(entities.items(), key=lambda item: (-len(item[1]), -item[0])))


def entities_containing(db: MemoryTransaction, workspace: str, keys: Iterable[str]) -> dict[str, None]:
    """Entities that contain one of the keys, as the authors' program matches them; scans all entities."""
    like = "workspace = ? AND entity LIKE ? ESCAPE '!'"
    find = f"SELECT DISTINCT entity FROM entities WHERE {like} ORDER BY entity"
    escaped = (re.sub("[!%_]", r"!\g<0>", key) for key in keys)
    found = (_column(db, find, (workspace, f"%{part}%")) for part in escaped)
    return dict.fromkeys(chain.from_iterable(found))


def codes_after(db: MemoryTransaction, workspace: str, number: int) -> list[tuple[int, bytes]]:
    """Record numbers above ``number`` with their codes, ascending; at most :data:`CODE_BATCH`."""
    find = "SELECT record, code FROM codes WHERE workspace = ? AND record > ? ORDER BY record"
    return list(db.execute(f"{find} LIMIT {CODE_BATCH}", (workspace, number)).fetchall())


def purge_count(db: MemoryTransaction) -> str:
    return str(db.execute("SELECT value FROM meta WHERE name = 'purges'").fetchone()[0])


def cosine_similarities(db: MemoryTransaction, numbers: Sequence[int], vector: Floats) -> dict[int, float]:
    """Exact cosine similarity of each record with a vector, to six decimals; skips records that no longer exist."""
    similarities: dict[int, float] = {}
    for start in range(0, len(numbers), VECTOR_BATCH):
        batch = _in_list(numbers[start : start + VECTOR_BATCH])
        rows = db.execute(f"SELECT record, vector FROM vectors WHERE record IN {batch}").fetchall()
        if rows:
            stored = np.frombuffer(b"".join(bytes(row[1]) for row in rows), _VECTOR_TYPE)
            scores = np.round(stored.reshape(len(rows), -1).astype(np.float32) @ vector, 6)
            scored = zip(rows, map(float, scores), strict=True)
            similarities |= {number: score for (number, _), score in scored}
    return similarities


def fetch(db: MemoryTransaction, numbers: Sequence[int]) -> dict[int, MemoryRecord]:
    """Records by number, with their claims but without their entities."""
    selection = _in_list(numbers)
    claims: dict[int, list[tuple[str, str]]] = defaultdict(list)
    find = f"SELECT record, claim, run FROM claims WHERE record IN {selection}"
    for number, claim, run in db.execute(f"{find} ORDER BY record, claim").fetchall():
        claims[number].append((claim, run))
    rows = db.execute(f"SELECT {_COLUMNS} FROM records WHERE number IN {selection}").fetchall()
    return {row[0]: _record(row, claims[row[0]]) for row in rows}


def newest(db: MemoryTransaction, workspace: str, condition: RecordFilter, limit: int) -> tuple[MemoryRecord, ...]:
    """The newest matching records, with claims and entities; newest first."""
    where, values = _where(workspace, condition)
    find = f"SELECT number FROM records WHERE {where} ORDER BY number DESC LIMIT ?"
    numbers = _column(db, find, (*values, limit))
    entities: dict[int, list[str]] = defaultdict(list)
    find = f"SELECT record, entity FROM entities WHERE record IN {_in_list(numbers)} ORDER BY record, entity"
    for number, entity in db.execute(find).fetchall():
        entities[number].append(entity)
    records = fetch(db, numbers)
    return tuple(records[number].model_copy(update={"entities": tuple(entities[number])}) for number in numbers)


def count(db: MemoryTransaction, workspace: str, condition: RecordFilter) -> int:
    where, values = _where(workspace, condition)
    return int(db.execute(f"SELECT count(*) FROM records WHERE {where}", values).fetchone()[0])


def mark_checked(db: MemoryTransaction, number: int, status: str, now: datetime) -> None:
    update = "UPDATE records SET status = ?, checked = ? WHERE number = ?"
    db.execute(update, (status, _timestamp(now), number))


def remove_records(db: MemoryTransaction, workspace: str, condition: RecordFilter) -> int:
    where, values = _where(workspace, condition)
    numbers = _column(db, f"SELECT number FROM records WHERE {where}", values)
    for start in range(0, len(numbers), DELETE_BATCH):
        batch = _in_list(numbers[start : start + DELETE_BATCH])
        for table, column in _TABLES.items():
            db.execute(f"DELETE FROM {table} WHERE {column} IN {batch}")
    return len(numbers)


def increment_purge_count(db: MemoryTransaction) -> None:
    """Signals to every process that holds codes in memory that they must be read again."""
    db.execute("UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = 'purges'")


def _where(workspace: str, condition: RecordFilter) -> tuple[str, tuple[Any, ...]]:
    terms, values = ["workspace = ?"], [workspace]
    if condition.numbers:
        terms.append(f"number IN {_in_list(condition.numbers)}")
    if condition.entity:
        terms.append("number IN (SELECT record FROM entities WHERE workspace = ? AND entity = ?)")
        values += [workspace, normalize_entity(condition.entity)]
    before = condition.before and condition.before.isoformat()
    given = {"tool = ?": condition.tool, "status = ?": condition.status, "retrieved < ?": before}
    for term, value in given.items():
        if value:
            terms.append(term)
            values.append(value)
    return " AND ".join(terms), tuple(values)


def _column(db: MemoryTransaction, query: str, values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(row[0] for row in db.execute(query, values).fetchall())


def _record(row: Sequence[Any], claims: Sequence[tuple[str, str]]) -> MemoryRecord:
    number, workspace, status, arguments, text, length, start, retrieved, checked, *values = row
    fields = dict(zip(_FIELDS, values, strict=True))
    found = datetime.fromisoformat(retrieved)
    return MemoryRecord(
        number=number,
        workspace=workspace,
        status=status,
        passage=Passage(text=text, start=start, retrieved=found, **fields),
        arguments=json.loads(arguments),
        length=length,
        checked=datetime.fromisoformat(checked) if checked else None,
        claims=tuple(claims),
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _in_list(numbers: Iterable[int]) -> str:
    """Operand of IN; SQL does not allow (), so an empty list becomes (-1), which no record matches."""
    return f"({', '.join(str(int(number)) for number in numbers) or '-1'})"
