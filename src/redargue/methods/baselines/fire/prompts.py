"""Searching in turns before a claim is rated: what is known so far, and what to look for next.

FIRE (Xie et al., arXiv 2411.00784) asks for either the next query or the answer; SAFE (Wei et al., arXiv 2403.18802)
for queries alone, then for the rating.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.methods.baselines.search_results import SearchResult, statement_and_knowledge, statement_vars
from redargue.tasks.base import Task, exactly_one, lines, list_bounds, max_length
from redargue.tasks.querying import LONGEST_QUERY

FACT_CHECKER = "You are a fact-checking agent."


class FinalAnswer(Frozen):
    """Whether a statement is true.

    Attributes:
        reasoning: why; empty where a reply reasons around its JSON.
        quotes: what it rests on, word for word; checked by code, never believed.
        final_answer: as the paper spells it.
    """

    reasoning: str = Field(
        default="", description="your reasoning, from the knowledge first", json_schema_extra=max_length(1_000)
    )
    quotes: tuple[str, ...] = Field(
        default=(),
        description="what you rely on, copied word for word from the knowledge",
        json_schema_extra=list_bounds(6, 400),
    )
    final_answer: Literal["True", "False"] = Field(description="whether the statement is true")

    @field_validator("final_answer", mode="before")
    @classmethod
    def _spelled(cls, given: object) -> object:
        return str(given) if isinstance(given, bool) else given


class Move(Frozen):
    """The answer, or the next query.

    Attributes:
        reasoning: as of a final answer.
        quotes: as of a final answer.
        final_answer: empty with a query.
        search_query: empty with an answer.
    """

    model_config = exactly_one("final_answer", "search_query")

    reasoning: str = Field(
        default="", description="your reasoning, from the knowledge first", json_schema_extra=max_length(1_000)
    )
    quotes: tuple[str, ...] = Field(
        default=(),
        description="with an answer: what it rests on, copied word for word from the knowledge",
        json_schema_extra=list_bounds(6, 400),
    )
    final_answer: Literal["True", "False", ""] = Field(
        default="", description="whether the statement is true; empty with a query"
    )
    search_query: str = Field(
        default="", description="the next query; empty with an answer", json_schema_extra=max_length(LONGEST_QUERY)
    )

    @field_validator("final_answer", mode="before")
    @classmethod
    def _spelled(cls, given: object) -> object:
        return str(given) if isinstance(given, bool) else given


class _FromKnowledge(Frozen):
    claim: Claim
    results: tuple[SearchResult, ...] = ()


class GiveFinalAnswer(Task[FinalAnswer], _FromKnowledge):
    """The answer that FIRE wants once it searches no more."""

    template_var_names: ClassVar[tuple[str, ...]] = ("statement", "knowledge")

    def system(self) -> str:
        return FACT_CHECKER

    def instructions(self) -> str:
        return lines(
            "You get a STATEMENT and the KNOWLEDGE that was found for it.",
            "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
            "Then you have to decide: answer with True or with False.",
        )

    def quote_source(self) -> str:
        return "the knowledge"

    def output_format(self) -> str:
        return 'End with one JSON object: {"final_answer": "True"} or {"final_answer": "False"}'

    def input_text(self) -> str:
        return statement_and_knowledge(self.claim, self.results, self.profile)

    def template_vars(self) -> dict[str, str]:
        return statement_vars(self.claim, self.results, self.profile)


class SearchOrAnswer(Task[Move], _FromKnowledge):
    """FIRE's step: the answer where the agent is sure, else the next query.

    Attributes:
        diverse: whether it is told that its next query has to differ from those before it.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("statement", "knowledge", "diverse")

    diverse: bool = False

    def system(self) -> str:
        return FACT_CHECKER

    def instructions(self) -> str:
        return lines(
            "You get a STATEMENT and the KNOWLEDGE that was found for it so far.",
            "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
            "If you are sure, give your final answer. If you are not, write the one query for a web search that would"
            " tell you most: it has to aim at information that the knowledge does not hold yet.",
        )

    def quote_source(self) -> str:
        return "the knowledge"

    def output_format(self) -> str:
        return lines(
            "End with one JSON object.",
            'If you are sure: {"final_answer": "True"} or {"final_answer": "False"}',
            'If you are not: {"search_query": "your query"}',
        )

    def input_text(self) -> str:
        known = statement_and_knowledge(self.claim, self.results, self.profile)
        return lines(known, _DIVERSE if self.diverse else None)

    def template_vars(self) -> dict[str, str]:
        known = statement_vars(self.claim, self.results, self.profile)
        return {**known, "diverse": _DIVERSE if self.diverse else ""}

    def validate_answer(self, answer: Move) -> Move:
        """The answer, as the authors' program reads it also where a query stands beside it, or the query."""
        query = "" if answer.final_answer else " ".join(answer.search_query.split())[:LONGEST_QUERY]
        if not query and not answer.final_answer:
            raise ValueError("the reply holds neither a final_answer nor a search_query")
        return answer.model_copy(update={"search_query": query})


_DIVERSE = (
    "If you write a query, make it differ clearly from those before it, in its words and in what it aims at, so that it"
    " finds something else."
)
