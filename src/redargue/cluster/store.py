"""The database that workers share: SQLite for one host, PostgreSQL for several.

Statements are written once, with ``?`` as placeholder; only locking differs. Every transaction writes: SQLite
serializes them, PostgreSQL locks the rows that a statement names.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from redargue.errors import DiskFull, RecordError, StoreLocked, UsageError
from redargue.net import postgresql
from redargue.net.postgresql import BUSY, SCHEMES, Server

SCHEMA = 1
APPLICATION = 0x52444C47  # "RDLG", at byte 68 of the file
SCHEMA_NAME = "redargue_ledger"  # on a server
CREATE_HINT = "a batch creates it: redargue batch … --engine local"
IDLE = 10  # seconds after which a server ends an idle transaction: the worker's machine may be lost

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE batches (
    number {number}, id TEXT NOT NULL UNIQUE, about TEXT NOT NULL, spec TEXT NOT NULL, total BIGINT NOT NULL,
    filled BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE jobs (
    batch BIGINT NOT NULL, place BIGINT NOT NULL, claim TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0,
    owner TEXT, attempts INTEGER NOT NULL DEFAULT 0, leases INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (batch, place)
) {rowless};
CREATE INDEX jobs_waiting ON jobs (batch, place) WHERE state = 0;
CREATE INDEX jobs_leased ON jobs (batch, owner) WHERE state = 1;
CREATE TABLE results (
    batch BIGINT NOT NULL, place BIGINT NOT NULL, events {bytes} NOT NULL, PRIMARY KEY (batch, place)
);
CREATE TABLE paid (
    batch BIGINT NOT NULL, place BIGINT NOT NULL, lease INTEGER NOT NULL, n INTEGER NOT NULL,
    old INTEGER NOT NULL DEFAULT 0, event TEXT NOT NULL, PRIMARY KEY (batch, place, lease, n)
) {rowless};
CREATE TABLE workers (
    owner TEXT PRIMARY KEY, batch BIGINT NOT NULL, until {real} NOT NULL, gone INTEGER NOT NULL DEFAULT 0,
    done BIGINT NOT NULL DEFAULT 0, errors BIGINT NOT NULL DEFAULT 0, calls BIGINT NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0, usd {real} NOT NULL DEFAULT 0, held_calls BIGINT NOT NULL DEFAULT 0,
    held_tokens BIGINT NOT NULL DEFAULT 0, held_usd {real} NOT NULL DEFAULT 0
);
CREATE INDEX workers_of_batch ON workers (batch);
CREATE TABLE lanes (
    service TEXT PRIMARY KEY, requests_due {real} NOT NULL DEFAULT 0, tokens_due {real} NOT NULL DEFAULT 0,
    paused_until {real} NOT NULL DEFAULT 0
);
CREATE TABLE places (
    service TEXT NOT NULL, owner TEXT NOT NULL, taken INTEGER NOT NULL, PRIMARY KEY (service, owner)
)
"""
_SQLITE = {"number": "INTEGER PRIMARY KEY AUTOINCREMENT", "real": "REAL", "bytes": "BLOB", "rowless": "WITHOUT ROWID"}


class Transaction(Protocol):
    """A transaction of either database."""

    for_update: str  # suffix of a SELECT that locks its rows until the transaction ends
    skip_locked: str  # the same, but skips rows that another transaction has locked
    indexed_by: str  # follows a table's name to force an index, whose name is formatted into it

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Any: ...

    def now(self) -> float:
        """Seconds by the clock that all workers share."""
        ...


class SharedDatabase(Protocol):
    """A connection for use in one thread."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Commits at the end of the block, rolls back if the block raises.

        Raises:
            StoreLocked: others held the lock for too long.
            DiskFull: the disk is full; nothing was changed.
            RecordError: the database does not answer, or failed.
        """
        ...

    def close(self) -> None: ...


def open_ledger(where: str | Path, *, make: bool = True, clock: Callable[[], float] | None = None) -> SharedDatabase:
    """Opens a ledger.

    Args:
        where: ``postgresql://…``, or the path of a SQLite file on a local disk.
        make: whether to create the ledger if it does not exist.
        clock: time in seconds, for leases; default: the clock of the server or host.

    Raises:
        MissingExtra: psycopg is not installed.
        UsageError: there is no ledger, or the file belongs to another program or a newer redargue.
        StoreForeign: the schema on the server belongs to another program.
        RecordError: the server does not answer.
    """
    if str(where).startswith(SCHEMES):
        return PostgresLedger(str(where), make, clock)
    return SqliteLedger(Path(where), make, clock)


class SqliteLedger:
    """A ledger in one SQLite file; all its workers run on this host."""

    def __init__(self, path: Path, make: bool, clock: Callable[[], float] | None = None) -> None:
        self._path, self._clock = path, clock or time.time
        if not make and not path.exists():
            raise UsageError(f"no ledger at {str(path)!r}", hint=CREATE_HINT)
        self._check_application()
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            with self._errors():
                self._connection.execute("PRAGMA synchronous = FULL")
            with self.transaction() as db:
                (version,) = db.execute("PRAGMA user_version").fetchone()
                if version > SCHEMA:
                    raise UsageError(f"{str(path)!r} was made by a newer redargue (format {version})", hint="upgrade")
                if not version:
                    db.execute(f"PRAGMA application_id = {APPLICATION}")
                    db.execute(f"PRAGMA user_version = {SCHEMA}")
                    for statement in TABLES.strip().format(**_SQLITE).split(";\n"):
                        db.execute(statement)
            with self._errors():  # last: until its checkpoint, a log would hide the application id from others
                self._connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            self._connection.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield _SqliteTransaction(self._connection, self._clock)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._connection.close()

    def _check_application(self) -> None:
        """Rejects another program's file before anything is written to it.

        SQLite reads the header: closing a file releases all locks of the process on it, including those of its other
        connections.
        """
        path = self._path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or not path.stat().st_size:
                return
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY)) as probe:
                (application,) = probe.execute("PRAGMA application_id").fetchone()
        except (OSError, sqlite3.Error) as error:
            hint = "choose another path: --ledger PATH"
            raise UsageError(f"{str(path)!r} cannot be opened as a ledger: {error}", hint=hint) from error
        if application != APPLICATION:
            raise UsageError(f"{str(path)!r} is not a redargue ledger; it was not changed", hint="--ledger PATH")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise  # a bug in the caller, not a problem of the file
        except sqlite3.DatabaseError as error:
            name, code = repr(str(self._path)), getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreLocked(f"{name} is locked by other writers", hint="use fewer workers") from error
            if code == sqlite3.SQLITE_FULL:
                hint = "free some space; the same command resumes the batch"
                raise DiskFull(f"no space left on the disk of {name}", hint=hint) from error
            raise RecordError(f"the ledger {name} failed: {error}") from error


class _SqliteTransaction:
    for_update = skip_locked = ""  # transactions are serialized
    indexed_by = "INDEXED BY {}"

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.execute, self.executemany, self.now = connection.execute, connection.executemany, clock


class PostgresLedger:
    """A ledger on a PostgreSQL server, in its own schema (extra ``postgres``)."""

    def __init__(self, url: str, make: bool, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        server = Server(url, schema=SCHEMA_NAME, what="ledger", option="--ledger", failure=RecordError)
        self._connection, _ = server.open(
            TABLES,
            {"schema": str(SCHEMA)},
            make=make,
            lock=APPLICATION,
            hint=CREATE_HINT,
            options=f"-c idle_in_transaction_session_timeout={IDLE}s -c tcp_keepalives_idle={IDLE}"
            f" -c tcp_keepalives_interval={IDLE} -c tcp_keepalives_count=2",
            keepalives_idle=10,
            tcp_user_timeout=BUSY * 1000,  # detects a server whose machine is lost
        )
        self._errors = server.errors

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._errors(), self._connection.transaction():
            yield _PostgresTransaction(self._connection, self._clock)

    def close(self) -> None:
        self._connection.close()


class _PostgresTransaction(postgresql.Transaction):
    for_update, skip_locked, indexed_by = " FOR UPDATE", " FOR UPDATE SKIP LOCKED", ""

    def __init__(self, connection: Any, clock: Callable[[], float] | None) -> None:
        super().__init__(connection)
        self._clock = clock

    def now(self) -> float:
        if self._clock:
            return self._clock()
        # The server's clock: the clocks of hosts differ.
        return float(self._connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()[0])
