"""A schema on a PostgreSQL server, through psycopg 3 (extra ``postgres``): how it is reached, what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redargue.errors import DiskFull, MissingExtra, RedargueError, StoreLocked, UsageError
from redargue.net.secrets import Secrets, place

CONNECT, BUSY = 10, 30  # seconds for a server to answer at all, and to wait for other writers


class Server:
    """An address, and what its errors mean, without the password that stands in it.

    Args:
        url: ``postgresql://…`` as libpq reads it; a password may stand in it, or in ``PGPASSWORD``.
        schema: that statements are about.
        what: is kept there, in words.
        option: of the command line that names it.
        failure: the type of an error that is the server's.

    Attributes:
        place: the address as errors show it.

    Raises:
        MissingExtra: psycopg is not installed.
    """

    def __init__(self, url: str, *, schema: str, what: str, option: str, failure: type[RedargueError]) -> None:
        try:
            import psycopg
        except ImportError as error:
            hint = "pip install 'redargue[postgres]'"
            raise MissingExtra(f"a {what} on PostgreSQL needs psycopg: {error}", hint=hint) from None
        self._psycopg, self._url, self._schema = psycopg, url, schema
        self._what, self._option, self._failure = what, option, failure
        self.place = repr(place(url))
        self._secrets = Secrets.of()
        self._secrets.add_url(url)

    def connect(self, options: str = "", **more: Any) -> Any:
        """A new connection, without a transaction.

        Args:
            options: further ones of the session, as ``psql`` takes them.
            more: parameters of libpq.
        """
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
        """Says in our words what the block's statements end in.

        Raises:
            StoreLocked: others kept writing.
            DiskFull: no room; nothing has changed.
            UsageError: no such address or database, or one that does not let us in.
            RedargueError: ``failure``, for everything else.
        """
        try:
            yield
        except self._psycopg.Error as error:
            raise self._meaning(error) from None  # its own traceback may show what it was sent

    def _meaning(self, error: Any) -> RedargueError:
        known, said = self._psycopg.errors, self._secrets.hide(" ".join(str(error).split()))
        if isinstance(error, known.LockNotAvailable):
            hint = "try again when it is done"
            return StoreLocked(f"{self.place} is being written to by another process", hint=hint)
        if isinstance(error, known.DiskFull):
            return DiskFull(f"no room at {self.place}", hint="what was stored before is intact; make room, and repeat")
        if isinstance(error, known.InsufficientPrivilege | known.InvalidCatalogName | known.ReadOnlySqlTransaction):
            hint = f"name another place: {self._option} URL"
            return UsageError(f"{self.place} cannot be used: {said}", hint=hint)
        if isinstance(error, self._psycopg.ProgrammingError) and not error.sqlstate:
            return UsageError(f"not the address of a PostgreSQL database: {said}", hint="postgresql://host/database")
        if isinstance(error, self._psycopg.OperationalError):
            hint = "is the server running? psql tells more"
            return self._failure(f"the {self._what} {self.place} does not answer: {said}", hint=hint)
        return self._failure(f"the {self._what} {self.place} fails: {said}")


def positional(statement: str) -> str:
    """A statement as SQLite writes it, with ``?`` for values, as psycopg reads it."""
    return statement.replace("?", "%s")
