"""Opens SQLite files that may come from strangers, so that nothing in them runs and no query runs without end.

A file is data and program: triggers and views run when a table is written or read, columns can be computed, a check or
an index can call functions, and pages that point at each other make a scan endless. A file is therefore used only if
its schema is the one that redargue writes, word for word, and every transaction has a bounded number of steps.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

# Of SQLite's virtual machine, in any transaction: a second; one that adds 200 documents takes 130,000.
_STEPS = 10_000_000
STEPS_PER_BYTE = 2  # more, by the size of the file: a search reads all of it in 0.002
SPARSE = 16  # a file counts at most so many times the space that it takes up on the disk
CHECK_EVERY = 100_000  # steps

_SWITCHES = {  # since Python 3.12
    "SQLITE_DBCONFIG_DEFENSIVE": True,
    "SQLITE_DBCONFIG_ENABLE_TRIGGER": False,
    "SQLITE_DBCONFIG_ENABLE_VIEW": False,
    "SQLITE_DBCONFIG_TRUSTED_SCHEMA": False,
    "SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION": False,
}
_STATISTICS = re.compile(r"sqlite_stat\d")  # of ANALYZE, which an operator may run
_SHADOW = re.compile(  # a table in which FTS5 keeps its index; the wording differs between releases of SQLite
    r"create table ['\"]?\w+['\"]?\s?"
    r"\((?:(?!check|generated|default|collate|references|as )[\w,' ]|primary key\s?\([\w, ]+\))*\)"
    r"(?: without rowid)?"
)
_SHADOWS = ("data", "idx", "docsize", "config")

_Row = tuple[str, str, str]  # kind, name and statement of a part of the schema


class SqliteGuard:
    """Watches over a connection: what it may run, and for how many steps."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._left = 0
        self.allow()
        connection.set_progress_handler(self._step, CHECK_EVERY)
        for name, value in _SWITCHES.items():
            if hasattr(connection, "setconfig") and hasattr(sqlite3, name):
                connection.setconfig(getattr(sqlite3, name), value)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")

    def allow(self) -> None:
        """Allows a transaction its steps: many times what it needs in a file of this size."""
        self._left = _STEPS + STEPS_PER_BYTE * _size(self._path)

    def _step(self) -> bool:
        self._left -= CHECK_EVERY
        return self._left < 0  # SQLite then interrupts the statement

    def foreign_part(self, tables: str) -> str:
        """What the file's schema has beyond these statements or instead of theirs, or lacks; empty if nothing."""
        expected = _schema_of(tables)
        found = _schema(self._connection)
        for kind, name, statement in sorted(found - expected):
            if not _STATISTICS.fullmatch(name) and not _is_shadow(kind, name, statement, expected):
                return f"{kind} {name!r}"
        names = {name for _, name, _ in found}
        missing = sorted(name for _, name, _ in expected if name not in names)
        return f"no {missing[0]!r}" if missing else ""


def _is_shadow(kind: str, name: str, statement: str, expected: frozenset[_Row]) -> bool:
    table, _, part = name.rpartition("_")
    known = any(each == table and sql.startswith("create virtual table") for _, each, sql in expected)
    return kind == "table" and known and part in _SHADOWS and _SHADOW.fullmatch(statement) is not None


@cache
def _schema_of(tables: str) -> frozenset[_Row]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in tables.split(";\n"):
            db.execute(statement)
        return _schema(db)


def _schema(db: sqlite3.Connection) -> frozenset[_Row]:
    rows = db.execute("SELECT type, name, sql FROM sqlite_master")
    return frozenset((str(kind), str(name), _plain(sql)) for kind, name, sql in rows)


def _plain(statement: object) -> str:
    return " ".join(str(statement or "").split()).lower()


def _size(path: Path) -> int:
    total = 0
    for each in (path, path.with_name(path.name + "-wal")):
        try:
            status = os.stat(each)
        except OSError:
            continue
        blocks = getattr(status, "st_blocks", None)
        total += status.st_size if blocks is None else min(status.st_size, SPARSE * 512 * blocks)
    return total
