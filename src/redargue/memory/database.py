"""The memory's tables, as SQLite and PostgreSQL both have them, and what a database has to offer.

Statements are written once, with ``?`` for values; everything that differs between the two is the type of a record's
number and of bytes. Writers of one database take turns, so that numbers are given in the order of commits: who has read
up to a number has missed nothing below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from redargue.corpus.database import Database

SCHEMA = 1
FACTS = (("purges", "0"),)

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


class Rows(Protocol):
    """A transaction."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        """Runs one statement; what comes back has ``fetchone`` and ``fetchall``."""
        ...


class MemoryDatabase(Protocol):
    """Where records are kept; threads share it, one at a time."""

    writable: bool

    def read(self) -> AbstractContextManager[Rows]:
        """A transaction that changes nothing."""
        ...

    def write(self) -> AbstractContextManager[Rows]:
        """All of the block's changes, or none where it raises; when it is left, they are on the disk."""
        ...

    def shrink(self) -> None:
        """Gives the room of removed records back."""
        ...

    def close(self) -> None:
        """Closes it; twice does no harm."""
        ...


class SqliteMemory(Database):
    """A memory in one SQLite file; see :class:`redargue.corpus.database.Database`."""

    noun: ClassVar[str] = "memory"
    option: ClassVar[str] = "--memory"
    making: ClassVar[str] = "redargue check … --memory"
    application: ClassVar[int] = 0x52444D45  # "RDME"
    schema: ClassVar[int] = SCHEMA
    tables: ClassVar[str] = TABLES.strip().format(
        number="INTEGER PRIMARY KEY AUTOINCREMENT", key="INTEGER PRIMARY KEY", bytes="BLOB", rowless="WITHOUT ROWID"
    )
    facts: ClassVar[tuple[tuple[str, str], ...]] = FACTS
    synchronous: ClassVar[str] = "FULL"
    busy: ClassVar[float] = 30.0
