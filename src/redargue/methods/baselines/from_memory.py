"""Methods that answer from what the model knows, without evidence."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.base import Method, MethodSettings
from redargue.tasks.answer import Answer, LabelReading
from redargue.tasks.base import Task
from redargue.verdicts import Verdict


class ClosedBookSettings(MethodSettings):
    """Settings of a method that relies on what the model knows."""

    must_answer: bool = False  # offers only labels that decide the claim
    # which label of a plain reply counts: the one on the last line, or the first one
    label_reading: LabelReading = "last_line"
    temperature: float = Field(default=0.0, ge=0, le=2)


class ClosedBook(Method):
    """One answer from what the model knows; a reply without a label that can be read gives no label."""

    roles = {"knower": None}

    async def check(self, claim: Claim) -> Verdict:
        (agent,) = self.agents.values()
        try:
            answer = await self.answer(agent)
        except BadReply as error:
            answer = Answer(text=error.raw, label=self.unread_label())
        self.answered(agent.name, answer.model_copy(update={"quotes": ()}), round_=1)
        return self.verdict(answer.label, reason=answer.text, decided_by="reader", rounds=1)

    async def answer(self, agent: Agent) -> Answer:
        (task_class,) = self.asks_for(self.settings)
        task: Task[Answer] = task_class(**self.shared_fields())
        return await agent.perform(task, round_=1, temperature=self.settings.temperature)

    def unread_label(self) -> str | None:
        return None

    def shared_fields(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "must_answer": self.settings.must_answer,
            "label_reading": self.settings.label_reading,
            "profile": self.settings.profile,
        }
