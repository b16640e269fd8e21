"""CFMAD: two preset stances, each argued for, criticised and defended; one judge hears both threads.

Fang et al., "Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs" (arXiv 2406.11514).
For a question with options, the first stance is a plain answer and the second another option at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import UsageError
from redargue.events import Judged, Spoke
from redargue.evidence import Passage
from redargue.methods.base import Roles, SearchSettings
from redargue.methods.baselines.evidence_pool import SEARCHER, EvidencePool, label_question
from redargue.tasks.answer import AnswerClaim, Argument, LabelledTask
from redargue.tasks.base import Task, lines
from redargue.tasks.documents import claim_section, documents
from redargue.tasks.labels import label_definitions, subject_vars
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


def _stance_vars(claim: Claim, stance: str) -> dict[str, object]:
    """A stance as an option, or as whether the claim is true."""
    meaning = claim.labels.meaning(stance)
    truth = "true" if meaning is Meaning.SUPPORTED else "false"
    return {"stance": stance, "option": meaning is Meaning.OPTION, "truth": truth}


class _OfAStance(Frozen):
    claim: Claim
    stance: str
    passages: tuple[Passage, ...] = ()


class _Speaker:
    """What the speakers' tasks share; a plain class without fields, so it goes first."""

    def template_vars(self: Any) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile),
            **_stance_vars(self.claim, self.stance),
        }

    def parse_plain(self, text: str) -> Argument | None:
        plain = text.strip()
        return Argument(text=plain) if plain and not plain.startswith("{") else None


class ArgueStance(_Speaker, Task[Argument], _OfAStance):
    """Why the preset stance is right."""


class CriticiseStance(_Speaker, Task[Argument], _OfAStance):
    """Why the argument for a stance may be wrong."""

    argument: str

    def template_vars(self) -> Mapping[str, object]:
        opposite = {Meaning.SUPPORTED: "false", Meaning.REFUTED: "true"}
        return {
            **super().template_vars(),
            "argument": wrap_untrusted(self.argument),
            "opposite": opposite.get(self.claim.labels.meaning(self.stance), ""),
        }


class RebutCritic(_Speaker, Task[Argument], _OfAStance):
    """The defence of a stance against its critic."""

    argument: str
    criticism: str
    asked: str  # the label that the first question asked about; in the authors' program not always the stance

    def template_vars(self) -> Mapping[str, object]:
        return {
            **super().template_vars(),
            **_stance_vars(self.claim, self.asked),
            "argument": wrap_untrusted(self.argument),
            "criticism": wrap_untrusted(self.criticism),
        }


class Thread(Frozen):
    """What was said for a stance, against it, and in its defence."""

    stance: str
    argument: str
    criticism: str
    rebuttal: str


class JudgeStances(LabelledTask):
    """Which stance is right, after both threads."""

    passages: tuple[Passage, ...] = ()
    threads: tuple[Thread, ...] = ()

    @property
    def defines_labels(self) -> bool:
        """The question does, in both profiles."""
        return True

    def _threads(self) -> str:
        sides = {Meaning.SUPPORTED: "Positive side", Meaning.REFUTED: "Negative side"}
        meaning = self.claim.labels.meaning
        names = (sides.get(meaning(thread.stance), f"Option {thread.stance}") for thread in self.threads)
        return "\n".join(
            lines(
                f"{name}: {wrap_untrusted(thread.argument)}",
                f"Critic: {wrap_untrusted(thread.criticism)}",
                f"{name}: {wrap_untrusted(thread.rebuttal)}",
            )
            for name, thread in zip(names, self.threads, strict=True)
        )

    def template_vars(self) -> Mapping[str, object]:
        return {
            **subject_vars(self.claim.labels),
            "label_definitions": label_definitions(self.claim.labels),
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile),
            "label_question": label_question(self.claim.labels),
            "threads": self._threads(),
        }


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""


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
        AnswerOption,
        ArgueStance,
        CriticiseStance,
        RebutCritic,
        JudgeStances,
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
        task = AnswerOption(claim=self.claim, passages=self.passages, profile=self.settings.profile)
        answer = await self.agents[FIRST].perform(task, temperature=self.settings.temperature)
        self.answered(FIRST, answer, passages=self.passages)
        options = labels.names[: len(self.claim.options)]
        if answer.label not in options:
            return ()
        others = [name for name in options if name != answer.label]
        return answer.label, self.rng("cfmad", self.claim.text).choice(others)

    async def argue(self, side: str, stance: str) -> Thread:
        fields: dict[str, Any] = {
            "claim": self.claim,
            "stance": stance,
            "passages": self.passages,
            "profile": self.settings.profile,
        }
        opening = ArgueStance(**fields)
        argument = (await self.speak(side, opening, 1, stance)).text
        refuting = self.claim.labels.meaning(stance) is Meaning.REFUTED
        heard = opening.prompt_text() if refuting and self.settings.prompt_for_reply else argument
        asked = self.claim.labels.named(Meaning.SUPPORTED) if refuting and self.settings.asks_why_true else stance
        critic = CriticiseStance(**fields, argument=heard)
        criticism = (await self.speak(f"{side}-critic", critic, 2, None)).text
        task = RebutCritic(**fields, argument=heard, criticism=criticism, asked=asked or stance)
        rebuttal = (await self.speak(side, task, 3, stance)).text
        return Thread(stance=stance, argument=argument, criticism=criticism, rebuttal=rebuttal)

    async def speak(self, agent: str, task: Task[Argument], round_: int, stance: str | None) -> Argument:
        """Returns what a member says; its quotations are on the side of its stance, the critics' on neither side."""
        argument = await self.agents[agent].perform(task, round_=round_, temperature=self.settings.temperature)
        self.cite(argument.quotes, label=stance, agent=agent, passages=self.passages)
        self.run.emit(Spoke(agent=agent, round=round_, text=argument.text))
        return argument

    async def judge(self, threads: list[Thread]) -> Verdict:
        task = JudgeStances(
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
