"""Schema of the memory, shared by SQLite and PostgreSQL, and the memory in a SQLite file.

Statements are written once, with ``?`` as placeholder; the two schemas differ only in the types of record numbers and
bytes. Writes are serialized, so record numbers ascend in commit order: a reader that has seen a number has seen every
record below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from redargue.retrieval.corpus.database import Database

SCHEMA = 1
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


class Transaction(Protocol):
    """Executes statements with the placeholder ``?``, as :class:`sqlite3.Connection` does."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any: ...


class MemoryStore(Protocol):
    """A database with the tables of the memory, which threads share."""

    def read(self) -> AbstractContextManager[Transaction]: ...

    def write(self) -> AbstractContextManager[Transaction]: ...

    def shrink(self) -> None: ...

    def close(self) -> None: ...


class SqliteMemory(Database):
    """A memory in one SQLite file; see :class:`redargue.retrieval.corpus.database.Database`."""

    noun: ClassVar[str] = "memory"
    option: ClassVar[str] = "--memory"
    create_command: ClassVar[str] = "redargue check … --memory"
    application: ClassVar[int] = 0x52444D45  # "RDME"
    schema: ClassVar[int] = SCHEMA
    tables: ClassVar[str] = TABLES.strip().format(
        number="INTEGER PRIMARY KEY AUTOINCREMENT", key="INTEGER PRIMARY KEY", bytes="BLOB", rowless="WITHOUT ROWID"
    )
    initial_meta: ClassVar[tuple[tuple[str, str], ...]] = META
    synchronous: ClassVar[str] = "FULL"
    busy_timeout: ClassVar[float] = 30.0
