"""Searching in turns before a claim is rated: what is known so far, and what to look for next.

FIRE (Xie et al., arXiv 2411.00784) asks for either the next query or the answer; SAFE (Wei et al., arXiv 2403.18802)
for queries alone, then for the rating.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_lines, documents
from redargue.tasks.base import Profile, Task, exactly_one, lines, list_bounds, max_length
from redargue.tasks.query import LONGEST_QUERY

FACT_CHECKER = "You are a fact-checking agent."
NOTHING_KNOWN = "N/A"
NOTHING_FOUND = "Nothing was found for this query."


class SearchResult(Frozen):
    """A query and what it found.

    Attributes:
        query: as it was asked.
        passages: in their order; none where nothing was found.
    """

    query: str
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """The passages as one text, as both programs keep a result."""
        return " ".join(each.text for each in self.passages) or NOTHING_FOUND


def found_in(results: tuple[SearchResult, ...]) -> tuple[Passage, ...]:
    """All passages, each text once."""
    return tuple({each.sha256: each for result in results for each in result.passages}.values())


def knowledge(results: tuple[SearchResult, ...], profile: Profile) -> str:
    """What is known so far: the results joined by newlines; hardened: the passages, each fenced."""
    if profile == "paper":
        return "\n".join(each.text for each in results) or NOTHING_KNOWN
    passages = found_in(results)
    return documents(passages, profile) if passages else NOTHING_KNOWN


def statement_and_knowledge(claim: Claim, results: tuple[SearchResult, ...], profile: Profile) -> str:
    """Both as they stand in a prompt."""
    statement = claim_lines(claim).replace("Claim: ", "STATEMENT: ", 1)
    return lines(statement, f"KNOWLEDGE: {knowledge(results, profile)}")


def statement_vars(claim: Claim, results: tuple[SearchResult, ...], profile: Profile) -> dict[str, str]:
    """Both by their names."""
    statement = claim_lines(claim).removeprefix("Claim: ")
    return {"statement": statement, "knowledge": knowledge(results, profile)}


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
    """The answer that FIRE wants once it searches no more.

    Attributes:
        claim: the statement.
        results: what was found, query by query.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("statement", "knowledge")

    def system(self) -> str:
        """The agent's part."""
        return FACT_CHECKER

    def instructions(self) -> str:
        """Reason, summarise, decide: there is no other way out."""
        return lines(
            "You get a STATEMENT and the KNOWLEDGE that was found for it.",
            "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
            "Then you have to decide: answer with True or with False.",
        )

    def quote_source(self) -> str:
        return "the knowledge"

    def output_format(self) -> str:
        """JSON, after the reasoning."""
        return 'End with one JSON object: {"final_answer": "True"} or {"final_answer": "False"}'

    def input_text(self) -> str:
        """Statement and knowledge."""
        return statement_and_knowledge(self.claim, self.results, self.profile)

    def template_vars(self) -> dict[str, str]:
        """Statement and knowledge."""
        return statement_vars(self.claim, self.results, self.profile)


class SearchOrAnswer(Task[Move], _FromKnowledge):
    """FIRE's step: the answer where the agent is sure, else the next query.

    Attributes:
        claim: the statement.
        results: what was found so far, query by query.
        diverse: whether it is told that its next query has to differ from those before it.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("statement", "knowledge", "diverse")

    diverse: bool = False

    def system(self) -> str:
        """The agent's part."""
        return FACT_CHECKER

    def instructions(self) -> str:
        """Reason, summarise, then answer or ask."""
        return lines(
            "You get a STATEMENT and the KNOWLEDGE that was found for it so far.",
            "Think step by step about whether the statement is true, and sum up what the knowledge says of it.",
            "If you are sure, give your final answer. If you are not, write the one query for a web search that would"
            " tell you most: it has to aim at information that the knowledge does not hold yet.",
        )

    def quote_source(self) -> str:
        return "the knowledge"

    def output_format(self) -> str:
        """JSON, after the reasoning: one of two."""
        return lines(
            "End with one JSON object.",
            'If you are sure: {"final_answer": "True"} or {"final_answer": "False"}',
            'If you are not: {"search_query": "your query"}',
        )

    def input_text(self) -> str:
        """Statement, knowledge, perhaps that queries have to differ."""
        known = statement_and_knowledge(self.claim, self.results, self.profile)
        return lines(known, _DIVERSE if self.diverse else None)

    def template_vars(self) -> dict[str, str]:
        """Statement and knowledge, and that queries have to differ."""
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
