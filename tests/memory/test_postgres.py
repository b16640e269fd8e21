"""What is PostgreSQL's own: a server that is not there, a connection that breaks, a schema that is somebody else's."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import pytest

from memory.conftest import NOW, found, texts
from redargue.claims import Claim
from redargue.errors import CorpusError, UsageError
from redargue.memory.memory import open_memory
from redargue.postgresql import SCHEMA_NAME
from redargue.registry import install
from retrieval.corpus.words import WordEncoder
from support.postgres import Server

pytestmark = pytest.mark.extra
_names = itertools.count()


@pytest.fixture
def url(postgres_server: Server) -> str:
    return postgres_server.create(f"own_{next(_names)}")


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    url = f"postgresql://keeper:granite-1871@/lamp?host={tmp_path}"
    with pytest.raises(CorpusError, match="does not answer") as raised:
        open_memory(url, encoder=WordEncoder())
    assert "granite-1871" not in str(raised.value)


def test_what_is_no_address_says_so() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UsageError, match="not the address of a PostgreSQL database"):
        open_memory("postgresql://host?unknown=1", encoder=WordEncoder())


def test_without_psycopg_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=re.escape(install("postgres"))):
        open_memory("postgresql://host/database")


@pytest.mark.anyio
async def test_a_broken_connection_fails_once_and_is_made_anew(url: str) -> None:
    import psycopg

    with open_memory(url, encoder=WordEncoder()) as memory:
        await memory.remember([found("Lit in 1871.")], entities=["lamp"], claim="x", run="", now=NOW)
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()"
            )
        with pytest.raises(CorpusError):
            await memory.recall(["lamp"], claim=Claim(text="x"), now=NOW)
        assert texts(await memory.recall(["lamp"], claim=Claim(text="x"), now=NOW)) == ["Lit in 1871."]


def test_a_schema_of_somebody_else_is_left_as_it_is(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"CREATE SCHEMA {SCHEMA_NAME}".encode())
        other.execute(f"CREATE TABLE {SCHEMA_NAME}.meta (name TEXT, value TEXT)".encode())
    with pytest.raises(CorpusError, match="is not a redargue memory"):
        open_memory(url, encoder=WordEncoder())
