"""MAD: two sides answer tit for tat before a moderator, who may end the debate; otherwise a judge decides.

Liang et al., "Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate" (arXiv 2305.19118),
with the prompts' structure of its program for free topics. The topic is the claim with the question for its labels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.events import Judged, Spoke
from redargue.methods.baselines.evidence_pool import DebatePrompt, EvidencePool, OnEvidence, PoolSettings, stated_label
from redargue.tasks.answer import Answer, LabelledTask, Piece
from redargue.tasks.base import AnyTask, Exchange, Out, Task, list_bounds, text_field
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

# Each speaker has its own chat: its questions and replies are sent again, word for word. As
# published nobody has evidence; the tasks ``…OnEvidence`` show the same passages to all.

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class _Debated(Frozen):
    claim: Claim
    before: tuple[Exchange, ...] = ()


class DebateTurn(DebatePrompt, LabelledTask, _Debated):
    """What a side says: its first answer, the negative side's objection, or whether it agrees by now."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    opponent: str = ""

    @property
    def lenient(self) -> bool:
        return True

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def template_vars(self) -> Mapping[str, object]:
        return {**self.topic_vars(), "before": bool(self.before), "opponent": wrap_untrusted(self.opponent)}


class DebateTurnOnEvidence(OnEvidence, DebateTurn):
    """What a side says that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")


class _PaperKeys(Frozen):
    @model_validator(mode="before")
    @classmethod
    def _as_fields(cls, data: Any) -> Any:
        """The paper's keys as fields: ``Whether there is a preference`` is ``preference``."""
        if not isinstance(data, dict):
            return data
        names = {re.sub(r"\W+", "_", str(name).strip().lower()): value for name, value in data.items()}
        if "whether_there_is_a_preference" in names:
            names["preference"] = names.pop("whether_there_is_a_preference")
        return names


class Decision(_PaperKeys):
    """A judge's decision."""

    reason: str = text_field("why, in short", 1_000)
    debate_answer: str = Field(description="the answer that is correct")


class Ruling(_PaperKeys):
    """A moderator's ruling; an answer ends the debate."""

    preference: bool = Field(description="whether there is a clear preference for an answer")
    supported_side: Literal["affirmative", "negative", ""] = Field(description="the side that you support, if any")
    reason: str = text_field("why, in short", 1_000)
    debate_answer: str = Field(description="the correct answer, which ends the debate; empty if it is to go on")

    @field_validator("supported_side", mode="before")
    @classmethod
    def _a_side_or_none(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        side = value.strip().lower().removesuffix(" side")
        return "" if side in ("none", "neither", "n/a") else side


class _ModeratorTask(DebatePrompt, Task[Out], _Debated, Generic[Out]):
    """A question to the moderator, who is the judge in the end."""

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def template_vars(self) -> Mapping[str, object]:
        return {**self.topic_vars(), "before": bool(self.before)}


_Decided = TypeVar("_Decided", Decision, Ruling)


class _DecidingTask(_ModeratorTask[_Decided], Generic[_Decided]):
    """A question whose answer may be a label."""

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        return {} if self.claim.labels.free_text else {"debate_answer": (*self.claim.labels.names, "")}

    def validate_answer(self, answer: _Decided) -> _Decided:
        text = answer.debate_answer.strip()
        return answer.model_copy(update={"debate_answer": text and stated_label(text, self.claim.labels)})


def _sides(affirmative: str, negative: str) -> dict[str, str]:
    return {"affirmative": wrap_untrusted(affirmative), "negative": wrap_untrusted(negative)}


class ModerateRound(_DecidingTask[Ruling]):
    """The moderator's ruling at the end of a round."""

    number: int = Field(ge=1, le=10)
    affirmative: str
    negative: str

    def template_vars(self) -> Mapping[str, object]:
        sides = _sides(self.affirmative, self.negative)
        return {**super().template_vars(), **sides, "round": ORDINALS[self.number - 1]}


class ModerateRoundOnEvidence(OnEvidence, ModerateRound):
    """The ruling of a moderator who sees evidence."""


class Candidates(Frozen):
    """The answers that are in question."""

    candidates: tuple[str, ...] = Field(description="each answer in question", json_schema_extra=list_bounds(6, 300))


class ListCandidates(_ModeratorTask[Candidates]):
    """The judge's first step: which answers there are."""

    affirmative: str
    negative: str

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), **_sides(self.affirmative, self.negative)}

    def parse_plain(self, text: str) -> Candidates | None:
        candidates = tuple(line.strip() for line in text.splitlines() if line.strip())
        return Candidates(candidates=candidates) if candidates and not text.lstrip().startswith("{") else None


class ListCandidatesOnEvidence(OnEvidence, ListCandidates):
    """The first step of a judge who sees evidence."""


class DecideDebate(_DecidingTask[Decision]):
    """The judge's second step, in the same chat: one of the candidates."""


class DecideDebateOnEvidence(OnEvidence, DecideDebate):
    """The second step of a judge who sees evidence."""


AFFIRMATIVE, NEGATIVE, MODERATOR, JUDGE = "affirmative", "negative", "moderator", "judge"


class MadSettings(PoolSettings):
    """Settings of ``mad``."""

    max_rounds: int = Field(default=3, ge=1, le=10)  # after which a judge decides
    judged: Literal["first", "last"] = "first"  # the judge sees the sides' first answers, or their last
    temperature: float = Field(default=0.0, ge=0, le=2)


class Mad(EvidencePool, name="mad", settings=MadSettings):
    """Two sides tit for tat before a moderator, then a judge (2305.19118).

    It needs a language model: with the small models it would be one reader's answer.
    """

    profiles = {"paper": {"tools": ()}, "hardened": {}}
    paper = (
        "Liang et al., Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate, 2024,"
        " arXiv 2305.19118"
    )
    graph = "(affirmative -> negative -> moderator) x1-3 -> judge lists candidates -> judge decides"

    settings: MadSettings

    async def check(self, claim: Claim) -> Verdict:
        self.turn, self.ruling, self.listing, self.deciding = self.asks_for(self.settings)
        self.chats: dict[str, tuple[Exchange, ...]] = {}
        await self.fill_pool(self.settings.top_k)
        first: dict[str, str] = {}
        answers = {AFFIRMATIVE: "", NEGATIVE: ""}
        for round_ in range(1, self.settings.max_rounds + 1):
            affirmative = await self.take_turn(AFFIRMATIVE, round_, answers[NEGATIVE])
            negative = await self.take_turn(NEGATIVE, round_, affirmative.text)
            answers = {AFFIRMATIVE: affirmative.text, NEGATIVE: negative.text}
            first = first or answers
            ruling = await self.moderate(round_, answers, (affirmative.label, negative.label))
            if ruling.debate_answer:
                return self.conclude(MODERATOR, ruling.debate_answer, ruling.reason)
        return await self.judge(first if self.settings.judged == "first" else answers)

    async def take_turn(self, side: str, round_: int, opponent: str) -> Answer:
        """A side's answer; its label is reported and does not affect the debate."""
        answer: Answer = await self.reply(side, self.turn, round_, opponent=opponent)
        self.answered(side, answer, round_=round_, passages=self.passages)
        return answer

    async def moderate(self, round_: int, answers: Mapping[str, str], labels: tuple[str | None, ...]) -> Ruling:
        ruling: Ruling = await self.reply(MODERATOR, self.ruling, round_, number=round_, **answers)
        self.run.emit(Spoke(agent=MODERATOR, round=round_, text=ruling.reason))
        why = f"the moderator answers {ruling.debate_answer}" if ruling.debate_answer else "the moderator continues"
        self.end_round(round_, labels, accepted=bool(ruling.debate_answer), why=why)
        return ruling

    async def judge(self, answers: Mapping[str, str]) -> Verdict:
        """The judge lists candidates, then chooses one of them, in one chat."""
        await self.reply(JUDGE, self.listing, **answers)
        decision: Decision = await self.reply(JUDGE, self.deciding)
        label = decision.debate_answer or None  # MAD-4
        self.run.emit(Judged(text=decision.reason, label=label))
        return self.conclude(JUDGE, label, decision.reason)

    async def reply(self, agent: str, kind: type[AnyTask], round_: int = 0, /, **fields: Any) -> Any:
        """A speaker's answer; the question and the verbatim reply are kept in its chat."""
        chat = self.chats.get(agent, ())
        task = self.task(kind, before=chat, **self.seen, **fields)
        (output,) = await self.agents[agent].ask(task, round_=round_, temperature=self.settings.temperature)
        self.chats[agent] = (*chat, task.exchange(output.text))
        return output.answer

    def conclude(self, decided_by: str, label: str | None, reason: str) -> Verdict:
        return self.verdict(
            label, reason=reason, decided_by=decided_by, rounds=len(self.labels), round_labels=self.labels
        )

    @classmethod
    def debaters_for(cls, settings: Any) -> tuple[str, ...]:
        return (AFFIRMATIVE, NEGATIVE, MODERATOR, JUDGE)

    @classmethod
    def asks_for(cls, settings: MadSettings) -> tuple[type[AnyTask], ...]:
        if settings.tools:
            return DebateTurnOnEvidence, ModerateRoundOnEvidence, ListCandidatesOnEvidence, DecideDebateOnEvidence
        return DebateTurn, ModerateRound, ListCandidates, DecideDebate
