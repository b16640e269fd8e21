"""Search results as FIRE and SAFE show them: the knowledge so far about a statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redargue.claims import Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_section, documents
from redargue.tasks.base import Profile

NOTHING_KNOWN = "N/A"
NOTHING_FOUND = "Nothing was found for this query."


class QueryResult(Frozen):
    """A query and what it found."""

    query: str
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """The passages as one text, as both programs keep a result."""
        return " ".join(passage.text for passage in self.passages) or NOTHING_FOUND


def found_in(results: tuple[QueryResult, ...]) -> tuple[Passage, ...]:
    return tuple({passage.sha256: passage for result in results for passage in result.passages}.values())


def knowledge(results: tuple[QueryResult, ...], profile: Profile) -> str:
    """The results joined by newlines; hardened: the passages, separately fenced."""
    if profile == "paper":
        return "\n".join(result.text for result in results) or NOTHING_KNOWN
    passages = found_in(results)
    return documents(passages, profile) if passages else NOTHING_KNOWN


class ShowsKnowledge:
    """A prompt with a statement and what is known about it; without fields, so it precedes the task."""

    def template_vars(self: Any) -> Mapping[str, object]:
        return {"statement": claim_section(self.claim), "knowledge": knowledge(self.results, self.profile)}
