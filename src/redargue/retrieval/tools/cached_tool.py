"""Caches the answers of a search tool in a file, so that all methods of a benchmark see the same search results.

Live search changes from minute to minute. With the file, a benchmark that is resumed later still gets the same answers.
"""

from __future__ import annotations

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
    tool: str
    revision: str
    query: str
    k: int
    as_of: date | None
    passages: tuple[Passage, ...]


class CachedTool:
    """A tool whose answers are cached in a file, which is created if it does not exist; failures are not cached.

    Raises:
        UsageError: the file has an invalid line.
        RecordError: (by ``search``) the file cannot be written.
    """

    def __init__(self, inner: Tool, path: Path) -> None:
        self._inner, self._path = inner, path
        self.name, self.about = inner.name, inner.about
        self.online: bool = getattr(inner, "online", True)
        self._known: dict[tuple[Any, ...], tuple[Passage, ...]] = {}
        if not path.exists():
            return
        whole, newline, rest = path.read_bytes().rpartition(b"\n")
        if rest:  # an unfinished line of a process that died: the next line must not be appended to it
            os.truncate(path, len(whole) + len(newline))
        for number, line in enumerate(whole.split(b"\n") if newline else (), 1):
            try:
                row = _Answered.model_validate_json(line)
            except ValidationError as error:
                hint = "restore the file, or remove it"
                raise UsageError(f"line {number} of {str(path)!r} is not a search", hint=hint) from error
            if (row.tool, row.revision) == (inner.name, inner.revision):
                self._known.setdefault((row.query, row.k, row.as_of), row.passages)

    @property
    def revision(self) -> str:
        return self._inner.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        key = query, k, search.as_of
        if key not in self._known:
            passages = await self._inner.search(query, k, search=search)
            if key not in self._known:  # a concurrent search with the same key may have been faster
                self._known[key] = passages
                origin = {"tool": self.name, "revision": self.revision}
                self._append(_Answered(**origin, query=query, k=k, as_of=search.as_of, passages=passages))
        return self._known[key]

    def _append(self, row: _Answered) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(row.model_dump_json() + "\n")
        except OSError as error:
            hint = "make room; the same command resumes the run"
            raise RecordError(f"{str(self._path)!r} cannot be written: {error.strerror}", hint=hint) from error
