"""Made-up search tools and a memory of a dry run, which find passages that can be quoted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage, Recalled
from redargue.memory.base import Finding, Recall, RememberResult
from redargue.retrieval.tools.base import Search

MOST_FOUND = 100  # passages of a search
RECALLED = 5  # passages in the memory
DAY = datetime(2026, 1, 2, tzinfo=UTC)

# In the first passage of every search, so that whoever has read one can quote it, each time otherwise.
_SOURCE = (
    "The harbour register of Cape Ansel lists for each season which ship came in, who was her master, what cargo she"
    " carried, where it was bound, how many days she lay at the old quay, whose crew unloaded"
).split()
_SOURCE_TEXT = "\n" + " ".join(_SOURCE)
_QUOTED = 8  # words


def quotation(number: int) -> str:
    """A quotation from the first passage of any search: eight words, from the next one on for each number."""
    start = number % (len(_SOURCE) - _QUOTED + 1)
    return " ".join(_SOURCE[start : start + _QUOTED])


class MadeUpTool:
    """Finds other passages for every query."""

    revision = ""
    online = False

    def __init__(self, name: str, about: str = "") -> None:
        self.name, self.about = name, about

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return tuple(
            Passage(
                title=f"(title {number})",
                text=f"(passage {number} that {self.name} found for: {query})" + _SOURCE_TEXT * (number == 1),
                document=f"{self.name} {query} {number}",
                rank=number,
            )
            for number in range(1, min(k, MOST_FOUND) + 1)
        )


class MadeUpAction:
    """A tool that finds passages for arguments, with the parameters of a tool of an MCP server."""

    revision = ""
    online = False

    def __init__(self, tool: MadeUpTool, parameters: Mapping[str, Any]) -> None:
        self.name, self.about, self.parameters, self._tool = tool.name, tool.about, parameters, tool

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        return await self._tool.search(json.dumps(arguments, sort_keys=True), 1, search=search)


class MadeUpMemory:
    """Recalls evidence that ``tool`` found for earlier claims, or nothing."""

    about: dict[str, Any] = {}

    def __init__(self, tool: str, *, knows: bool) -> None:
        self._tool, self._knows = tool, knows

    async def recall(self, entities: Iterable[str], *, claim: Claim, now: datetime, text: str = "") -> Recall:
        if not self._knows:
            return Recall()
        passages = (
            Passage(title="(title)", text=quotation(number), tool=self._tool, query="(its query)", retrieved=DAY)
            for number in range(RECALLED)
        )
        return Recall(
            items=tuple(
                Recalled(passage=passage, length=len(passage.text), number=number)
                for number, passage in enumerate(passages, 1)
            )
        )

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> RememberResult:
        return RememberResult()
