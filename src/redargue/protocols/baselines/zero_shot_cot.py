"""Zero-shot chain of thought: the model reasons step by step before it answers; nothing is searched.

Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022, arXiv 2205.11916), over claims. The paper asks
twice: for the reasoning, and, in the same text with the reasoning before it, for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.protocols.base import Behaviour, methods
from redargue.protocols.baselines.zero_shot import AnswerZeroShot, ClosedBookSettings, ZeroShot
from redargue.tasks.answering import Answer, Piece
from redargue.tasks.base import AnyTask, Exchange, lines
from redargue.tasks.knowing import AnswerClosedBook


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


class ZeroShotCotSettings(ClosedBookSettings):
    """Settings of ``zero-shot-cot``.

    Attributes:
        extraction: the reasoning and the answer are two questions, as in the paper (§3); else one reply holds both.
    """

    extraction: bool = False


@methods.register("zero-shot-cot")
class ZeroShotCot(ZeroShot):
    """Reasons, then answers.

    The embedded backend cannot play it: it generates no reasoning and knows nothing by itself.
    """

    name: ClassVar[str] = "zero-shot-cot"
    about: ClassVar[str] = "the model's own answer after reasoning step by step; nothing searched (2205.11916)"
    options: ClassVar[type[Frozen]] = ZeroShotCotSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "label_reading": "first_said", "extraction": True},
        "hardened": {},
    }
    graph: ClassVar[str] = "reasoning -> answer"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="COT-1",
            original="two calls: the reasoning, then the answer, which sees the reasoning",
            effect="twice the calls; the answer cannot be taken from the middle of the reasoning",
            here="one call, the reasoning before the label",
            setting="extraction=true",
        ),
        Behaviour(
            id="COT-2",
            original="the first answer that the second reply names is taken; a reply that names none counts as wrong",
            effect="as ZERO-1 and ZERO-2 of zero-shot",
            here="the label on the last line; asked for once more, then no label (of one call the first would be in the"
            " reasoning)",
            setting="label_reading=first_said",
        ),
    )
    asked: ClassVar[type[AnswerClosedBook]] = AnswerStepByStep
    settings: ZeroShotCotSettings

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One answer, or the reasoning and the answer."""
        return (ReasonStepByStep, AnswerFromReasoning) if self.settings.extraction else (AnswerStepByStep,)

    async def _answer(self, claim: Claim, agent: Agent) -> Answer:
        if not self.settings.extraction:
            return await super()._answer(claim, agent)
        given = self.settings.model_dump(include={"profile", "must_answer", "label_reading"})
        temperature = self.settings.temperature
        question = ReasonStepByStep(claim=claim, **given)
        (reasons,) = await agent.ask(question, round_=1, temperature=temperature)
        last = AnswerFromReasoning(claim=claim, reasoning=question.exchange(reasons.text), **given)
        answer = await agent.perform(last, round_=1, temperature=temperature)
        return answer.model_copy(update={"text": f"{reasons.answer.text}\n{answer.text}"})
