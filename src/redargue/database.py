"""A SQLite file in redargue's format: identification, schema, transactions and error messages.

The file's header is checked before SQLite opens it, because opening another program's database could already write to
it. With SQLite's write-ahead log, readers keep the snapshot that they started with while one process writes.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock, RLock
from typing import ClassVar

from redargue.errors import CorpusError, RedargueError, StoreUnavailable, UsageError
from redargue.files import make_folder, make_private, open_to_read

# Opens SQLite files that may come from strangers, so that nothing in them runs and no query runs
# without end.
#
# A file is data and program: triggers and views run when a table is written or read, columns can be
# computed, a check or an index can call functions, and pages that point at each other make a scan
# endless. A file is therefore used only if its schema is the one that redargue writes, word for
# word, and every transaction has a bounded number of steps.


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


_APPLICATION = 0x52444152  # "RDAR", at byte 68 of the file
SCHEMA = 1

_MAGIC = b"SQLite format 3\0"
_OPEN: Counter[tuple[int, int]] = Counter()  # how often this process has each file open, by device and inode
_OPENING = Lock()  # held from the check of a file's header until the file is counted as open
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    url TEXT NOT NULL, publisher TEXT NOT NULL, published TEXT NOT NULL, path TEXT NOT NULL, added TEXT NOT NULL
);
CREATE TABLE chunks (
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents, start INTEGER NOT NULL,
    stop INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX chunks_of_document ON chunks (document);
CREATE VIRTUAL TABLE chunk_words USING fts5 (title, text, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE document_words
    USING fts5 (title, text, content='', tokenize='porter unicode61 remove_diacritics 2');
"""


class Database:
    """A connection to a corpus that threads share; one thread uses it at a time. Subclasses define other file types.

    Raises:
        UsageError: there is no file to read, or it was made with another embedder or by a newer redargue.
        CorpusError: the file belongs to another program (nothing was changed), or SQLite cannot read it.
    """

    noun: ClassVar[str] = "corpus"  # in messages
    option: ClassVar[str] = "--store"
    create_command: ClassVar[str] = "redargue corpus add FILES --store"  # without the path
    application: ClassVar[int] = _APPLICATION  # id, four ASCII letters at byte 68 of the file
    schema: ClassVar[int] = SCHEMA
    tables: ClassVar[str] = _TABLES
    initial_meta: ClassVar[tuple[tuple[str, str], ...]] = (("content", "0"), ("generation", "0"))
    synchronous: ClassVar[str] = "NORMAL"  # a power cut can lose the last batches; with FULL, nothing
    busy_timeout: ClassVar[float] = 5.0  # seconds to wait for other writers

    def __init__(self, path: Path, *, write: bool, embedder: str = "") -> None:
        self.path, self.writable = path, write
        self._lock = RLock()
        with _OPENING:
            self._check_header()
            with self._errors():
                self._connection = self._connect()
            self._file = file_identity(path)
            if self._file:
                _OPEN[self._file] += 1
        try:
            with self.errors():
                self._prepare(embedder)
        except BaseException:
            self.close()
            raise

    def _prepare(self, embedder: str) -> None:
        execute = self._connection.execute
        self._guard = SqliteGuard(self._connection, self.path)
        execute(f"PRAGMA synchronous = {self.synchronous}")
        if not self.writable:
            execute("PRAGMA query_only = ON")
        version = execute("PRAGMA user_version").fetchone()[0]
        hint = f"make a new one: {self.create_command} PATH"
        require_format(repr(str(self.path)), version, self.schema, hint=hint)
        if not version and not self.writable:
            raise self._missing()
        if not version:
            self._create(embedder)
        if foreign := self._guard.foreign_part(self.tables):
            raise CorpusError(
                f"{str(self.path)!r} is a {self.noun}, but redargue did not make {foreign} in it; it was not changed",
                hint=f"do not use it; make a new one from its documents: {self.create_command} PATH",
            )
        if self.writable:
            execute("PRAGMA journal_mode = WAL")
        made_by = execute("SELECT value FROM meta WHERE name = 'embedder'").fetchone()
        if not made_by:
            raise CorpusError(f"{str(self.path)!r} is damaged: it names no embedder", hint=self._restore)
        if embedder and made_by != (embedder,):
            raise UsageError(
                f"{str(self.path)!r} holds vectors of {made_by[0]!r}, not of {embedder!r}",
                hint=f"create a separate {self.noun} for this embedder: {self.create_command} PATH",
            )

    def _create(self, embedder: str) -> None:
        with self.write() as db:
            if db.execute("PRAGMA user_version").fetchone()[0]:
                return
            db.execute(f"PRAGMA application_id = {self.application}")
            db.execute(f"PRAGMA user_version = {self.schema}")
            for statement in self.tables.split(";\n"):
                db.execute(statement)
            db.executemany("INSERT INTO meta VALUES (?, ?)", (("embedder", embedder), *self.initial_meta))

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self.errors(), self._transaction("BEGIN"):
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: commits at the end of the block, rolls back if it raises (StoreUnavailable, …)."""
        self.require_writable()
        with self._lock, self._errors(), self._transaction("BEGIN IMMEDIATE"):
            yield self._connection

    def require_writable(self) -> None:
        if not self.writable:
            raise UsageError(f"{str(self.path)!r} is open for reading only", hint="open it with write=True")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._guard.allow()
        try:
            self._connection.execute(begin)  # in the try: Ctrl-C while it waits for a lock arrives when it has the lock
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def backup(self, copy: sqlite3.Connection) -> None:
        """Copies the file's content, as it is at one moment, into another database."""
        with self._lock, self._errors():
            self._guard.allow()
            self._connection.backup(copy)

    def restore_into(self, other: Database) -> None:
        other.require_writable()
        with other._lock, other._errors():
            self.backup(other._connection)

    def shrink(self) -> None:
        with self._lock, self._errors():
            self._guard.allow()
            self._connection.execute("VACUUM")

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            if self._file:
                _OPEN[self._file] -= 1
            self._file = None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raises what SQLite reports, and what rows of other shapes than redargue writes lead to, as its own errors."""
        try:
            with self._errors():
                yield
        except (TypeError, ValueError, LookupError, OverflowError, MemoryError) as error:
            if isinstance(error, RedargueError):
                raise
            reason = f"a row is not as redargue writes it ({type(error).__name__}: {error})"
            what = f"{str(self.path)!r} is damaged: {reason}"
            raise CorpusError(what[:500], hint=self._restore) from error

    @property
    def _restore(self) -> str:
        return f"restore the file from a backup, or delete it and run: {self.create_command} …"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise  # a bug in the caller, such as a closed connection, not a problem of the file
        except sqlite3.DatabaseError as error:
            raise self._translate(error) from error

    def _translate(self, error: sqlite3.DatabaseError) -> RedargueError:
        name = repr(str(self.path))
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                what = f"{name} is being written to by another process"
                return StoreUnavailable(what, hint="try again when it is done")
            case sqlite3.SQLITE_FULL:
                hint = "what was stored before is intact; free some space and try again"
                return StoreUnavailable(f"no space left on the disk of {name}", full=True, hint=hint)
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return UsageError(f"{name} cannot be opened: {error}", hint=f"choose another path: {self.option} PATH")
            case sqlite3.SQLITE_IOERR:
                return CorpusError(
                    f"the disk failed on {name}: {error}", hint="check its free space and its connection"
                )
            case sqlite3.SQLITE_INTERRUPT:
                busy = "made to keep programs busy: a query took more steps than its size explains"
                return CorpusError(f"{name} is damaged, or {busy}", hint=self._restore)
            case _:
                return CorpusError(f"{name} is damaged: {error}", hint=self._restore)

    def _check_header(self) -> None:
        """Rejects a file of another program before SQLite opens it.

        An empty file is accepted for writing: it remains if the creation of a store is interrupted. A file that this
        process has open is not read again, because closing a file releases all POSIX locks of the process on it.
        """
        path, header = self.path, b""
        elsewhere = f"choose another path: {self.option} PATH"
        try:
            if self.writable:
                make_folder(path.parent)
            if _OPEN[file_identity(path) or (0, 0)] > 0:
                return
            with suppress(FileNotFoundError), open_to_read(path) as file:
                header = file.read(100)
        except OSError as error:
            raise UsageError(f"{str(path)!r} cannot be opened: {error.strerror or error}", hint=elsewhere) from error
        ours = header.startswith(_MAGIC) and header[68:72] == self.application.to_bytes(4, "big")
        if header and not ours:
            raise CorpusError(f"{str(path)!r} is not a redargue {self.noun}; it was not changed", hint=elsewhere)
        if not header and not self.writable:
            raise self._missing()

    def _missing(self) -> UsageError:
        hint = f"create one: {self.create_command} {self.path}"
        return UsageError(f"no {self.noun} at {str(self.path)!r}", hint=hint)

    def _connect(self) -> sqlite3.Connection:
        """Opens a connection without implicit transactions.

        Readers also open the file for writing if permissions allow it: only then can SQLite recover the log of a killed
        writer. A file in a read-only folder without a log cannot change, and is opened as immutable.
        """
        path, write = self.path, self.writable
        mode = "rwc" if write else "rw"
        if write:
            make_private(path)
        elif not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            mode = "ro" if path.with_name(path.name + "-wal").exists() else "ro&immutable=1"
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self.busy_timeout,
            isolation_level=None,
            check_same_thread=False,
        )


def require_format(place: str, version: int, own: int, *, hint: str) -> None:
    """Refuses a store of another redargue's format; 0 is a store that is not made yet."""
    if version > own:
        raise UsageError(f"{place} was made by a newer redargue (format {version})", hint="upgrade redargue")
    if 0 < version < own:
        raise UsageError(f"{place} was made by an earlier redargue (format {version})", hint=hint)


def file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
