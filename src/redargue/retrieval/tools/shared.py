"""Searches that several methods share: the same question to a service gets the answer that the first of them got.

Live search changes from minute to minute; methods that are compared must see one world. The answers are kept in a file,
so a bench that goes on tomorrow goes on in the same world.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.errors import RecordError, UsageError
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, Tool


class _Answered(Frozen):
    """One search and what came of it."""

    tool: str
    revision: str
    query: str
    k: int
    as_of: date | None
    passages: tuple[Passage, ...]


class SharedTool:
    """A tool whose answers are kept.

    Args:
        inner: is asked what was not asked before.
        path: the file; made where it is missing.

    Raises:
        UsageError: the file holds something else.
    """

    def __init__(self, inner: Tool, path: Path) -> None:
        self._inner, self._path = inner, path
        self.name, self.about = inner.name, inner.about
        self._known: dict[tuple[Any, ...], tuple[Passage, ...]] = {}
        if not path.exists():
            return
        whole, torn, rest = path.read_bytes().rpartition(b"\n")
        if rest:  # the line that was being written when a process died: the next one must not go on with it
            os.truncate(path, len(whole) + len(torn))
        for number, line in enumerate(whole.split(b"\n") if torn else (), 1):
            try:
                row = _Answered.model_validate_json(line)
            except ValidationError as error:
                raise UsageError(
                    f"line {number} of {str(path)!r} is no search", hint="restore the file, or remove it"
                ) from error
            if (row.tool, row.revision) == (inner.name, inner.revision):
                self._known.setdefault((row.query, row.k, row.as_of), row.passages)  # what the first was told

    @property
    def revision(self) -> str:
        """The inner tool's own."""
        return self._inner.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """What was found the first time; a failure is not kept.

        Raises:
            RecordError: the file cannot be written.
        """
        key = query, k, search.as_of
        if key not in self._known:
            passages = await self._inner.search(query, k, search=search)
            if key not in self._known:
                self._known[key] = passages
                row = _Answered(
                    tool=self.name,
                    revision=self.revision,
                    query=query,
                    k=k,
                    as_of=search.as_of,
                    passages=passages,
                )
                self._keep(row)
        return self._known[key]

    def _keep(self, row: _Answered) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row.model_dump(mode="json")) + "\n")
        except OSError as error:
            raise RecordError(
                f"{str(self._path)!r} cannot be written: {error.strerror}", hint="make room; the same command goes on"
            ) from error
