"""Connections to a PostgreSQL server through psycopg 3 (extra ``postgres``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redargue.errors import DiskFull, MissingExtra, RedargueError, StoreLocked, UsageError
from redargue.net.secrets import Secrets, display_url

CONNECT, BUSY = 10, 30  # timeouts in seconds: for connecting, and for locks of other writers


class Server:
    """A schema on a PostgreSQL server, by its libpq URL; errors never contain the password."""

    def __init__(self, url: str, *, schema: str, what: str, option: str, failure: type[RedargueError]) -> None:
        try:
            import psycopg
        except ImportError as error:
            hint = "pip install 'redargue[postgres]'"
            raise MissingExtra(f"a {what} on PostgreSQL needs psycopg: {error}", hint=hint) from None
        self._psycopg, self._url, self._schema = psycopg, url, schema
        self._what, self._option, self._failure = what, option, failure
        self.place = repr(display_url(url))
        self._secrets = Secrets.from_environment()
        self._secrets.add_url(url)

    def connect(self, options: str = "", **more: Any) -> Any:
        """Opens a connection in autocommit mode; ``options`` are libpq's session options, ``more`` its parameters."""
        with self.errors():
            return self._psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT,
                application_name="redargue",
                options=f"-c search_path={self._schema} -c lock_timeout={BUSY}s -c client_encoding=UTF8 {options}",
                **more,
            )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translates psycopg's errors."""
        try:
            yield
        except self._psycopg.Error as error:
            raise self._translated(error) from None  # its traceback may show what was sent

    def _translated(self, error: Any) -> RedargueError:
        known, message = self._psycopg.errors, self._secrets.hide(" ".join(str(error).split()))
        if isinstance(error, known.LockNotAvailable):
            hint = "try again later"
            return StoreLocked(f"{self.place} is being written to by another process", hint=hint)
        if isinstance(error, known.DiskFull):
            return DiskFull(f"no room at {self.place}", hint="stored data is intact; make room and try again")
        if isinstance(error, known.InsufficientPrivilege | known.InvalidCatalogName | known.ReadOnlySqlTransaction):
            hint = f"use another database: {self._option} URL"
            return UsageError(f"{self.place} cannot be used: {message}", hint=hint)
        if isinstance(error, self._psycopg.ProgrammingError) and not error.sqlstate:
            return UsageError(f"not the address of a PostgreSQL database: {message}", hint="postgresql://host/database")
        if isinstance(error, self._psycopg.OperationalError):
            hint = "is the server running? try psql"
            return self._failure(f"the {self._what} {self.place} does not answer: {message}", hint=hint)
        return self._failure(f"the {self._what} {self.place} fails: {message}")


def positional(statement: str) -> str:
    return statement.replace("?", "%s")
