"""Records in the memory's tables: the statements, the same for SQLite and PostgreSQL.

Each function works within a transaction of its caller's. Numbers of records are ours and stand in statements as they
are; everything else is a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from redargue.evidence import Passage
from redargue.memory.base import Filter, Finding, Stored
from redargue.memory.database import Rows
from redargue.memory.entities import normalised
from redargue.models.cache import Floats

LONGEST = 20_000  # characters of a record's text
UNDER = 500  # newest records of an entity that a recall looks at
CODES = 50_000  # codes that are read at once
VECTORS = 1_000  # likewise
REMOVED = 5_000  # records that a statement removes

_STORED = np.dtype("<f2")  # half the room of float32
_FIELDS = "document title url publisher published tool query".split()
_COLUMNS = f"number, workspace, status, arguments, text, length, start, retrieved, checked, {', '.join(_FIELDS)}"
_TABLES = {"entities": "record", "claims": "record", "vectors": "record", "codes": "record", "records": "number"}


class New(NamedTuple):
    """A finding on its way in.

    Attributes:
        digest: names call and content: what is stored once.
        miss: names the same call without a result.
        meant: what its vector is made of.
    """

    finding: Finding
    arguments: str
    text: str
    digest: str
    miss: str
    meant: str

    @classmethod
    def of(cls, finding: Finding) -> New:
        """Call and content are what a record is known by (tool, arguments, text, address)."""
        passage = finding.passage
        arguments = json.dumps(finding.arguments or {"query": passage.query}, sort_keys=True, ensure_ascii=False)
        return cls(
            finding,
            arguments,
            passage.text[:LONGEST],
            _digest(passage.tool, arguments, passage.text, passage.url),
            _digest(passage.tool, arguments, "", ""),
            ". ".join(filter(None, (passage.title, passage.text[:LONGEST]))) or passage.query,
        )


class Vector(NamedTuple):
    """A record's vector of shape (dimensions,), and its code."""

    values: Floats
    code: bytes


def known(db: Rows, workspace: str, digests: Iterable[str]) -> set[str]:
    """Those of the digests that are stored."""
    find = "SELECT 1 FROM records WHERE workspace = ? AND digest = ?"
    return {each for each in digests if db.execute(find, (workspace, each)).fetchone()}


def put(db: Rows, workspace: str, new: New, vector: Vector | None, now: datetime) -> tuple[int, bool]:
    """Stores a finding, or notes that it was found again; its number, and whether it was not there.

    Args:
        db: a transaction that writes.
        workspace: it belongs to.
        new: the finding.
        vector: None only where the record is known to be there.
        now: taken for the moment of retrieval where the passage has none.

    Raises:
        KeyError: the record is not there, and has no vector.
    """
    passage, status = new.finding.passage, new.finding.status
    retrieved = _moment(passage.retrieved or now)
    again = "UPDATE records SET status = ?, retrieved = ? WHERE workspace = ? AND digest = ? RETURNING number"
    if found := db.execute(again, (status, retrieved, workspace, new.digest)).fetchall():
        return int(found[0][0]), False
    if vector is None:
        raise KeyError(new.digest)
    if status == "ok" and (misses := _numbered(db, workspace, new.miss)):
        remove(db, workspace, Filter(numbers=misses))
    row = (workspace, new.digest, status, new.arguments, new.text, len(passage.text), passage.start, retrieved, "")
    columns = f"workspace, digest, status, arguments, text, length, start, retrieved, checked, {', '.join(_FIELDS)}"
    values = (*row, *(getattr(passage, name) for name in _FIELDS))
    insert = f"INSERT INTO records ({columns}) VALUES ({_marks(values)}) RETURNING number"
    number = int(db.execute(insert, values).fetchall()[0][0])
    stored = np.asarray(vector.values, _STORED).tobytes()
    db.execute("INSERT INTO vectors (record, vector) VALUES (?, ?)", (number, stored))
    db.execute("INSERT INTO codes (workspace, record, code) VALUES (?, ?, ?)", (workspace, number, vector.code))
    return number, True


def note(db: Rows, workspace: str, number: int, entities: Iterable[str], claim: str, run: str) -> None:
    """Notes what a record was found for: it stands under these keys from now on."""
    for entity in entities:
        under = "INSERT INTO entities (workspace, entity, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        db.execute(under, (workspace, entity, number))
    db.execute("INSERT INTO claims (record, claim, run) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (number, claim, run))


def under(db: Rows, workspace: str, keys: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Records and which of the keys they stand under: those under most of them first, of equals the newest."""
    find = f"SELECT record FROM entities WHERE workspace = ? AND entity = ? ORDER BY record DESC LIMIT {UNDER}"
    found: dict[int, tuple[str, ...]] = {}
    for key in keys:
        for (number,) in db.execute(find, (workspace, key)).fetchall():
            found[number] = (*found.get(number, ()), key)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), -item[0])))


def holding(db: Rows, workspace: str, keys: Iterable[str]) -> dict[str, None]:
    """The entities that hold one of the keys, as the authors' program matches them; reads every entity."""
    find = "SELECT DISTINCT entity FROM entities WHERE workspace = ? AND entity LIKE ? ESCAPE '!' ORDER BY entity"
    found: dict[str, None] = {}
    for key in keys:
        for sign in "!%_":
            key = key.replace(sign, "!" + sign)
        found.update(dict.fromkeys(entity for (entity,) in db.execute(find, (workspace, f"%{key}%")).fetchall()))
    return found


def codes(db: Rows, workspace: str, after: int) -> list[tuple[int, bytes]]:
    """The next codes, by number; at most :data:`CODES`."""
    find = f"SELECT record, code FROM codes WHERE workspace = ? AND record > ? ORDER BY record LIMIT {CODES}"
    return list(db.execute(find, (workspace, after)).fetchall())


def purges(db: Rows) -> str:
    """Changes whenever records were removed."""
    return str(db.execute("SELECT value FROM meta WHERE name = 'purges'").fetchone()[0])


def similarities(db: Rows, numbers: Sequence[int], vector: Floats) -> dict[int, float]:
    """The exact cosine of each record with a vector, to six decimals; records that are gone are not in it."""
    found: dict[int, float] = {}
    for start in range(0, len(numbers), VECTORS):
        listed = _listed(numbers[start : start + VECTORS])
        rows = db.execute(f"SELECT record, vector FROM vectors WHERE record IN {listed}").fetchall()
        if rows:
            matrix = np.frombuffer(b"".join(bytes(each) for _, each in rows), _STORED).reshape(len(rows), -1)
            scores = np.round(matrix.astype(np.float32) @ vector, 6)
            found.update(zip((number for number, _ in rows), map(float, scores), strict=True))
    return found


def fetched(db: Rows, numbers: Sequence[int]) -> dict[int, Stored]:
    """Records by number, without their entities; with the claims that they were found for."""
    listed = _listed(numbers)
    claims: dict[int, list[tuple[str, str]]] = {}
    find = f"SELECT record, claim, run FROM claims WHERE record IN {listed} ORDER BY record, claim"
    for number, claim, run in db.execute(find).fetchall():
        claims.setdefault(number, []).append((claim, run))
    rows = db.execute(f"SELECT {_COLUMNS} FROM records WHERE number IN {listed}").fetchall()
    return {row[0]: _stored(row).model_copy(update={"claims": tuple(claims.get(row[0], ()))}) for row in rows}


def listed(db: Rows, workspace: str, wanted: Filter, limit: int) -> tuple[Stored, ...]:
    """Records, whole, the newest first."""
    where, values = _where(workspace, wanted)
    find = f"SELECT number FROM records WHERE {where} ORDER BY number DESC LIMIT ?"
    numbers = [row[0] for row in db.execute(find, (*values, limit)).fetchall()]
    entities: dict[int, list[str]] = {}
    find = f"SELECT record, entity FROM entities WHERE record IN {_listed(numbers)} ORDER BY record, entity"
    for number, entity in db.execute(find).fetchall():
        entities.setdefault(number, []).append(entity)
    records = fetched(db, numbers)
    return tuple(records[each].model_copy(update={"entities": tuple(entities.get(each, ()))}) for each in numbers)


def counted(db: Rows, workspace: str, wanted: Filter) -> int:
    """How many records are meant."""
    where, values = _where(workspace, wanted)
    return int(db.execute(f"SELECT count(*) FROM records WHERE {where}", values).fetchone()[0])


def workspaces(db: Rows) -> dict[str, int]:
    """Every workspace and how many records it has."""
    found = db.execute("SELECT workspace, count(*) FROM records GROUP BY workspace ORDER BY workspace").fetchall()
    return {name: int(count) for name, count in found}


def checked(db: Rows, number: int, status: str, now: datetime) -> None:
    """Notes what looking for a record again came to."""
    db.execute("UPDATE records SET status = ?, checked = ? WHERE number = ?", (status, _moment(now), number))


def remove(db: Rows, workspace: str, wanted: Filter) -> int:
    """Removes records with all that hangs on them; how many."""
    where, values = _where(workspace, wanted)
    numbers = [row[0] for row in db.execute(f"SELECT number FROM records WHERE {where}", values).fetchall()]
    for start in range(0, len(numbers), REMOVED):
        some = _listed(numbers[start : start + REMOVED])
        for table, column in _TABLES.items():
            db.execute(f"DELETE FROM {table} WHERE {column} IN {some}")
    return len(numbers)


def purged(db: Rows) -> None:
    """Counts a removal, so that whoever holds codes in memory reads them again."""
    db.execute("UPDATE meta SET value = ? WHERE name = 'purges'", (str(int(purges(db)) + 1),))


def _where(workspace: str, wanted: Filter) -> tuple[str, tuple[Any, ...]]:
    terms, values = ["workspace = ?"], [workspace]
    if wanted.numbers:
        terms.append(f"number IN {_listed(wanted.numbers)}")
    if wanted.entity:
        terms.append("number IN (SELECT record FROM entities WHERE workspace = ? AND entity = ?)")
        values += [workspace, normalised(wanted.entity)]
    for column, value in (("tool", wanted.tool), ("status", wanted.status)):
        if value:
            terms.append(f"{column} = ?")
            values.append(value)
    if wanted.before:
        terms.append("retrieved < ?")
        values.append(wanted.before.isoformat())
    return " AND ".join(terms), tuple(values)


def _numbered(db: Rows, workspace: str, digest: str) -> tuple[int, ...]:
    find = "SELECT number FROM records WHERE workspace = ? AND digest = ?"
    return tuple(row[0] for row in db.execute(find, (workspace, digest)).fetchall())


def _stored(row: Sequence[Any]) -> Stored:
    number, workspace, status, arguments, text, length, start, retrieved, seen, *rest = row
    return Stored(
        number=number,
        workspace=workspace,
        status=status,
        passage=Passage(
            text=text,
            start=start,
            retrieved=datetime.fromisoformat(retrieved),
            **dict(zip(_FIELDS, rest, strict=True)),
        ),
        arguments=json.loads(arguments),
        length=length,
        checked=datetime.fromisoformat(seen) if seen else None,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _listed(numbers: Iterable[int]) -> str:
    return f"({', '.join(str(int(each)) for each in numbers) or '-1'})"


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
