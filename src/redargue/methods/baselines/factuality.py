"""The last step of FacTool and Factcheck-GPT: a verifier rates the claim against the evidence and names the error.

Methods that answer from what the model knows, without evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Method, MethodSettings
from redargue.tasks.answer import Answer, LabelReading, Quotations, quotes_field
from redargue.tasks.base import Task, text_field
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.sections import claim_section, documents
from redargue.verdicts import Verdict


def plain_texts(texts: tuple[str, ...], most: int) -> tuple[str, ...]:
    """At most ``most`` distinct queries or questions, without line breaks; a ValueError where there is none."""
    plain = dict.fromkeys(line for text in texts if (line := " ".join(text.split())[:LONGEST_QUERY]))
    if not plain:
        raise ValueError("the list is empty")
    return tuple(plain)[:most]


class FactualityCheck(Frozen):
    """Whether a text is free of factual errors, under FacTool's keys."""

    reasoning: str = text_field("why the text is factual or not", 1_000)
    error: str = text_field("what is wrong in the text; None if nothing is", 400, default="")
    correction: str = text_field("the text without the error; None if there is none", 600, default="")
    quotes: Quotations = quotes_field("what you rely on, copied word for word")
    factuality: bool = Field(description="true if the text is factual, false if it contains an error")

    @field_validator("error", "correction", mode="before")
    @classmethod
    def _nothing(cls, value: object) -> object:
        return "" if value is None else value


class CheckFactuality(Task[FactualityCheck]):
    """Whether a claim holds a factual error, given evidence that may contradict itself."""

    claim: Claim
    passages: tuple[Passage, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return {"text": claim_section(self.claim, self.profile), "evidence": documents(self.passages, self.profile)}


VERIFIER = "verifier"


class FactualityMethod(Method):
    """A method that ends in a factuality check."""

    async def rate(self, verifier: Agent, passages: tuple[Passage, ...]) -> Answer:
        """The check's reasoning, with the error and the correction if there are any; or the reply as it is."""
        try:
            check = await self.ask(verifier, CheckFactuality, round_=1, passages=passages)
        except BadReply as error:
            return Answer(text=error.raw, label=await self.label_unread(verifier, passages))
        notes = {"Error": check.error, "Correction": check.correction}
        stated = (f"{name}: {text}" for name, text in notes.items() if text and text.strip(" .").lower() != "none")
        text = "\n".join([check.reasoning, *stated])
        return Answer(text=text, label=self.side_label(supported=check.factuality), quotes=check.quotes)

    async def label_unread(self, verifier: Agent, passages: tuple[Passage, ...]) -> str | None:
        """The label of a check that cannot be read."""
        return None

    def conclude(self, answer: Answer, passages: Sequence[Passage]) -> Verdict:
        self.answered(VERIFIER, answer, round_=1, passages=passages)
        return self.verdict_of(answer, decided_by=VERIFIER, rounds=1)


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
        return self.verdict_of(answer, decided_by=agent.name, rounds=1)

    async def answer(self, agent: Agent) -> Answer:
        (kind,) = self.asks_for(self.settings)
        answer: Answer = await self.ask(agent, kind, round_=1, **self.reading())
        return answer

    def unread_label(self) -> str | None:
        return None

    def reading(self) -> dict[str, object]:
        """Which labels a question offers, and how its reply is read."""
        return {"must_answer": self.settings.must_answer, "label_reading": self.settings.label_reading}
