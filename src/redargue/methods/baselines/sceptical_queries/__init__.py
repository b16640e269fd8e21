"""Queries of a sceptic, as FacTool writes them (Chern et al., arXiv 2307.13528); Markov-chain debate does likewise."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.methods.baselines.factuality import plain_texts
from redargue.methods.baselines.small_models import new_queries
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.base import Task, list_bounds
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.sections import claim_section


class Queries(Frozen):
    """What to search for."""

    queries: tuple[str, ...] = Field(description="the queries", json_schema_extra=list_bounds(4, LONGEST_QUERY))


class WriteScepticalQueries(Task[Queries]):
    """FacTool's queries for a claim, written by a sceptic."""

    claim: Claim
    count: int = 2
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        claim = claim_section(self.claim, self.profile)
        return {"claim": claim, "demonstrations": self.demonstrations, "count": self.count}

    def validate_answer(self, answer: Queries) -> Queries:
        return Queries(queries=plain_texts(answer.queries, self.count))


@perform.register
def _write_sceptical_queries(task: WriteScepticalQueries, backend: EmbeddedBackend) -> Queries:
    return Queries(queries=tuple(new_queries(task.claim.text, (), ()))[: task.count])
