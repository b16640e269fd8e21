"""The prompts of methods that ask a model what it knows (closed-book)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.tasks.answer import LabelledTask, Piece
from redargue.tasks.base import Exchange, Task, text_field
from redargue.tasks.documents import claim_section

WHEN = {
    Meaning.SUPPORTED: "If the claim is correct",
    Meaning.REFUTED: "If the claim is incorrect",
    Meaning.NOT_ENOUGH: "If nothing you know settles the claim",
    Meaning.CONFLICTING: "If what you know contradicts itself, or the claim leaves out what matters",
    Meaning.OPTION: "If this option is right",
}


_DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.OPTION)


class AnswerClosedBook(LabelledTask):
    """``single-reader``'s question without documents: reasons first, the label last."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before_label: ClassVar[str] = "first explain why, then output"  # after a label's condition

    must_answer: bool = False  # offers only labels that decide the claim (FIRE's last prompt accepts nothing else)

    def template_vars(self) -> Mapping[str, object]:
        when = ((WHEN[self.claim.labels.meaning(name)], name) for name in self._names())
        return {
            "claim": claim_section(self.claim, self.profile),
            "labels": ", ".join(f"**{name}**" for name in self._names()),
            "label_rules": "\n".join(f"{condition}, {self.before_label} **{name}**." for condition, name in when),
            "free_text": self.claim.labels.free_text,
            "must_answer": self.must_answer,
        }

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
        decided = tuple(label.name for label in labels if label.meaning in _DECIDED)
        return decided if self.must_answer and decided else self.claim.labels.names


class SelfChecked(Frozen):
    """FacTool's verdict without evidence."""

    reasoning: str = text_field("your reasoning, step by step", 1_000)
    error: str = text_field("the factual error in the claim; None if it has none", 400)
    corrected_claim: str = text_field("the claim without its error; None if it has none", 400)
    factuality: bool = Field(description="true if the claim is factual, false if not")

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: "None" if value is None and name != "factuality" else value for name, value in data.items()}


class SelfCheck(Task[SelfChecked]):
    """Whether a claim is factual, from what the model knows (FacTool's baseline Self-Check)."""

    claim: Claim
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim, self.profile), "demonstrations": self.demonstrations}


class AnswerZeroShot(AnswerClosedBook):
    """The label alone."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    before_label: ClassVar[str] = "output"


class AnswerStepByStep(AnswerClosedBook):
    """Reasons step by step, then the label."""


class ReasonStepByStep(AnswerStepByStep):
    """The reasoning alone: the first of two questions."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning",)


class AnswerFromReasoning(AnswerZeroShot):
    """The answer after the reasoning: the second question, in the same chat."""

    reasoning: Exchange

    def chat_history(self) -> tuple[Exchange, ...]:
        return (self.reasoning,)
