"""Factcheck-GPT's prompts (Wang et al., arXiv 2311.09000)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.methods.baselines.factuality import ClaimPrompt, plain_texts
from redargue.tasks.answer import claim_section
from redargue.tasks.base import Task, list_bounds, max_length
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.untrusted import wrap_untrusted


class CheckingQuestions(Frozen):
    """What to ask in order to check a claim."""

    questions: tuple[str, ...] = Field(description="the questions", json_schema_extra=list_bounds(10, LONGEST_QUERY))


class Worthiness(Frozen):
    """Whether a claim is worth checking."""

    reasoning: str = Field(default="", description="your reasoning", json_schema_extra=max_length(400))
    checkworthy: Literal["Yes", "No"] = Field(description="Yes if it states a fact that can be checked")


class Stance(Frozen):
    """The relation of one piece of evidence to a claim."""

    reasoning: str = Field(default="", description="your reasoning", json_schema_extra=max_length(400))
    stance: Literal["support", "refute", "irrelevant"] = Field(description="how the evidence bears on the claim")


class JudgeWorthiness(Task[Worthiness]):
    """Factcheck-GPT: whether a claim is worth checking."""

    claim: Claim

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim)}


class AskQuestions(ClaimPrompt, Task[CheckingQuestions]):
    """Factcheck-GPT: questions that check a claim; asked repeatedly, each time as a new sample."""

    claim: Claim
    most: int = 5  # questions of the reply that are used
    demonstrations: str = ""

    def validate_answer(self, answer: CheckingQuestions) -> CheckingQuestions:
        return CheckingQuestions(questions=plain_texts(answer.questions, self.most))


class StateStance(Task[Stance]):
    """Factcheck-GPT: the stance of one piece of evidence; asked if the verdict on all evidence is unreadable."""

    claim: Claim
    passage: Passage

    def template_vars(self) -> Mapping[str, object]:
        evidence = self.passage.text if self.profile == "paper" else self.passage.shown_text
        return {"claim": claim_section(self.claim), "evidence": wrap_untrusted(evidence)}
