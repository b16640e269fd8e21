"""FacTool's prompts (Chern et al., arXiv 2307.13528)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.methods.baselines.factuality import ClaimPrompt, plain_texts
from redargue.tasks.base import Sections, Task, lines, list_bounds
from redargue.tasks.query import LONGEST_QUERY


class Queries(Frozen):
    """What to search for."""

    queries: tuple[str, ...] = Field(description="the queries", json_schema_extra=list_bounds(4, LONGEST_QUERY))


class WriteScepticalQueries(ClaimPrompt, Task[Queries]):
    """FacTool's queries for a claim, written by a sceptic."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "count": None, "demonstrations": None}

    claim: Claim
    count: int = 2
    demonstrations: str = ""

    output_format: ClassVar[str] = 'Reply in JSON and with nothing else: {"queries": ["a query", "another query"]}'

    @property
    def instructions(self) -> str:
        return lines(
            "You write queries for a search engine that help to verify a claim. You are sceptical: the claim may be"
            " wrong, and if it is, your queries must bring that to light.",
            f"Write {self.count} queries. Each is specific, stands for itself, and does not presume the claim.",
        )

    def template_vars(self) -> dict[str, str]:
        return {**super().template_vars(), "count": str(self.count)}

    def validate_answer(self, answer: Queries) -> Queries:
        return Queries(queries=plain_texts(answer.queries, self.count))
