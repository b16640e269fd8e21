"""Ledgers on every database there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redargue.cluster.store import SharedDatabase, open_ledger
from support import postgres

_databases = itertools.count()

Opened = Callable[[], SharedDatabase]


class Clock:
    """Seconds that only a test moves on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.extra)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger; a test that takes it, or ``opened``, is run with each database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.create(f"ledger_{next(_databases)}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(where: str, clock: Clock) -> Iterator[Opened]:
    """Opens the ledger, as often as wanted, and closes it when the test ends."""
    databases: list[SharedDatabase] = []

    def open_one() -> SharedDatabase:
        databases.append(open_ledger(where, clock=clock))
        return databases[-1]

    yield open_one
    for database in databases:
        database.close()
