"""Memories on every database there is, closed again, and evidence to put into them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redargue.evidence import Passage
from redargue.memory import Finding, MemorySettings
from redargue.memory.memory import Memory, open_memory
from retrieval.corpus.words import WordEncoder
from support import postgres

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."

Opened = Callable[..., Memory]

_databases = itertools.count()


def found(text: str, *, tool: str = "wikipedia", query: str = "Cape Ansel", **source: Any) -> Finding:
    """An observation."""
    status = source.pop("status", "ok" if text else "empty")
    passage = Passage(text=text, tool=tool, query=query, **{"retrieved": NOW, **source})
    return Finding(passage=passage, status=status)


def texts(recall: Any) -> list[str]:
    return [each.passage.text for each in recall.items]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.extra)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty memory; a test that takes it, or ``opened``, is run with each database."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.create(f"test_{next(_databases)}")


@pytest.fixture
def opened(where: str) -> Iterator[Opened]:
    """Opens the memory, with words for meaning, and closes it when the test ends."""
    memories: list[Memory] = []

    def open_one(*, workspace: str = "default", write: bool | None = None, **settings: Any) -> Memory:
        given = MemorySettings(**{"by": "entity", **settings})
        memory = open_memory(where, workspace=workspace, settings=given, encoder=WordEncoder(), write=write)
        memories.append(memory)
        return memory

    yield open_one
    for memory in memories:
        memory.close()
