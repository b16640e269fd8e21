"""FIRE's prompts (Xie et al., arXiv 2411.00784)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from redargue.claims import Claim, Frozen
from redargue.methods.baselines.search_results import SearchResult, ShowsKnowledge
from redargue.tasks.base import Sections, Task, exactly_one, lines, max_length, quotes_field
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


class _FactChecker(ShowsKnowledge):
    system: ClassVar[str] = "You are a fact-checking agent."
    quote_source: ClassVar[str] = "the knowledge"


class _FromKnowledge(Frozen):
    claim: Claim
    results: tuple[SearchResult, ...] = ()


class GiveFinalAnswer(_FactChecker, Task[FinalAnswer], _FromKnowledge):
    """FIRE's forced answer, once it searches no more."""

    instructions: ClassVar[str] = lines(
        "You get a STATEMENT and the KNOWLEDGE that was found for it.",
        "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
        "Then you have to decide: answer with True or with False.",
    )
    output_format: ClassVar[str] = 'End with one JSON object: {"final_answer": "True"} or {"final_answer": "False"}'


class SearchOrAnswer(_FactChecker, Task[Move], _FromKnowledge):
    """FIRE's step: the answer where the agent is sure, else the next query."""

    sections: ClassVar[Sections] = {**ShowsKnowledge.sections, "diverse": ""}

    diverse: bool = False  # asks for a query that differs from those before it

    instructions: ClassVar[str] = lines(
        "You get a STATEMENT and the KNOWLEDGE that was found for it so far.",
        "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
        "If you are sure, give your final answer. If you are not, write the one query for a web search that would"
        " tell you most: it has to aim at information that the knowledge does not hold yet.",
    )
    output_format: ClassVar[str] = lines(
        "End with one JSON object.",
        'If you are sure: {"final_answer": "True"} or {"final_answer": "False"}',
        'If you are not: {"search_query": "your query"}',
    )

    def template_vars(self) -> dict[str, str]:
        return {**super().template_vars(), "diverse": _DIVERSE if self.diverse else ""}

    def validate_answer(self, answer: Move) -> Move:
        """An answer wins over a query beside it, as in the authors' program."""
        query = "" if answer.final_answer else " ".join(answer.search_query.split())[:LONGEST_QUERY]
        if not query and not answer.final_answer:
            raise ValueError("the reply holds neither a final_answer nor a search_query")
        return answer.model_copy(update={"search_query": query})


_DIVERSE = (
    "If you write a query, make it differ clearly from those before it, in its words and in what it aims at, so that it"
    " finds something else."
)
