"""The prompts of methods that ask a model what it knows (closed-book)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.methods.baselines.factuality import ClaimPrompt
from redargue.tasks.answer import LabelledTask, Piece, claim_section
from redargue.tasks.base import FORMAT_LAST, Exchange, Layout, Sections, Task, lines, max_length

WHEN = {
    Meaning.SUPPORTED: "If the claim is correct",
    Meaning.REFUTED: "If the claim is incorrect",
    Meaning.NOT_ENOUGH: "If nothing you know settles the claim",
    Meaning.CONFLICTING: "If what you know contradicts itself, or the claim leaves out what matters",
    Meaning.OPTION: "If this option is right",
}


DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.OPTION)


class AnswerClosedBook(LabelledTask):
    """``single-reader``'s question without documents: reasons first, the label last."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "labels": None}
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    must_answer: bool = False  # offers only labels that decide the claim (FIRE's last prompt accepts nothing else)

    @property
    def instructions(self) -> str:
        return lines("Check the claim from what you know. You have no documents.", self._must())

    def _must(self) -> str | None:
        return "You must decide, even if you are not sure." if self.must_answer else None

    @property
    def output_format(self) -> str:
        if self.claim.labels.free_text:
            return "Explain first, then give your answer on the last line."
        last = f"Your final answer ({self._every()}) must be given on the last line only, after your reasoning."
        return lines(*self._rules("first explain why, then output"), last)

    def template_vars(self) -> dict[str, str]:
        return {"claim": claim_section(self.claim), "labels": self._every()}

    def choice(self) -> dict[str, str]:
        return {name: WHEN[self.claim.labels.meaning(name)].removeprefix("If ") for name in self._names()}

    def chosen(self, word: str) -> str | None:
        return self._allowed(super().chosen(word))

    def label_of(self, text: str) -> str | None:
        return self._allowed(super().label_of(text))

    def _allowed(self, label: str | None) -> str | None:
        return label if self.claim.labels.free_text or label in self._names() else None

    def _names(self) -> tuple[str, ...]:
        labels = self.claim.labels.labels
        decided = tuple(label.name for label in labels if label.meaning in DECIDED)
        return decided if self.must_answer and decided else self.claim.labels.names

    def _every(self) -> str:
        return ", ".join(f"**{name}**" for name in self._names())

    def _rules(self, then: str) -> list[str]:
        when = ((WHEN[self.claim.labels.meaning(name)], name) for name in self._names())
        return [f"{condition}, {then} **{name}**." for condition, name in when]


class SelfChecked(Frozen):
    """FacTool's verdict without evidence."""

    reasoning: str = Field(description="your reasoning, step by step", json_schema_extra=max_length(1_000))
    error: str = Field(
        description="the factual error in the claim; None if it has none", json_schema_extra=max_length(400)
    )
    corrected_claim: str = Field(
        description="the claim without its error; None if it has none", json_schema_extra=max_length(400)
    )
    factuality: bool = Field(description="true if the claim is factual, false if not")

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: "None" if value is None and name != "factuality" else value for name, value in data.items()}


class SelfCheck(ClaimPrompt, Task[SelfChecked]):
    """Whether a claim is factual, from what the model knows (FacTool's baseline Self-Check)."""

    claim: Claim
    demonstrations: str = ""

    instructions: ClassVar[str] = lines(
        "You are given a claim. Find out whether it contains a factual error, from what you know.",
        "Reason about it step by step before you decide.",
    )
    output_format: ClassVar[str] = lines(
        "Reply with one JSON object of these four keys and with nothing else; begin with {.",
        '{"reasoning": "is the claim factual? think step by step",'
        ' "error": "None if the claim is factual, else its error",'
        ' "corrected_claim": "None if the claim is factual, else the claim put right",'
        ' "factuality": true if the claim is factual, else false}',
    )

    @property
    def worked_examples(self) -> str:
        return f"Examples:\n{self.demonstrations}\n(end of the examples)" if self.demonstrations else ""

    @property
    def layout(self) -> Layout:
        if self.demonstrations:
            return "instructions", "output_format", "worked_examples", "input_text"
        return FORMAT_LAST


class AnswerZeroShot(AnswerClosedBook):
    """The label alone."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    @property
    def output_format(self) -> str:
        if self.claim.labels.free_text:
            return "Reply with your answer and nothing else."
        return lines(*self._rules("output"), f"Reply with one of {self._every()} and nothing else.")


class AnswerStepByStep(AnswerClosedBook):
    """Reasons step by step, then the label."""

    @property
    def instructions(self) -> str:
        return lines("Say whether the claim is correct. Think step by step before you answer.", self._must())


class ReasonStepByStep(AnswerStepByStep):
    """The reasoning alone: the first of two questions."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning",)

    @property
    def instructions(self) -> str:
        if self.profile == "hardened":
            return super().instructions
        return lines("Is the claim correct?", None if self.claim.labels.free_text else f"Answers: {self._every()}.")

    @property
    def layout(self) -> Layout:
        return FORMAT_LAST if self.profile == "paper" else super().layout

    @property
    def output_format(self) -> str:
        if self.profile == "paper":
            return "Let's think step by step."
        choice = "" if self.claim.labels.free_text else f" The answer will be one of {self._every()}."
        return f"Write your reasoning.{choice}"


class AnswerFromReasoning(AnswerZeroShot):
    """The answer after the reasoning: the second question, in the same chat."""

    reasoning: Exchange

    instructions: ClassVar[str] = ""
    hardened_rules: ClassVar[str] = "Say whether the claim is correct, as your reasoning has it."

    def input_text(self) -> str:
        if self.profile == "hardened":
            return "Therefore, what is the answer?"
        choice = "" if self.claim.labels.free_text else f" ({self._every()})"
        return f"Therefore, the answer{choice} is"

    def chat_history(self) -> tuple[Exchange, ...]:
        return (self.reasoning,)
