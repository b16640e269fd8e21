"""One SQLite file of ours: whose it is, its tables, its transactions, and what its errors mean.

A file is looked at before SQLite is: opening a stranger's database could already write to it. SQLite's write-ahead log
lets readers go on with the state they began with while one process writes.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import ClassVar

from redargue.errors import CorpusError, DiskFull, RedargueError, StoreDamaged, StoreForeign, StoreLocked, UsageError

APPLICATION = 0x52444152  # "RDAR", at byte 68 of the file
SCHEMA = 1

_MAGIC = b"SQLite format 3\0"
_OPEN: Counter[tuple[int, int]] = Counter()  # files that this process has open, by device and inode
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
    """A connection that threads share, one at a time. A corpus; another kind of file says what differs.

    Args:
        path: the file; made where there is none, if it is opened for writing.
        write: whether it may change.
        embedder: name of what makes its vectors.

    Attributes:
        noun: what the file is.
        option: the command line's, to name another one.
        making: how one is made.
        application: four letters at byte 68 of the file.
        schema: version of the tables.
        tables: statements that make them.
        facts: what the table ``meta`` begins with, besides the embedder.
        synchronous: NORMAL: whole after a power cut, but for the last batches. FULL: nothing is lost.
        busy: seconds to wait for other writers.

    Raises:
        UsageError: nothing there to read, or it belongs to another embedder or a newer redargue.
        StoreForeign: the file is something else; it is left as it is.
        StoreDamaged: the file is ours, and SQLite cannot read it.
    """

    noun: ClassVar[str] = "corpus"
    option: ClassVar[str] = "--store"
    making: ClassVar[str] = "redargue corpus add FILES --store"
    application: ClassVar[int] = APPLICATION
    schema: ClassVar[int] = SCHEMA
    tables: ClassVar[str] = _TABLES
    facts: ClassVar[tuple[tuple[str, str], ...]] = (("content", "0"), ("generation", "0"))
    synchronous: ClassVar[str] = "NORMAL"
    busy: ClassVar[float] = 5.0

    def __init__(self, path: Path, *, write: bool, embedder: str) -> None:
        self.path, self.writable = path, write
        self._lock = RLock()
        self._look_at()
        with self._errors():
            self._connection = self._connect()
        self._file = _identity(path)
        _OPEN.update([self._file] if self._file else [])
        try:
            with self._errors():
                self._prepare(embedder)
        except BaseException:
            self.close()
            raise

    def _prepare(self, embedder: str) -> None:
        execute = self._connection.execute
        execute(f"PRAGMA synchronous = {self.synchronous}")
        if not self.writable:
            execute("PRAGMA query_only = ON")
        version = execute("PRAGMA user_version").fetchone()[0]
        if version > self.schema:
            raise UsageError(f"{str(self.path)!r} was made by a newer redargue (format {version})", hint="upgrade")
        if self.writable:
            if not version:
                self._create(embedder)
            execute("PRAGMA journal_mode = WAL")
        elif not version:
            raise self._nothing()
        made_by = execute("SELECT value FROM meta WHERE name = 'embedder'").fetchone()
        if made_by != (embedder,):
            raise UsageError(
                f"{str(self.path)!r} holds vectors of {made_by and made_by[0]!r}, not of {embedder!r}",
                hint=f"make a {self.noun} of its own: {self.making} PATH",
            )

    def _create(self, embedder: str) -> None:
        with self.write() as db:
            if db.execute("PRAGMA user_version").fetchone()[0]:
                return
            db.execute(f"PRAGMA application_id = {self.application}")
            db.execute(f"PRAGMA user_version = {self.schema}")
            for statement in self.tables.split(";\n"):
                db.execute(statement)
            db.executemany("INSERT INTO meta VALUES (?, ?)", (("embedder", embedder), *self.facts))

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One state of the store, whatever is written meanwhile."""
        with self._lock, self._errors(), self._transaction("BEGIN"):
            yield self._connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All of the block's changes, or none where it raises.

        Raises:
            UsageError: opened for reading.
            StoreLocked: another process kept writing.
            DiskFull: no room; nothing has changed.
        """
        self.require_writable()
        with self._lock, self._errors(), self._transaction("BEGIN IMMEDIATE"):
            yield self._connection

    def require_writable(self) -> None:
        """Raises UsageError where the store was opened for reading."""
        if not self.writable:
            raise UsageError(f"{str(self.path)!r} is open for reading only", hint="open it with write=True")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def shrink(self) -> None:
        """Gives the space of removed documents back to the disk."""
        with self._lock, self._errors():
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Closes the file; twice does no harm."""
        with self._lock:
            self._connection.close()
            if self._file:
                _OPEN[self._file] -= 1
            self._file = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise  # ours, not the file's: a closed connection, a wrong call
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def _meaning(self, error: sqlite3.DatabaseError) -> RedargueError:
        name = repr(str(self.path))
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return StoreLocked(f"{name} is being written to by another process", hint="try again when it is done")
            case sqlite3.SQLITE_FULL:
                return DiskFull(f"no room for {name}", hint="what was stored before is intact; make room, and repeat")
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return UsageError(
                    f"{name} cannot be opened here: {error}", hint=f"name another place: {self.option} PATH"
                )
            case sqlite3.SQLITE_IOERR:
                return CorpusError(f"the disk under {name} fails: {error}")
            case _:
                hint = f"remove the file, or restore it, and fill it again: {self.making} …"
                return StoreDamaged(f"{name} is damaged: {error}", hint=hint)

    def _look_at(self) -> None:
        """Refuses what is not ours before SQLite touches it.

        An empty file is what remains of a store that was interrupted as it was made. A file that this process has open
        was looked at before, and is left alone: whoever closes a file drops all locks that his process has on it.
        """
        path, write = self.path, self.writable
        try:
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                if write:
                    return
                raise self._nothing()
            if _OPEN[_identity(path) or (0, 0)] > 0:
                return
            with path.open("rb") as file:
                header = file.read(100)
        except OSError as error:
            raise UsageError(
                f"{str(path)!r} cannot be opened: {error.strerror or error}",
                hint=f"name another place: {self.option} PATH",
            ) from error
        ours = header.startswith(_MAGIC) and header[68:72] == self.application.to_bytes(4, "big")
        if header and not ours:
            raise StoreForeign(
                f"{str(path)!r} is not a redargue {self.noun}; it was left as it is",
                hint=f"name another place: {self.option} PATH",
            )
        if not header and not write:
            raise self._nothing()

    def _nothing(self) -> UsageError:
        return UsageError(f"no {self.noun} at {str(self.path)!r}", hint=f"make one: {self.making} {self.path}")

    def _connect(self) -> sqlite3.Connection:
        """A connection without implicit transactions.

        A reader, too, opens the file for writing where it may: only then can it clear up the log that a killed writer
        left. Where the folder is read-only and no log is there, nothing can change, and SQLite is told so.
        """
        path, write = self.path, self.writable
        mode = "mode=rwc" if write else "mode=rw"
        if not write and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            logged = path.with_name(path.name + "-wal").exists()
            mode = "mode=ro" if logged else "mode=ro&immutable=1"
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=self.busy,
            isolation_level=None,
            check_same_thread=False,
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """The file behind a path, whatever its names; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
