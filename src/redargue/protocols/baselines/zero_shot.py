"""Zero-shot: the claim and its labels, and the label alone in reply.

The baseline of Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022, arXiv 2205.11916), over claims;
what published tables show as a model's own row. Nothing is searched, and nothing is reasoned before the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.errors import BadReply
from redargue.events import Answered
from redargue.protocols.base import Behaviour, Plan, methods
from redargue.run import Run
from redargue.tasks.answering import Answer, LabelReading, Piece
from redargue.tasks.base import AnyTask, Profile, lines
from redargue.tasks.knowing import AnswerClosedBook
from redargue.verdicts import Verdict

KNOWER = "knower"


class AnswerZeroShot(AnswerClosedBook):
    """The label alone."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    def output_format(self) -> str:
        """The labels, and nothing else."""
        if self.claim.labels.free_text:
            return "Reply with your answer and nothing else."
        return lines(*self._rules("output"), f"Reply with one of {self._every()} and nothing else.")


class ClosedBookSettings(Frozen):
    """Settings of a method that asks a model what it knows.

    Attributes:
        profile: ``paper`` or ``hardened``.
        must_answer: only labels that decide the claim are offered.
        label_reading: of a reply in plain text: the label on the last line, or the one that is named first.
        temperature: of sampling.
    """

    profile: Profile = "hardened"
    must_answer: bool = False
    label_reading: LabelReading = "last_line"
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("zero-shot")
class ZeroShot:
    """One question, one label.

    The embedded backend cannot play it: it reads documents and knows nothing by itself.
    """

    name: ClassVar[str] = "zero-shot"
    about: ClassVar[str] = "the model's own answer: the label alone, nothing searched, nothing reasoned (2205.11916)"
    options: ClassVar[type[Frozen]] = ClosedBookSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "label_reading": "first_said"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Kojima, Gu, Reid, Matsuo, Iwasawa: Large Language Models are Zero-Shot Reasoners, 2022, arXiv 2205.11916"
    )
    graph: ClassVar[str] = "answer"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="ZERO-1",
            original="the first answer that a reply names is taken, whatever the reply says of it",
            effect="a reply that weighs a label before it gives another is misread",
            here="the label on the last line; in JSON the label has a field of its own",
            setting="label_reading=first_said",
        ),
        Behaviour(
            id="ZERO-2",
            original="a reply that names no answer is an empty answer, and is not asked for again",
            effect="counted wrong",
            here="asked for once more, then no label, which counts as the table's rule for non-answers says",
            setting="label_reading=first_said",
        ),
    )
    asked: ClassVar[type[AnswerClosedBook]] = AnswerZeroShot

    def __init__(self, settings: ClosedBookSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """None: nothing is searched."""
        return ()

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One answer."""
        return (self.asked,)

    def agents(self) -> tuple[str, ...]:
        """Who knows."""
        return (KNOWER,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        asked = [task.name() for task in self.tasks()]
        plan = Plan(calls=dict.fromkeys(asked, 1), searches={}, call_depth=len(asked), search_depth=0)
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Asks; a reply without a label that can be read is no label."""
        try:
            answer = await self._answer(claim, Agent(KNOWER, run))
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        run.emit(Answered(agent=KNOWER, round=1, text=answer.text, label=answer.label))
        return Verdict(claim=claim, label=answer.label, decided_by="reader", rounds=1, reason=answer.text)

    async def _answer(self, claim: Claim, agent: Agent) -> Answer:
        return await agent.perform(self.task(claim), round_=1, temperature=self.settings.temperature)

    def task(self, claim: Claim, **more: Any) -> AnswerClosedBook:
        """What is asked of a claim."""
        given = self.settings.model_dump(include={"profile", "must_answer", "label_reading"})
        return self.asked(claim=claim, **given, **more)
