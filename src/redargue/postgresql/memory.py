"""A memory on a PostgreSQL server, in the schema ``redargue_memory`` (extra ``postgres``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from redargue.errors import CorpusError, UsageError
from redargue.memory.records import MEMORY_TABLES, META, TABLES
from redargue.postgresql.server import PostgresqlServer, Transaction

WRITE_LOCK = 0x52444D45  # advisory lock that serializes writers
SCHEMA_NAME = "redargue_memory"


class PostgresMemory:
    """A connection that threads share; one thread uses it at a time. A lost connection is reopened on the next use.

    ``write`` creates missing tables. ``embedder`` is the name of the model that computes the vectors.

    Raises:
        UsageError: psycopg is not installed.
        UsageError: there is no memory to read, or it was made with another embedder or by a newer redargue.
        CorpusError: the schema belongs to another program; nothing was changed.
        CorpusError: the server does not answer, or refuses the connection.
    """

    def __init__(self, url: str, *, write: bool, embedder: str) -> None:
        self.writable, self._lock = write, RLock()
        self._server = PostgresqlServer(url, schema=SCHEMA_NAME, what="memory", option="--memory", failure=CorpusError)
        self._place = self._server.place
        meta = {"embedder": embedder, "schema": str(MEMORY_TABLES), **dict(META)}
        hint = "the first run that stores evidence creates it: redargue check … --memory"
        self._connection, stored = self._server.open(TABLES, meta, make=write, lock=WRITE_LOCK, hint=hint)
        if stored["embedder"] != embedder:
            self.close()
            raise UsageError(
                f"{self._place} holds vectors of {stored['embedder']!r}, not of {embedder!r}",
                hint="use a separate database for this embedder",
            )

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only transaction on a snapshot."""
        with self._lock, self._server.errors(), self._open().transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Transaction(self._connection)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A write transaction: commits durably at the end of the block, rolls back if the block raises."""
        if not self.writable:
            raise UsageError(f"{self._place} is open for reading only", hint="open it with write=True")
        with self._lock, self._server.errors(), self._open().transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (WRITE_LOCK,))
            yield Transaction(self._connection)

    def _open(self) -> Any:
        if self._connection.closed:
            self._connection = self._server.connect()
        return self._connection

    def shrink(self) -> None:
        with self._lock, self._server.errors():
            self._open().execute("VACUUM records, entities, claims, vectors, codes")

    def close(self) -> None:
        with self._lock:
            self._connection.close()
