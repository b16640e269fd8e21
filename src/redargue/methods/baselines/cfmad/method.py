"""CFMAD: two preset stances, each argued for, criticised and defended; one judge hears both threads.

Fang et al., "Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs" (arXiv 2406.11514).
For a question with options, the first stance is a plain answer and the second another option at random.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from redargue.claims import Claim, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import UsageError
from redargue.events import Judged, Spoke
from redargue.methods.base import Roles, SearchSettings
from redargue.methods.baselines.cfmad import tasks
from redargue.methods.baselines.evidence_pool import SEARCHER, EvidencePool
from redargue.tasks.argue import Argument
from redargue.tasks.base import Task
from redargue.verdicts import Verdict

_SIDES = ("positive", "negative")
FIRST, JUDGE = "first-reader", "judge"


class CfmadSettings(SearchSettings):
    """Settings of ``cfmad``; all agents see the same evidence, which in the paper belongs to the data set."""

    # the negative thread's critic and rebuttal see the first prompt instead of the reply to it (``CFMAD-1``)
    prompt_for_reply: bool = False
    # the negative thread's rebuttal opens with the question why the claim is true (``CFMAD-2``)
    asks_why_true: bool = False
    temperature: float = Field(default=0.0, ge=0, le=2)  # of all replies; later scripts of the authors use 0.2


class Cfmad(EvidencePool, name="cfmad", settings=CfmadSettings):
    """Two preset stances, each with a critic and a rebuttal, then one judge (2406.11514)."""

    profiles = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "prompt_for_reply": True, "asks_why_true": True},
        "hardened": {},
    }
    paper = (
        "Fang et al., Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs, 2025,"
        " arXiv 2406.11514"
    )
    graph = "search -> (stance -> critic -> rebuttal | stance -> critic -> rebuttal) -> judge"
    asks = (
        tasks.AnswerOption,
        tasks.ArgueStance,
        tasks.CriticiseStance,
        tasks.RebutCritic,
        tasks.JudgeStances,
    )

    settings: CfmadSettings

    async def check(self, claim: Claim) -> Verdict:
        self.require_stances()
        await self.fill_pool(self.settings.top_k)
        stances = await self.preset_stances()
        if not stances:
            return self.verdict(None, reason="No option was given as the first answer.", decided_by=JUDGE)
        threads = await gather_or_cancel(self.argue(side, stance) for side, stance in zip(_SIDES, stances, strict=True))
        return await self.judge(threads)

    def require_stances(self) -> None:
        """A UsageError where the label set has neither two sides nor options, or the claim fewer than two options."""
        if Meaning.OPTION not in {label.meaning for label in self.claim.labels.labels}:
            self.two_sides()
        elif len(self.claim.options) < 2:
            raise UsageError(
                f"a debate needs two options, and the claim has {len(self.claim.options)}",
                hint="give the texts of two or more",
            )

    async def preset_stances(self) -> tuple[str, ...]:
        """Correct and incorrect; for options the plain answer and another one, drawn with the run's seed."""
        labels = self.claim.labels
        supported, refuted = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
        if supported and refuted:
            return supported, refuted
        task = tasks.AnswerOption(claim=self.claim, passages=self.passages, profile=self.settings.profile)
        answer = await self.agents[FIRST].perform(task, temperature=self.settings.temperature)
        self.answered(FIRST, answer, passages=self.passages)
        options = labels.names[: len(self.claim.options)]
        if answer.label not in options:
            return ()
        others = [name for name in options if name != answer.label]
        return answer.label, self.rng("cfmad", self.claim.text).choice(others)

    async def argue(self, side: str, stance: str) -> tasks.Thread:
        fields: dict[str, Any] = {
            "claim": self.claim,
            "stance": stance,
            "passages": self.passages,
            "profile": self.settings.profile,
        }
        opening = tasks.ArgueStance(**fields)
        argument = (await self.speak(side, opening, 1, stance)).text
        refuting = self.claim.labels.meaning(stance) is Meaning.REFUTED
        heard = opening.prompt_text() if refuting and self.settings.prompt_for_reply else argument
        asked = self.claim.labels.named(Meaning.SUPPORTED) if refuting and self.settings.asks_why_true else stance
        critic = tasks.CriticiseStance(**fields, argument=heard)
        criticism = (await self.speak(f"{side}-critic", critic, 2, None)).text
        task = tasks.RebutCritic(**fields, argument=heard, criticism=criticism, asked=asked or stance)
        rebuttal = (await self.speak(side, task, 3, stance)).text
        return tasks.Thread(stance=stance, argument=argument, criticism=criticism, rebuttal=rebuttal)

    async def speak(self, agent: str, task: Task[Argument], round_: int, stance: str | None) -> Argument:
        """Returns what a member says; its quotations are on the side of its stance, the critics' on neither side."""
        argument = await self.agents[agent].perform(task, round_=round_, temperature=self.settings.temperature)
        self.cite(argument.quotes, label=stance, agent=agent, passages=self.passages)
        self.run.emit(Spoke(agent=agent, round=round_, text=argument.text))
        return argument

    async def judge(self, threads: list[tasks.Thread]) -> Verdict:
        task = tasks.JudgeStances(
            claim=self.claim, passages=self.passages, threads=tuple(threads), profile=self.settings.profile
        )
        answer = await self.agents[JUDGE].perform(task, temperature=self.settings.temperature)
        self.cite(answer.quotes, label=answer.label, agent=JUDGE, passages=self.passages)
        self.run.emit(Judged(text=answer.text, label=answer.label))
        return self.verdict(answer.label, reason=answer.text, decided_by=JUDGE, rounds=3)

    @classmethod
    def roles_for(cls, settings: CfmadSettings) -> Roles:
        threads = [name for side in _SIDES for name in (side, f"{side}-critic")]
        return {SEARCHER: settings.tools} | dict.fromkeys([FIRST, *threads, JUDGE])
