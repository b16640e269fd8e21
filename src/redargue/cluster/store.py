"""The database that workers share: SQLite for one host, PostgreSQL for several.

Statements are written once, with ``?`` as placeholder; only locking differs. Every transaction writes: SQLite
serializes them, PostgreSQL locks the rows that a statement names.

One thread of a worker batches its requests to the database into few transactions: requests that arrive during a
transaction go into the next one together, so the busier the database, the fewer and larger the transactions. The thread
also sends the worker's heartbeats, even if the event loop is busy. While the ledger is away, requests wait. After a
transaction fails otherwise, or the ledger was waited for long enough, the batcher accepts no more requests, and its
worker ends; its claims are leased to other workers.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from redargue import postgresql
from redargue.database import Database, file_identity
from redargue.errors import CorpusError, RecordError, RedargueError, StoreUnavailable, UsageError
from redargue.net.secrets import display_url
from redargue.postgresql import BUSY, SCHEMES, PostgresqlServer

_SCHEMA = 3
_APPLICATION = 0x52444C47  # "RDLG", at byte 68 of the file
LEDGER_SCHEMA = "redargue_ledger"  # on a server
CREATE_HINT = "a batch creates it: redargue batch … --engine local"
IDLE = 10  # seconds after which a server ends an idle transaction: the worker's machine may be lost

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE batches (
    number {number}, id TEXT UNIQUE, about TEXT NOT NULL, job TEXT NOT NULL, total BIGINT NOT NULL,
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
    done BIGINT NOT NULL DEFAULT 0, errors BIGINT NOT NULL DEFAULT 0, stopped BIGINT NOT NULL DEFAULT 0,
    calls BIGINT NOT NULL DEFAULT 0, tokens BIGINT NOT NULL DEFAULT 0, usd {real} NOT NULL DEFAULT 0,
    held_calls BIGINT NOT NULL DEFAULT 0, held_tokens BIGINT NOT NULL DEFAULT 0, held_usd {real} NOT NULL DEFAULT 0,
    searches BIGINT NOT NULL DEFAULT 0, held_searches BIGINT NOT NULL DEFAULT 0
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


WAIT = 60.0  # seconds that a ledger which does not answer is waited for
_PAUSE = 0.5  # seconds between attempts to reach it

_Result = TypeVar("_Result")
_log = logging.getLogger("redargue.cluster")


class LedgerAway(RecordError):
    """The ledger's server or file does not answer; it may return."""

    exit_code: ClassVar[int] = 5


class SharedDatabase(Protocol):
    """A connection for use in one thread."""

    wait: float  # seconds that it is waited for

    def transaction(self) -> AbstractContextManager[LedgerTransaction]:
        """Commits at the end of the block, rolls back if it raises; LedgerAway if the ledger does not answer."""
        ...

    def reopen(self) -> None:
        """Connects to the same ledger again; raises LedgerAway if it does not answer."""
        ...

    def close(self) -> None: ...


def repeated(
    database: SharedDatabase, step: Callable[[], _Result], *, pause: Callable[[float], object] = time.sleep
) -> _Result:
    """Repeats a step, which has to be idempotent, while its ledger is away, for as long as it is waited for."""
    lost = 0.0
    while True:
        try:
            if lost:
                database.reopen()
            return step()
        except LedgerAway as error:
            if not lost and database.wait:
                _log.warning("%s; waiting for it, at most %g s", error.what, database.wait)
            lost = lost or time.monotonic()
            if time.monotonic() - lost >= database.wait:
                what = f"{error.what}; it was waited for {database.wait:g} s" if database.wait else error.what
                hint = "the same command resumes the batch; --ledger-wait says how long to wait"
                raise LedgerAway(what, hint=hint if database.wait else error.hint) from error
            pause(_PAUSE)


def open_ledger(
    where: str | Path, *, make: bool = True, clock: Callable[[], float] | None = None, wait: float = 0.0
) -> SharedDatabase:
    """Opens a ledger: ``postgresql://…``, or a SQLite file on a local disk.

    ``make`` creates one that does not exist. ``clock`` is the time in seconds, for leases; default: the clock of the
    server or host. ``wait``: seconds that :func:`repeated` steps wait for it.

    Raises:
        UsageError: psycopg is not installed, there is no ledger or no such scheme, or a newer redargue made it.
        CorpusError: the file or the schema belongs to another program.
        LedgerAway: the server does not answer.
    """
    address = str(where)
    if address.startswith(SCHEMES):
        return PostgresLedger(address, make, clock, wait)
    if "://" in address:  # or a typing error would become the name of a folder
        what = f"no ledger is opened at {display_url(address)!r}"
        raise UsageError(what, where="--ledger", hint="postgresql://host/database, or the path of a file")
    return SqliteLedger(Path(where).expanduser(), make, clock, wait)


_AWAY = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)  # of a disk or folder that is away


class SqliteLedger(Database):
    """A ledger in one SQLite file; all its workers run on this host."""

    noun: ClassVar[str] = "ledger"
    option: ClassVar[str] = "--ledger"
    create_command: ClassVar[str] = "redargue batch … --engine local --ledger"
    application: ClassVar[int] = _APPLICATION
    schema: ClassVar[int] = _SCHEMA
    tables: ClassVar[str] = _TABLES.strip().format(
        number="INTEGER PRIMARY KEY AUTOINCREMENT", real="REAL", bytes="BLOB", rowless="WITHOUT ROWID"
    )
    initial_meta: ClassVar[tuple[tuple[str, str], ...]] = ()
    synchronous: ClassVar[str] = "FULL"
    busy_timeout: ClassVar[float] = BUSY

    def __init__(self, path: Path, make: bool, clock: Callable[[], float] | None = None, wait: float = 0.0) -> None:
        self._clock, self.wait = clock or time.time, wait
        self.path = path
        if not make and not path.exists():
            raise self._missing()
        super().__init__(path, write=True)

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        # SQLite would write into a file that was moved or deleted.
        if self._file is None or file_identity(self.path) != self._file:
            what = f"the ledger {str(self.path)!r} is not there, or is another file"
            raise LedgerAway(what, hint="was it moved or deleted? put it back")
        with self.write() as connection:
            yield _SqliteTransaction(connection, self._clock)

    def reopen(self) -> None:
        self.close()
        try:
            if not self.path.stat().st_size:
                raise LedgerAway(f"the ledger {str(self.path)!r} is empty")
            super().__init__(self.path, write=True)
        except (OSError, RedargueError) as error:  # it may be on its way back
            raise LedgerAway(f"the ledger {str(self.path)!r} cannot be opened: {error}") from error

    def _translate(self, error: sqlite3.DatabaseError) -> RedargueError:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _AWAY:
            return LedgerAway(f"the ledger {str(self.path)!r} does not answer: {error}")
        match super()._translate(error):
            case StoreUnavailable(full=True, what=what):
                return StoreUnavailable(what, full=True, hint="free some space; the same command resumes the batch")
            case StoreUnavailable():
                return LedgerAway(f"{str(self.path)!r} is locked by other writers", hint="use fewer workers")
            case other:
                return other


class _SqliteTransaction:
    for_update = ""  # suffix of a SELECT that locks its rows until the transaction ends: transactions are serialized
    skip_locked = ""  # the same, but skips rows that another transaction has locked
    indexed_by = "INDEXED BY {}"  # follows a table's name to force an index, whose name is formatted into it

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.execute, self.executemany = connection.execute, connection.executemany
        self.now = clock  # in seconds; the clock that all workers share


class PostgresLedger:
    """A ledger on a PostgreSQL server, in its own schema (extra ``postgres``)."""

    def __init__(self, url: str, make: bool, clock: Callable[[], float] | None = None, wait: float = 0.0) -> None:
        self._clock, self.wait = clock, wait
        self._server = PostgresqlServer(
            url, schema=LEDGER_SCHEMA, what="ledger", option="--ledger", failure=RecordError, away=LedgerAway
        )
        self._connection = self._open(make)

    def _open(self, make: bool) -> Any:
        connection, _ = self._server.open(
            _TABLES,
            {"schema": str(_SCHEMA)},
            make=make,
            lock=_APPLICATION,
            hint=CREATE_HINT,
            options=f"-c idle_in_transaction_session_timeout={IDLE}s -c tcp_keepalives_idle={IDLE}"
            f" -c tcp_keepalives_interval={IDLE} -c tcp_keepalives_count=2",
            keepalives_idle=10,
            tcp_user_timeout=BUSY * 1000,  # detects a server whose machine is lost
        )
        return connection

    def reopen(self) -> None:
        self._connection.close()
        self._connection = self._open(make=False)

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with self._server.errors(), self._connection.transaction():
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


LedgerTransaction = _SqliteTransaction | _PostgresTransaction


class RequestHandler(Protocol):
    """Handles one kind of request in the batcher's thread."""

    def handle(self, db: LedgerTransaction, requests: Sequence[Any]) -> Sequence[Any]:
        """Answers requests in order, within one transaction."""
        ...


class _Request(NamedTuple):
    value: Any
    answer: asyncio.Future[Any] | None
    undo: Any


class TransactionBatcher:
    """Calls handlers in a thread; an async context manager.

    Args:
        connect: opens the database; called in the thread.
        handlers: called in this order, the same in all workers: two workers then cannot wait for each other's locks.
        begin: called at the beginning of every transaction; raises RecordError if the worker has expired.
        interval: maximum seconds between transactions.
        recover: whether the last transaction was committed, asked when the ledger was away and has returned.

    Attributes:
        away: whether the ledger does not answer.
        failure: the error that ended the batcher, if any.
        transactions: number of committed transactions.
    """

    def __init__(
        self,
        connect: Callable[[], SharedDatabase],
        handlers: Sequence[RequestHandler],
        *,
        begin: Callable[[LedgerTransaction], None],
        interval: float,
        recover: Callable[[LedgerTransaction], bool] = lambda db: False,
    ) -> None:
        self._connect, self._handlers, self._begin, self._interval = connect, tuple(handlers), begin, interval
        self._recover = recover
        self._pending: list[list[_Request]] = [[] for _ in handlers]
        self._in_transaction: list[list[_Request]] = []
        self._changed = threading.Condition()
        self._closing = self.away = False
        self.failure: RedargueError | None = None
        self.transactions = 0
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    async def ask(self, handler: RequestHandler, request: Any, *, undo: Any = None) -> Any:
        """Returns the handler's answer once committed; posts ``undo`` if it is True but the caller was cancelled.

        Raises RecordError if the worker has expired, and ``failure`` if the database failed.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(handler, _Request(request, answer, undo))
        try:
            return await answer
        except asyncio.CancelledError:
            if undo is not None and answer.done() and not answer.cancelled() and answer.result() is True:
                self.post(handler, undo)  # the answer arrived at the moment of the cancellation
            raise

    async def until_back(self) -> None:
        """Waits while the ledger is away; raises RecordError as :meth:`ask` does."""
        while self.away and not self.failure:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)
        if self.failure:
            raise self.failure

    def post(self, handler: RequestHandler, request: Any) -> None:
        """Adds a request without waiting for its answer; raises ``failure`` if the batcher has failed already."""
        self._put(handler, _Request(request, None, None))

    def _put(self, handler: RequestHandler, request: _Request) -> None:
        with self._changed:
            if self.failure:
                raise self.failure
            self._pending[self._handlers.index(handler)].append(request)
            self._changed.notify()

    async def __aenter__(self) -> TransactionBatcher:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            database = self._connect()
            try:
                while (batches := self._next()) is not None:
                    answers = self._commit(database, batches)
                    self.transactions += 1
                    self._deliver(batches, answers)
            finally:
                database.close()
        except BaseException as error:
            self._fail(error)

    def _commit(self, database: SharedDatabase, batches: Sequence[Sequence[_Request]]) -> Sequence[Sequence[Any]]:
        """The handlers' answers, from exactly one transaction, even if the answer to its commit is lost."""
        answers: list[Sequence[Any]] | None = None

        def attempt() -> Sequence[Sequence[Any]]:
            nonlocal answers
            if answers is not None:
                with database.transaction() as db:
                    committed = self._recover(db)
                if committed and len(answers) == len(self._handlers):  # the lost answer was that to its commit
                    return answers
            answers = []
            with database.transaction() as db:
                self._begin(db)
                for handler, batch in zip(self._handlers, batches, strict=True):
                    answers.append(handler.handle(db, [request.value for request in batch]) if batch else ())
            return answers

        answered = repeated(database, attempt, pause=self._pause)
        self.away = False
        return answered

    def _pause(self, seconds: float) -> None:
        self.away = True
        with self._changed:
            if self._changed.wait_for(lambda: self._closing, seconds):
                raise RecordError("the worker was stopped while its ledger was away")

    def _next(self) -> list[list[_Request]] | None:
        """The requests of the next transaction by handler; None when the batcher closes and none are left."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or any(self._pending), self._interval)
            if self._closing and not any(self._pending):
                return None
            self._in_transaction, self._pending = self._pending, [[] for _ in self._handlers]
        return self._in_transaction

    def _deliver(self, batches: list[list[_Request]], answers: Sequence[Sequence[Any]]) -> None:
        delivered = [
            (handler, request, request.answer, answer)
            for handler, batch, batch_answers in zip(self._handlers, batches, answers, strict=True)
            for request, answer in zip(batch, batch_answers, strict=True)
            if request.answer is not None
        ]

        def deliver() -> None:
            for handler, request, future, answer in delivered:
                if not future.done():
                    future.set_result(answer)
                elif answer is True and request.undo is not None and not self.failure:
                    self.post(handler, request.undo)

        if delivered:
            self._loop.call_soon_threadsafe(deliver)

    def _fail(self, error: BaseException) -> None:
        failure = error if isinstance(error, RecordError | CorpusError) else RecordError(f"the ledger failed: {error}")
        failure.__cause__ = error if failure is not error else error.__cause__
        with self._changed:
            self.failure = failure
            batches = (*self._in_transaction, *self._pending)
            futures = [request.answer for batch in batches for request in batch if request.answer]
            self._pending = [[] for _ in self._handlers]

        def deliver() -> None:
            for future in futures:
                if not future.done():
                    future.set_exception(failure)

        self._loop.call_soon_threadsafe(deliver)
