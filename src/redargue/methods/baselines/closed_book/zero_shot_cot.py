"""Zero-shot chain of thought: the model reasons step by step before it answers; nothing is searched.

Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022, arXiv 2205.11916), over claims. The paper asks
twice: for the reasoning, then for the answer with the reasoning before it.
"""

from __future__ import annotations

from redargue.methods.agent import Agent
from redargue.methods.baselines.closed_book.tasks import AnswerFromReasoning, AnswerStepByStep, ReasonStepByStep
from redargue.methods.baselines.factuality import ClosedBook, ClosedBookSettings
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask


class ZeroShotCotSettings(ClosedBookSettings):
    """Settings of ``zero-shot-cot``."""

    # asks for the reasoning and the answer in two questions, as in the paper (§3); else one reply holds both
    extraction: bool = False


class ZeroShotCot(ClosedBook, name="zero-shot-cot", settings=ZeroShotCotSettings):
    """The model's own answer after reasoning step by step; nothing searched (2205.11916)."""

    profiles = {
        "paper": {"profile": "paper", "label_reading": "first_said", "extraction": True},
        "hardened": {},
    }
    paper = "Kojima, Gu, Reid, Matsuo, Iwasawa: Large Language Models are Zero-Shot Reasoners, 2022, arXiv 2205.11916"
    graph = "reasoning -> answer"

    async def answer(self, knower: Agent) -> Answer:
        if not self.settings.extraction:
            return await super().answer(knower)
        question = self.task(ReasonStepByStep, **self.reading())
        (reasons,) = await knower.ask(question, round_=1, temperature=self.settings.temperature)
        before = question.exchange(reasons.text)
        answer = await self.ask(knower, AnswerFromReasoning, round_=1, reasoning=before, **self.reading())
        return answer.model_copy(update={"text": f"{reasons.answer.text}\n{answer.text}"})

    @classmethod
    def asks_for(cls, settings: ZeroShotCotSettings) -> tuple[type[AnyTask], ...]:
        return (ReasonStepByStep, AnswerFromReasoning) if settings.extraction else (AnswerStepByStep,)
