"""SAFE's prompts (Wei et al., "Long-form factuality in large language models", arXiv 2403.18802).

A statement is made self-contained, checked for relevance, searched for in turns, and rated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from redargue.claims import Claim, Frozen, Label, LabelSet, Meaning, readable
from redargue.methods.baselines.search_results import QueryResult, ShowsKnowledge
from redargue.tasks.answer import LabelledTask
from redargue.tasks.base import Task, max_length
from redargue.tasks.query import LONGEST_QUERY, Query, QueryTask
from redargue.tasks.untrusted import wrap_untrusted

SUPPORTED, NOT_SUPPORTED = "Supported", "Not Supported"


SUPPORT = LabelSet(
    name="support",
    labels=(
        Label(name=SUPPORTED, meaning=Meaning.SUPPORTED, description="the knowledge supports the statement"),
        Label(name=NOT_SUPPORTED, meaning=Meaning.REFUTED, description="the knowledge does not support the statement"),
    ),
)


_BLOCK = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)


_BRACKETS = re.compile(r"\[([^\[\]]+)\]")


def code_block(text: str) -> str | None:
    """The content of the first code block, on one line; None without one."""
    block = _BLOCK.search(text)
    return " ".join(block.group(1).split()) if block else None


def _bracketed(text: str, *words: str) -> list[str]:
    contents = {re.sub(r"[^\w\s]", "", match).strip() for match in _BRACKETS.findall(text)}
    return [word for word in words if word in contents]


class SelfContained(Frozen):
    """A statement that can be understood alone."""

    statement: str = Field(description="the statement, self-contained", json_schema_extra=max_length(1_000))


class Relevance(Frozen):
    """Whether a statement has to do with what its text is about."""

    reasoning: str = Field(default="", description="your reasoning", json_schema_extra=max_length(600))
    relevant: bool = Field(description="true if the statement is relevant")


class _OfAResponse:
    """A statement and the text around it. A plain class without fields, so it goes first."""

    def template_vars(self: Any) -> Mapping[str, object]:
        return {
            "response": wrap_untrusted(self.claim.context),
            "statement": wrap_untrusted(self.claim.text, inline=True),
        }


class MakeSelfContained(_OfAResponse, Task[SelfContained]):
    """A statement of a text in words that need no text around them."""

    claim: Claim

    def parse_plain(self, text: str) -> SelfContained | None:
        statement = code_block(text)
        return None if statement is None else SelfContained(statement=statement)

    def validate_answer(self, answer: SelfContained) -> SelfContained:
        if not re.search(r"\w", answer.statement):
            raise ValueError("the statement is empty")
        return SelfContained(statement=readable(answer.statement.strip()))


class CheckRelevance(_OfAResponse, Task[Relevance]):
    """Whether a statement has to do with what its text is about."""

    claim: Claim

    def _words(self) -> tuple[str, str]:
        return ("Relevant", "Not Relevant") if self.profile == "hardened" else ("Foo", "Not Foo")

    def parse_plain(self, text: str) -> Relevance | None:
        yes, no = self._words()
        answers = _bracketed(text, yes, no)
        if len(answers) > 1:
            raise ValueError(f"the reply contains both [{yes}] and [{no}]")
        return Relevance(reasoning=text.strip(), relevant=answers == [yes]) if answers else None


class WriteNextQuery(ShowsKnowledge, QueryTask):
    """The next query, for what is not known yet."""

    claim: Claim
    results: tuple[QueryResult, ...] = ()

    def parse_plain(self, text: str) -> Query | None:
        """The first code block; else as other queries are read."""
        query = code_block(text)
        if query == "":
            raise ValueError("the code block is empty")
        return super().parse_plain(text) if query is None else Query(text=query[:LONGEST_QUERY])


class RateSupport(ShowsKnowledge, LabelledTask):
    """Whether the knowledge supports the statement; its labels are ``SUPPORT``'s."""

    results: tuple[QueryResult, ...] = ()

    def label_of(self, text: str) -> str | None:
        """The label in square brackets; without one the label on the last line."""
        rated = _bracketed(text, SUPPORTED, NOT_SUPPORTED)
        if rated:
            return rated[0] if len(rated) == 1 else None
        return self.chosen(text.strip().rpartition("\n")[2])
