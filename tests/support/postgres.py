"""A PostgreSQL server for tests: the machine's own programs, a folder of its own, no network port.

``REDARGUE_TEST_POSTGRES=required`` makes what would be skipped without it a failure.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

REQUIRED = os.environ.get("REDARGUE_TEST_POSTGRES") == "required"


class Server(NamedTuple):
    """A running server.

    Attributes:
        folder: of its socket, and of its data.
        options: of the server's program.
    """

    folder: Path
    options: str

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql:///{database}?host={self.folder}&user=redargue"

    def stop(self) -> None:
        """As at a crash: connections break, and nothing is finished."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        """Starts it again, with the same data at the same address."""
        self._control("-l", str(self.folder / "log"), "-o", self.options, "start")

    def _control(self, *arguments: str) -> None:
        command = [program("pg_ctl"), "-D", str(self.folder / "data"), "-w", *arguments]
        subprocess.run(command, **user_of(self.folder))

    def create(self, database: str) -> str:
        """Makes an empty database; its address."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}".encode())
        return self.url(database)


def program(name: str) -> str:
    """Where a program of PostgreSQL is; empty where it is not installed."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, places))) or ""


def missing() -> str:
    """What keeps a server from being started; empty where nothing does."""
    if not all(map(program, ("initdb", "pg_ctl"))):
        return "needs PostgreSQL: apt-get install postgresql"
    return "" if importlib.util.find_spec("psycopg") else "needs pip install -e '.[postgres]'"


def user_of(folder: Path) -> dict[str, Any]:
    """How the server's programs are run: as another user where this one is root, as PostgreSQL demands."""
    user: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "check": True}
    if os.geteuid() == 0:
        names = {each.pw_name: each for each in pwd.getpwall()}
        other = names.get("postgres") or names["nobody"]
        user |= {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}
    return user


@contextmanager
def running(*, durable: bool = False, listen: str = "") -> Iterator[Server]:
    """A server that goes when the block is left.

    Args:
        durable: waits for the disk, as a server that is used does.
        listen: addresses that others may reach it at, without a password, on port 5432; none by default.
    """
    folder = Path(tempfile.mkdtemp(prefix="redargue-pg-"))  # a socket's path is short, and pytest's folders are not
    user = user_of(folder)
    if "user" in user:
        os.chown(folder, user["user"], user["group"])
    data = str(folder / "data")
    try:
        init = [program("initdb"), "-D", data, "-A", "trust", "-U", "redargue", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(init, **user)
        options = f"-k {folder} -c listen_addresses='{listen}' -c fsync={'on' if durable else 'off'}"
        if listen:
            with (folder / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 10.0.0.0/8 trust\n")
        server = Server(folder, options)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
