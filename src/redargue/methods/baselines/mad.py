"""MAD: two sides answer tit for tat before a moderator, who ends the debate; if he does not, a judge decides.

Liang et al., "Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate" (arXiv 2305.19118),
with the prompts' structure of its program for free topics. The topic is the claim with the question for its labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.events import Judged, RoundEnded, Spoke
from redargue.evidence import Passage, Quote
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods
from redargue.methods.baselines.sharing import SEARCHER, pool, tell
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.base import AnyTask, Exchange, Out, Profile, Task
from redargue.tasks.moderating import (
    DebateTurn,
    DebateTurnOnEvidence,
    DecideDebate,
    DecideDebateOnEvidence,
    ListCandidates,
    ListCandidatesOnEvidence,
    ModerateRound,
    ModerateRoundOnEvidence,
    Ruling,
)
from redargue.verdicts import Verdict

SIDES = ("affirmative", "negative")


class MadSettings(Frozen):
    """Settings of ``mad``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once, and all speakers are shown what was found; without any nobody has evidence, as
            published.
        top_k: documents a search.
        max_rounds: after which a judge decides.
        judged: which answers of the two sides the judge is shown: their first, or their last.
        temperature: of all replies.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    max_rounds: int = Field(default=3, ge=1, le=10)
    judged: Literal["first", "last"] = "first"
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("mad")
class Mad:
    """Two sides, a moderator after each round, a judge at the end.

    Without tools the embedded backend cannot play it: it knows nothing but what it reads.
    """

    name: ClassVar[str] = "mad"
    about: ClassVar[str] = "two sides tit for tat before a moderator, then a judge (2305.19118)"
    options: ClassVar[type[Frozen]] = MadSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "tools": ()},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Liang et al., Encouraging Divergent Thinking in Large Language Models through Multi-Agent Debate, 2024,"
        " arXiv 2305.19118"
    )
    graph: ClassVar[str] = "(affirmative -> negative -> moderator) x1-3 -> judge lists candidates -> judge decides"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="MAD-1",
            original="the moderator's and the judge's replies are evaluated as Python; one that is none ends the"
            " program",
            effect="a reply can run code; a question is lost with its debate",
            here="replies are read as JSON and asked for once more; then the verdict is an error without a label",
        ),
        Behaviour(
            id="MAD-2",
            original="the judge is shown what the two sides said in the first round",
            effect="what a side conceded later is not heard",
            here="the same; judged=last shows the last round",
            setting="judged=first",
        ),
        Behaviour(
            id="MAD-3",
            original="any answer that is not empty ends the debate: 'None', too, or one given without a preference",
            effect="debates end without a usable answer, which is counted as wrong",
            here="an answer has to be a label, with or without a preference; another one is asked for once more",
        ),
        Behaviour(
            id="MAD-4",
            original="the judge may leave the answer empty",
            effect="the question has no answer, which is counted as wrong",
            here="the same: the verdict has no label",
        ),
    )

    def __init__(self, settings: MadSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Both sides, the moderator, the judge; who searches, where there is evidence."""
        return (*SIDES, "moderator", "judge", *([SEARCHER] if self.settings.tools else []))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Turns, rulings and the judge's two steps: on evidence, or without."""
        if self.settings.tools:
            return (
                DebateTurnOnEvidence,
                ModerateRoundOnEvidence,
                ListCandidatesOnEvidence,
                DecideDebateOnEvidence,
            )
        return (DebateTurn, ModerateRound, ListCandidates, DecideDebate)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """One round; two; all of them and the judge."""
        most = self.settings.max_rounds
        return self._plan(1, judged=False), self._plan(min(2, most), judged=False), self._plan(most, judged=True)

    def _plan(self, rounds: int, *, judged: bool) -> Plan:
        turn, ruling, listing, deciding = (task.name() for task in self.tasks())
        judging = {listing: 1, deciding: 1} if judged else {}
        return Plan(
            calls={turn: 2 * rounds, ruling: rounds, **judging},
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={turn: SIDES, ruling: ("moderator",), listing: ("judge",), deciding: ("judge",)},
            call_depth=3 * rounds + 2 * judged,
            search_depth=int(bool(self.settings.tools)),
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Debates until the moderator gives an answer; after the last round a judge does."""
        return await _Debate(self.settings, claim, run).hold()


class _Debate:
    """One claim's debate."""

    def __init__(self, settings: MadSettings, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        self.passages: tuple[Passage, ...] = ()
        self.chats: dict[str, tuple[Exchange, ...]] = {}
        self.quotes: list[Quote] = []
        self.labels: list[tuple[str | None, ...]] = []

    async def hold(self) -> Verdict:
        """Evidence, if any; rounds; a judge, if need be."""
        chosen = self.settings
        self.passages = await pool(self.claim, self.run, chosen.tools, (chosen.top_k,))
        first: dict[str, str] = {}
        said: dict[str, str] = dict.fromkeys(SIDES, "")
        for round_ in range(1, chosen.max_rounds + 1):
            self.labels.append(())
            said["affirmative"] = await self._turn("affirmative", round_, said["negative"])
            said["negative"] = await self._turn("negative", round_, said["affirmative"])
            first = first or dict(said)
            ruling = await self._moderate(round_, said)
            if ruling.debate_answer:
                return self._verdict("moderator", ruling.debate_answer, ruling.reason)
        return await self._judge(first if chosen.judged == "first" else said)

    async def _turn(self, side: str, round_: int, opponent: str) -> str:
        """A side's answer; its label is told and means nothing to the debate."""
        kind = DebateTurnOnEvidence if self.settings.tools else DebateTurn
        answer = await self._ask(side, kind(**self._given(side), opponent=opponent), round_)
        self.quotes += tell(self.claim, self.run, side, round_, answer.text, answer.label, answer.quotes, self.passages)
        self.labels[-1] += (answer.label,)
        return answer.text

    async def _moderate(self, round_: int, said: Mapping[str, str]) -> Ruling:
        kind = ModerateRoundOnEvidence if self.settings.tools else ModerateRound
        task = kind(**self._given("moderator"), number=round_, **said)
        ruling = await self._ask("moderator", task, round_)
        self.run.emit(Spoke(agent="moderator", round=round_, text=ruling.reason))
        labels = self.labels[-1]
        ended = f"the moderator answers {ruling.debate_answer}" if ruling.debate_answer else "the moderator goes on"
        self.run.emit(
            RoundEnded(
                round=round_,
                labels=labels,
                agreed=None not in labels and len(set(labels)) == 1,
                accepted=bool(ruling.debate_answer),
                why=(ended,),
            )
        )
        return ruling

    async def _judge(self, said: Mapping[str, str]) -> Verdict:
        """Candidates first, then one of them, in one chat."""
        on_evidence = bool(self.settings.tools)
        listing = ListCandidatesOnEvidence if on_evidence else ListCandidates
        await self._ask("judge", listing(**self._given("judge"), **said))
        deciding = DecideDebateOnEvidence if on_evidence else DecideDebate
        decision = await self._ask("judge", deciding(**self._given("judge")))
        label = decision.debate_answer or None  # MAD-4
        self.run.emit(Judged(text=decision.reason, label=label))
        return self._verdict("judge", label, decision.reason)

    def _given(self, agent: str) -> dict[str, Any]:
        """What all tasks of a speaker have in common."""
        given = {"claim": self.claim, "before": self.chats.get(agent, ()), "profile": self.settings.profile}
        return {**given, "passages": self.passages} if self.settings.tools else given

    async def _ask(self, agent: str, task: Task[Out], round_: int = 0) -> Out:
        """Asks, and keeps question and verbatim reply in the speaker's chat."""
        (output,) = await Agent(agent, self.run).ask(task, round_=round_, temperature=self.settings.temperature)
        self.chats[agent] = (*self.chats.get(agent, ()), task.exchange(output.text))
        return output.answer

    def _verdict(self, by: Literal["moderator", "judge"], label: str | None, reason: str) -> Verdict:
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by=by,
            rounds=len(self.labels),
            round_labels=tuple(self.labels),
            reason=reason,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )
