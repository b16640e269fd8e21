"""The prompts of methods that ask a model what it knows."""

from __future__ import annotations

from typing import ClassVar

from redargue.tasks.answer import Piece
from redargue.tasks.base import Exchange, lines
from redargue.tasks.knowing import AnswerClosedBook


class AnswerZeroShot(AnswerClosedBook):
    """The label alone."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    def output_format(self) -> str:
        """The labels, and nothing else."""
        if self.claim.labels.free_text:
            return "Reply with your answer and nothing else."
        return lines(*self._rules("output"), f"Reply with one of {self._every()} and nothing else.")


class AnswerStepByStep(AnswerClosedBook):
    """Reasons step by step, then the label."""

    def _asked(self) -> str:
        return lines("Say whether the claim is correct. Think step by step before you answer.", self._must())


class ReasonStepByStep(AnswerStepByStep):
    """The reasoning alone: the first of two questions."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning",)

    def output_format(self) -> str:
        """What the question is, and where the reply begins."""
        choice = "" if self.claim.labels.free_text else f" The answer will be one of {self._every()}."
        return f"Write your reasoning.{choice}"


class AnswerFromReasoning(AnswerZeroShot):
    """The answer after the reasoning: the second question, in the same chat.

    Attributes:
        reasoning: the first question with its reply.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels")

    reasoning: Exchange

    def instructions(self) -> str:
        return ""

    def hardened_rules(self) -> str:
        return "Say whether the claim is correct, as your reasoning has it."

    def input_text(self) -> str:
        """The claim and the reasoning stand in the chat already."""
        return "Therefore, what is the answer?"

    def template_vars(self) -> dict[str, str]:
        """The claim and its labels."""
        return {"claim": super().input_text().removeprefix("Claim: "), "labels": self._every()}

    def chat_history(self) -> tuple[Exchange, ...]:
        """The reasoning."""
        return (self.reasoning,)
