"""MAD: two sides answer tit for tat before a moderator, who may end the debate; otherwise a judge decides.

Liang et al., "Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate" (arXiv 2305.19118),
with the prompts' structure of its program for free topics. The topic is the claim with the question for its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field

from redargue.claims import Claim
from redargue.events import Judged, Spoke
from redargue.methods.base import SearchSettings
from redargue.methods.baselines.evidence_pool import EvidencePool
from redargue.methods.baselines.mad import tasks
from redargue.methods.setting_types import Word
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Exchange
from redargue.verdicts import Verdict

AFFIRMATIVE, NEGATIVE, MODERATOR, JUDGE = "affirmative", "negative", "moderator", "judge"


class MadSettings(SearchSettings):
    """Settings of ``mad``."""

    # each is searched once, and all speakers see the results; without tools nobody has evidence, as published
    tools: tuple[Word, ...] = Field(default=("corpus",), max_length=8)
    max_rounds: int = Field(default=3, ge=1, le=10)  # after which a judge decides
    judged: Literal["first", "last"] = "first"  # the judge sees the sides' first answers, or their last
    temperature: float = Field(default=0.0, ge=0, le=2)


class Mad(EvidencePool, name="mad", settings=MadSettings):
    """Two sides tit for tat before a moderator, then a judge (2305.19118).

    It needs a language model: with the small models it would be one reader's answer.
    """

    profiles = {"paper": {"profile": "paper", "tools": ()}, "hardened": {}}
    paper = (
        "Liang et al., Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate, 2024,"
        " arXiv 2305.19118"
    )
    graph = "(affirmative -> negative -> moderator) x1-3 -> judge lists candidates -> judge decides"

    settings: MadSettings

    async def check(self, claim: Claim) -> Verdict:
        self.turn, self.ruling, self.listing, self.deciding = self.asks_for(self.settings)
        self.chats: dict[str, tuple[Exchange, ...]] = {}
        self.labels: list[tuple[str | None, ...]] = []
        await self.fill_pool(self.settings.top_k)
        first: dict[str, str] = {}
        answers = {AFFIRMATIVE: "", NEGATIVE: ""}
        for round_ in range(1, self.settings.max_rounds + 1):
            self.labels.append(())
            answers[AFFIRMATIVE] = await self.take_turn(AFFIRMATIVE, round_, answers[NEGATIVE])
            answers[NEGATIVE] = await self.take_turn(NEGATIVE, round_, answers[AFFIRMATIVE])
            first = first or dict(answers)
            ruling = await self.moderate(round_, answers)
            if ruling.debate_answer:
                return self.conclude(MODERATOR, ruling.debate_answer, ruling.reason)
        return await self.judge(first if self.settings.judged == "first" else answers)

    async def take_turn(self, side: str, round_: int, opponent: str) -> str:
        """A side's answer; its label is reported and does not affect the debate."""
        answer: Answer = await self.ask(side, self.turn, round_, opponent=opponent)
        self.answered(side, answer, round_=round_, passages=self.passages)
        self.labels[-1] += (answer.label,)
        return answer.text

    async def moderate(self, round_: int, answers: Mapping[str, str]) -> tasks.Ruling:
        ruling: tasks.Ruling = await self.ask(MODERATOR, self.ruling, round_, number=round_, **answers)
        self.run.emit(Spoke(agent=MODERATOR, round=round_, text=ruling.reason))
        why = f"the moderator answers {ruling.debate_answer}" if ruling.debate_answer else "the moderator continues"
        self.end_round(round_, self.labels[-1], accepted=bool(ruling.debate_answer), why=why)
        return ruling

    async def judge(self, answers: Mapping[str, str]) -> Verdict:
        """The judge lists candidates, then chooses one of them, in one chat."""
        await self.ask(JUDGE, self.listing, **answers)
        decision: tasks.Decision = await self.ask(JUDGE, self.deciding)
        label = decision.debate_answer or None  # MAD-4
        self.run.emit(Judged(text=decision.reason, label=label))
        return self.conclude(JUDGE, label, decision.reason)

    async def ask(self, agent: str, kind: Callable[..., AnyTask], round_: int = 0, /, **fields: Any) -> Any:
        """Keeps the question and the verbatim reply in the speaker's chat."""
        chat = self.chats.get(agent, ())
        evidence = {"passages": self.passages} if self.settings.tools else {}
        task = kind(claim=self.claim, before=chat, profile=self.settings.profile, **evidence, **fields)
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
            return (
                tasks.DebateTurnOnEvidence,
                tasks.ModerateRoundOnEvidence,
                tasks.ListCandidatesOnEvidence,
                tasks.DecideDebateOnEvidence,
            )
        return (tasks.DebateTurn, tasks.ModerateRound, tasks.ListCandidates, tasks.DecideDebate)
