"""Factcheck-GPT's prompts (Wang et al., arXiv 2311.09000)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.methods.baselines.factuality import ClaimPrompt, plain_texts
from redargue.tasks.answer import claim_section
from redargue.tasks.base import Sections, Task, list_bounds, max_length
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.untrusted import wrap_untrusted


class Questions(Frozen):
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

    sections: ClassVar[Sections] = {"claim": "Claim: "}

    claim: Claim

    instructions: ClassVar[str] = (
        "Decide whether a statement is worth checking. It is if it states a fact about the world that others could"
        " check. It is not if it is an opinion, advice, or about its own writer or reader."
    )
    output_format: ClassVar[str] = (
        'Reply in JSON and with nothing else: {"checkworthy": "Yes"} or {"checkworthy": "No"}'
    )

    def template_vars(self) -> dict[str, str]:
        return {"claim": claim_section(self.claim)}


class AskQuestions(ClaimPrompt, Task[Questions]):
    """Factcheck-GPT: questions that check a claim; asked repeatedly, each time as a new sample."""

    claim: Claim
    most: int = 5  # questions of the reply that are used
    demonstrations: str = ""

    instructions: ClassVar[str] = (
        "Somebody made a claim, and you look things up to check it. Write the questions whose answers you would look"
        " up: one for each thing that the claim says, each understandable without the claim."
    )
    output_format: ClassVar[str] = (
        'Reply in JSON and with nothing else: {"questions": ["a question", "another question"]}'
    )

    def validate_answer(self, answer: Questions) -> Questions:
        return Questions(questions=plain_texts(answer.questions, self.most))


class StateStance(Task[Stance]):
    """Factcheck-GPT: the stance of one piece of evidence; asked if the verdict on all evidence is unreadable."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "evidence": "EVIDENCE: "}

    claim: Claim
    passage: Passage

    instructions: ClassVar[str] = (
        "Does the EVIDENCE support the claim, does it refute it, or is it irrelevant to whether it is true?"
    )
    output_format: ClassVar[str] = (
        'Reply in JSON and with nothing else: {"stance": "support"}, or "refute", or "irrelevant"'
    )

    def template_vars(self) -> dict[str, str]:
        evidence = self.passage.text if self.profile == "paper" else self.passage.shown_text
        return {"claim": claim_section(self.claim), "evidence": wrap_untrusted(evidence)}
