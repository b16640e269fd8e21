"""FIRE's prompts (Xie et al., arXiv 2411.00784)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from redargue.claims import Claim, Frozen
from redargue.methods.baselines.search_results import QueryResult, ShowsKnowledge
from redargue.tasks.base import Task, exactly_one, max_length, quotes_field
from redargue.tasks.query import LONGEST_QUERY


def _bool_to_text(value: object) -> object:
    return str(value) if isinstance(value, bool) else value


class FinalAnswer(Frozen):
    """Whether a statement is true."""

    reasoning: str = Field(
        default="", description="your reasoning, from the knowledge first", json_schema_extra=max_length(1_000)
    )
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from the knowledge")
    final_answer: Annotated[Literal["True", "False"], BeforeValidator(_bool_to_text)] = Field(
        description="whether the statement is true"
    )


class Move(Frozen):
    """The answer or the next query; the other one is empty."""

    model_config = exactly_one("final_answer", "search_query")

    reasoning: str = Field(
        default="", description="your reasoning, from the knowledge first", json_schema_extra=max_length(1_000)
    )
    quotes: tuple[str, ...] = quotes_field("with an answer: what it rests on, copied word for word from the knowledge")
    final_answer: Annotated[Literal["True", "False", ""], BeforeValidator(_bool_to_text)] = Field(
        default="", description="whether the statement is true; empty with a query"
    )
    search_query: str = Field(
        default="", description="the next query; empty with an answer", json_schema_extra=max_length(LONGEST_QUERY)
    )


class _FromKnowledge(Frozen):
    claim: Claim
    results: tuple[QueryResult, ...] = ()


class GiveFinalAnswer(ShowsKnowledge, Task[FinalAnswer], _FromKnowledge):
    """FIRE's forced answer, once it searches no more."""


class SearchOrAnswer(ShowsKnowledge, Task[Move], _FromKnowledge):
    """FIRE's step: the answer where the agent is sure, else the next query."""

    diverse: bool = False  # asks for a query that differs from those before it

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), "diverse": self.diverse}

    def validate_answer(self, answer: Move) -> Move:
        """An answer wins over a query beside it, as in the authors' program."""
        query = "" if answer.final_answer else " ".join(answer.search_query.split())[:LONGEST_QUERY]
        if not query and not answer.final_answer:
            raise ValueError("the reply holds neither a final_answer nor a search_query")
        return answer.model_copy(update={"search_query": query})
