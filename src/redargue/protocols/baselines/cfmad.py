"""CFMAD: two preset stances, each argued for, criticised and defended; one judge hears both threads.

Fang et al., "Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs" (arXiv 2406.11514).
Of a question with options, the first stance is a plain answer and the second another option by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import together
from redargue.errors import UsageError
from redargue.events import Judged, Spoke
from redargue.evidence import Passage, Quote, find_quote
from redargue.protocols.base import Behaviour, Plan, methods
from redargue.protocols.baselines.sharing import SEARCHER, chance, pool, tell
from redargue.protocols.quoting import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.arguing import Argument
from redargue.tasks.base import AnyTask, Profile, Task, lines
from redargue.tasks.preset import ArgueStance, CriticiseStance, JudgeStances, RebutCritic, Thread
from redargue.verdicts import Verdict

SIDES = ("positive", "negative")
FIRST = "first-reader"


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""

    def instructions(self) -> str:
        """To think first."""
        return lines("Think step by step.", super().instructions())


class CfmadSettings(Frozen):
    """Settings of ``cfmad``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once; the evidence is the same for all. In the paper it comes with the data set.
        top_k: documents a search.
        prompt_for_reply: the negative thread's critic and rebuttal are shown the first prompt in place of the reply to
            it (``CFMAD-1``).
        asks_why_true: the negative thread's rebuttal opens with the question why the claim is true (``CFMAD-2``).
        temperature: of all replies; later scripts of the authors have 0.2.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    prompt_for_reply: bool = False
    asks_why_true: bool = False
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("cfmad")
class Cfmad:
    """Two threads at once, then the judge."""

    name: ClassVar[str] = "cfmad"
    about: ClassVar[str] = "two preset stances, each with a critic and a rebuttal, then one judge (2406.11514)"
    options: ClassVar[type[Frozen]] = CfmadSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "prompt_for_reply": True, "asks_why_true": True},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Fang et al., Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs, 2025,"
        " arXiv 2406.11514"
    )
    graph: ClassVar[str] = "search -> (stance -> critic -> rebuttal | stance -> critic -> rebuttal) -> judge"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="CFMAD-1",
            original="critic and rebuttal of the negative thread are given the prompt in place of the reply to it",
            effect="nobody answers to what the negative side said; the judge reads a defence of something else",
            here="they are given the reply",
            setting="prompt_for_reply=true",
        ),
        Behaviour(
            id="CFMAD-2",
            original="the negative thread's rebuttal is asked first why the claim is true",
            effect="the negative side may argue for the claim",
            here="it is asked why the claim is false",
            setting="asks_why_true=true",
        ),
        Behaviour(
            id="CFMAD-3",
            original="the program for options takes a reply apart into two values, which no reply has",
            effect="it does not run as it stands",
            here="the reply is one text",
        ),
        Behaviour(
            id="CFMAD-4",
            original="the judge knows true and false only",
            effect="claims that the evidence does not settle are counted as one of them",
            here="every label of the claim's set may be given; with --labels two it is the same",
        ),
        Behaviour(
            id="CFMAD-5",
            original="the second option is drawn by the process's own chance",
            effect="no run can be repeated",
            here="it is drawn by the run's seed",
        ),
    )

    def __init__(self, settings: CfmadSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who searches, who answers first where there are options, both threads, the judge."""
        return (SEARCHER, FIRST, *(name for side in SIDES for name in (side, f"{side}-critic")), "judge")

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """A plain answer, the three steps of a thread, the judge's."""
        return (AnswerOption, ArgueStance, CriticiseStance, RebutCritic, JudgeStances)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Of a claim; the same; of a question with options, which is answered plainly first."""
        threads = {"ArgueStance": 2, "CriticiseStance": 2, "RebutCritic": 2, "JudgeStances": 1}
        critics = tuple(f"{side}-critic" for side in SIDES)
        claim = Plan(
            calls=threads,
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={
                "AnswerOption": (FIRST,),
                **dict.fromkeys(("ArgueStance", "RebutCritic"), SIDES),
                "CriticiseStance": critics,
                "JudgeStances": ("judge",),
            },
            call_depth=4,
            search_depth=1,
        )
        return claim, claim, claim.model_copy(update={"calls": {"AnswerOption": 1, **threads}, "call_depth": 5})

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Evidence, stances, both threads at once, the judge.

        Raises:
            UsageError: the label set has no two sides and no options, or the claim has not two of these.
        """
        options = Meaning.OPTION in {label.meaning for label in claim.labels.labels}
        if options and len(claim.options) < 2:
            raise UsageError(f"{len(claim.options)} options are no debate", hint="give the texts of two or more")
        if not options and not (claim.labels.named(Meaning.SUPPORTED) and claim.labels.named(Meaning.REFUTED)):
            raise UsageError(
                f"preset stances cannot be taken from the labels {claim.labels.name!r}",
                hint="a label set with one label for what is correct and one for what is not, or options",
            )
        return await _Debate(self.settings, claim, run).hold()


class _Debate:
    """One claim's debate."""

    def __init__(self, settings: CfmadSettings, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        self.passages: tuple[Passage, ...] = ()
        self.quotes: list[Quote] = []

    async def hold(self) -> Verdict:
        """Evidence; stances; both threads at once; the judge."""
        self.passages = await pool(self.claim, self.run, self.settings.tools, (self.settings.top_k,))
        stances = await self._stances()
        if not stances:
            return self._verdict(None, "No option was given as the first answer.", rounds=0)
        threads = await together([self._thread(side, stance) for side, stance in zip(SIDES, stances, strict=True)])
        return await self._judge(threads)

    async def _stances(self) -> tuple[str, ...]:
        """True and false; of options the plain answer and another one, by the run's chance."""
        labels = self.claim.labels
        supported, refuted = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
        if supported and refuted:
            return supported, refuted
        task = AnswerOption(claim=self.claim, passages=self.passages, profile=self.settings.profile)
        answer = await Agent(FIRST, self.run).perform(task, temperature=self.settings.temperature)
        self.quotes += tell(self.claim, self.run, FIRST, 0, answer.text, answer.label, answer.quotes, self.passages)
        options = labels.names[: len(self.claim.options)]
        if answer.label not in options:
            return ()
        others = [name for name in options if name != answer.label]
        return answer.label, chance(self.run, "cfmad", self.claim.text).choice(others)

    async def _thread(self, side: str, stance: str) -> Thread:
        """Argument, criticism, rebuttal."""
        given: dict[str, Any] = {
            "claim": self.claim,
            "stance": stance,
            "passages": self.passages,
            "profile": self.settings.profile,
        }
        opening = ArgueStance(**given)
        argument = (await self._say(side, opening, 1, stance)).text
        refuting = self.claim.labels.meaning(stance) is Meaning.REFUTED
        heard = opening.prompt_text() if refuting and self.settings.prompt_for_reply else argument  # CFMAD-1
        asked = self.claim.labels.named(Meaning.SUPPORTED) if refuting and self.settings.asks_why_true else stance
        critic = CriticiseStance(**given, argument=heard)
        criticism = (await self._say(f"{side}-critic", critic, 2, "")).text
        task = RebutCritic(**given, argument=heard, criticism=criticism, asked=asked or stance)
        rebuttal = (await self._say(side, task, 3, stance)).text
        return Thread(stance=stance, argument=argument, criticism=criticism, rebuttal=rebuttal)

    async def _say(self, agent: str, task: Task[Argument], round_: int, stance: str) -> Argument:
        """What a member says; its quotations speak for its stance, the critics' for neither."""
        said = await Agent(agent, self.run).perform(task, round_=round_, temperature=self.settings.temperature)
        side = side_of(self.claim.labels, stance or None)
        self.quotes += [find_quote(text, self.passages, side=side, agent=agent) for text in said.quotes]
        self.run.emit(Spoke(agent=agent, round=round_, text=said.text))
        return said

    async def _judge(self, threads: list[Thread]) -> Verdict:
        task = JudgeStances(
            claim=self.claim, passages=self.passages, threads=tuple(threads), profile=self.settings.profile
        )
        answer = await Agent("judge", self.run).perform(task, temperature=self.settings.temperature)
        side = side_of(self.claim.labels, answer.label)
        self.quotes += [find_quote(text, self.passages, side=side, agent="judge") for text in answer.quotes]
        self.run.emit(Judged(text=answer.text, label=answer.label))
        return self._verdict(answer.label, answer.text, rounds=3)

    def _verdict(self, label: str | None, reason: str, *, rounds: int) -> Verdict:
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="judge",
            rounds=rounds,
            reason=reason,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )
