"""MADKE: debaters choose evidence from one pool in every round; a judge of consistency, then a summariser.

Wang et al., "Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates" (arXiv 2312.04854). The pool is
fixed before the debate. No chat goes on: in each round an agent is shown its own last answer and the others'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Judged, RoundEnded, Spoke
from redargue.evidence import Passage, Quote
from redargue.protocols.base import Behaviour, Plan, methods
from redargue.protocols.baselines.sharing import SEARCHER, EqualAgents, examples_for, pool, tell
from redargue.protocols.quoting import distinct, gaps
from redargue.run import Run
from redargue.tasks.answering import Answer, AnswerClaim, claim_lines
from redargue.tasks.base import AnyTask, Profile, lines
from redargue.tasks.querying import OtherAnswer
from redargue.tasks.selecting import (
    LARGEST_POOL,
    STEPS,
    JudgeConsistency,
    SelectEvidence,
    SummariseAnswers,
    answers,
    bracketed,
    numbered,
)
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

DEBATER = (
    "You are an intelligent, diplomatic and assertive debater. You debate with other agents and try to reach a"
    " consensus on many topics. Where you are sure that your opinion is correct, keep to it; where you find a mistake"
    " in your reasoning, admit it at once and change your view. What counts is an informed, balanced debate."
)


class AnswerWithKnowledge(AnswerClaim):
    """An answer from the chosen evidence, from the second round on also from the others' and the own last answer.

    Attributes:
        own: what the agent answered in the last round; empty in the first.
        examples: of answers, our own; empty where the labels have none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "others", "own", "demonstrations")

    own: str = ""
    examples: str = ""

    @property
    def lenient(self) -> bool:
        """The others read the whole reply, with or without a label."""
        return True

    def system(self) -> str:
        """The persona."""
        return DEBATER

    def instructions(self) -> str:
        """What to do, and the examples."""
        return lines(
            self._wanted(),
        )

    def hardened_rules(self) -> str:
        return ""

    def quote_source(self) -> str:
        return "the evidence"

    def worked_examples(self) -> str:
        return f"Here are examples:\n{self.examples}\n(end of the examples)" if self.examples else ""

    def _wanted(self) -> str:
        if not self.own:
            return f"Decide whether the claim is correct. {STEPS}"
        return (
            "A few other agents have the same task; discuss it with them and think critically. With their answers or"
            " the evidence as advice you may change your answer, or keep it."
        )

    def output_format(self) -> str:
        """The labels in square brackets."""
        rules = "\n".join(
            f"If {each.description or 'this option is right'}, answer [{each.name}]."
            for each in self.claim.labels.labels
        )
        return lines(rules, "Put your answer in the form [answer], at the end.")

    def input_text(self) -> str:
        """Evidence, the others' answers, the own one, claim; hardened: the claim first."""
        return self.with_claim(
            claim_lines(self.claim),
            f"Evidence: {numbered(self.passages, self.profile)}" if self.passages else None,
            f"The other agents' answers:\n{answers(self.others)}" if self.others else None,
            f"Your last answer: {wrap_untrusted(self.own)}" if self.own else None,
        )

    def label_of(self, text: str) -> str | None:
        """The last one in square brackets."""
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        """Claim, labels, evidence, the others' answers, the own one, examples."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": ", ".join(f"[{name}]" for name in self.claim.labels.names),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }


Pieces = Annotated[int, Field(ge=1, le=50)]


class MadkeSettings(Frozen):
    """Settings of ``madke``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the pool comes from, in its order; the paper's are Wikipedia and Google (``wikipedia,google``).
        pieces: of each tool, as many as the paper takes; the last figure holds for all further tools.
        agents: that debate.
        max_rounds: after which the answers are summed up, consistent or not.
        selecting: each agent chooses from the pool in each round; off, it is shown all of it.
        sequential: an agent sees what those before it answered in the same round; off, all answer at once.
        swapped: the summariser gets question and answers in each other's place (``MADKE-1``).
        temperature: of all replies.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    pieces: tuple[Pieces, ...] = Field(default=(10, 5), min_length=1, max_length=8)
    agents: int = Field(default=2, ge=1, le=10)
    max_rounds: int = Field(default=3, ge=1, le=10)
    selecting: bool = True
    sequential: bool = True
    swapped: bool = False
    temperature: float = Field(default=0.5, ge=0, le=2)


@methods.register("madke")
class Madke(EqualAgents):
    """One pool, rounds of choosing and answering, a judge after each, a summary."""

    name: ClassVar[str] = "madke"
    about: ClassVar[str] = "debaters that choose from one pool of evidence, summed up once they agree (2312.04854)"
    options: ClassVar[type[Frozen]] = MadkeSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "swapped": True},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Wang et al., Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates, 2023, arXiv 2312.04854"
    )
    graph: ClassVar[str] = (
        "search -> ((agent-1 selects | agent-2 selects) -> agent-1 answers -> agent-2 answers -> judge) x1-3"
        " -> summariser"
    )
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="MADKE-1",
            original="the program hands question and answers to the summariser in swapped order",
            effect="its prompt has the answers in the question's place and the question in the answers'; on all"
            " published numbers",
            here="each in its place",
            setting="swapped=true",
        ),
        Behaviour(
            id="MADKE-2",
            original="agents answer one after the other, and a later one sees what an earlier one has just answered",
            effect="the first agent's answer weighs more",
            here="the same; sequential=false lets them answer at once",
            setting="sequential=true",
        ),
        Behaviour(
            id="MADKE-3",
            original="a judge's reply without [Yes] in it means that the answers differ",
            effect="the debate goes on after a reply that cannot be read",
            here="the same, after it was asked for once more",
        ),
        Behaviour(
            id="MADKE-4",
            original="every number in brackets counts as chosen, from the last one back, also one that was dismissed",
            effect="of more than three the last three are shown to the agent",
            here="the same in the paper's own form of reply; hardened, a list is asked for",
        ),
        Behaviour(
            id="MADKE-5",
            original="a summary without brackets has no answer",
            effect="counted as wrong",
            here="it is asked for once more; then the verdict has no label",
        ),
        Behaviour(
            id="MADKE-6",
            original="a judge's reply with [Yes] anywhere in it means that the answers agree",
            effect="an agent's answer 'yes' that the judge repeats in brackets ends the debate",
            here="the last of [Yes] and [No] in it is the judge's",
        ),
    )

    def __init__(self, settings: MadkeSettings) -> None:
        self.settings = settings

    def agents(self) -> tuple[str, ...]:
        """Who searches, the debaters, the judge, the summariser."""
        return (SEARCHER, *self.debaters(), "judge", "summariser")

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Choosing, answering, comparing, summing up."""
        choosing: tuple[type[AnyTask], ...] = (SelectEvidence,) if self.settings.selecting else ()
        return (*choosing, AnswerWithKnowledge, JudgeConsistency, SummariseAnswers)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """One round over an empty pool, of which nobody chooses; one round; all of them."""
        selecting = self.settings.selecting
        return self._plan(1, False), self._plan(1, selecting), self._plan(self.settings.max_rounds, selecting)

    def _plan(self, rounds: int, selecting: bool) -> Plan:
        chosen = self.settings
        turns = chosen.agents * rounds
        choosing = {"SelectEvidence": turns} if selecting else {}
        waits = selecting + (chosen.agents if chosen.sequential else 1) + 1
        return Plan(
            calls={**choosing, "AnswerWithKnowledge": turns, "JudgeConsistency": rounds, "SummariseAnswers": 1},
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={
                **dict.fromkeys(("SelectEvidence", "AnswerWithKnowledge"), self.debaters()),
                "JudgeConsistency": ("judge",),
                "SummariseAnswers": ("summariser",),
            },
            call_depth=rounds * waits + 1,
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Rounds until the judge finds the answers consistent, then the summary.

        Raises:
            BadReply: a debater's reply cannot be read.
        """
        return await _Debate(self.settings, self.debaters(), claim, run).hold()


class _Debate:
    """One claim's debate."""

    def __init__(self, settings: MadkeSettings, debaters: Sequence[str], claim: Claim, run: Run) -> None:
        self.settings, self.debaters, self.claim, self.run = settings, debaters, claim, run
        self.pool: tuple[Passage, ...] = ()
        self.examples = examples_for(claim.labels, "madke")
        self.last: dict[str, Answer] = {}
        self.quotes: list[Quote] = []
        self.labels: list[tuple[str | None, ...]] = []

    async def hold(self) -> Verdict:
        """The pool; rounds; the summary."""
        found = await pool(self.claim, self.run, self.settings.tools, self.settings.pieces)
        self.pool = found[:LARGEST_POOL]
        for round_ in range(1, self.settings.max_rounds + 1):
            await self._round(round_)
            if await self._consistent(round_):
                break
        return await self._summary()

    async def _round(self, round_: int) -> None:
        """All choose evidence at once, which depends on nobody else's answer; then they answer."""
        chosen = await together([self._selected(agent, round_) for agent in self.debaters])
        turns = list(zip(self.debaters, chosen, strict=True))
        if self.settings.sequential:
            for agent, passages in turns:
                self.last[agent] = await self._turn(agent, round_, passages)
        else:
            said = await together([self._turn(agent, round_, passages) for agent, passages in turns])
            self.last = dict(zip(self.debaters, said, strict=True))
        self.labels.append(tuple(self.last[agent].label for agent in self.debaters))

    async def _turn(self, agent: str, round_: int, passages: tuple[Passage, ...]) -> Answer:
        """An answer; in the first round from the evidence alone."""
        own = self._own(agent)
        task = AnswerWithKnowledge(
            claim=self.claim,
            passages=passages,
            others=self._said(agent) if own else (),
            own=own,
            examples=self.examples,
            profile=self.settings.profile,
        )
        answer = await Agent(agent, self.run).perform(task, round_=round_, temperature=self.settings.temperature)
        self.quotes += tell(self.claim, self.run, agent, round_, answer.text, answer.label, answer.quotes, passages)
        return answer

    def _own(self, agent: str) -> str:
        """What the agent answered last; empty in the first round."""
        return self.last[agent].text if agent in self.last else ""

    async def _selected(self, agent: str, round_: int) -> tuple[Passage, ...]:
        """At most three pieces of the pool; none where the agent finds none, or says nothing that can be read."""
        if not self.settings.selecting or not self.pool:
            return self.pool
        task = SelectEvidence(claim=self.claim, pool=self.pool, own=self._own(agent), profile=self.settings.profile)
        try:
            found = await Agent(agent, self.run).perform(task, round_=round_, temperature=self.settings.temperature)
        except BadReply:
            return ()
        return task.chosen(found)

    def _said(self, but: str = "") -> tuple[OtherAnswer, ...]:
        """The agents' latest answers, in their order."""
        return tuple(
            OtherAnswer(agent=agent, text=self.last[agent].text)
            for agent in self.debaters
            if agent != but and agent in self.last
        )

    async def _consistent(self, round_: int) -> bool:
        task = JudgeConsistency(claim=self.claim, answers=self._said(), profile=self.settings.profile)
        try:
            found = await Agent("judge", self.run).perform(task, round_=round_, temperature=self.settings.temperature)
            consistent, reason = found.consistent == "yes", found.reason
        except BadReply as error:  # MADKE-3
            consistent, reason = False, error.what
        self.run.emit(Spoke(agent="judge", round=round_, text=reason))
        labels = self.labels[-1]
        self.run.emit(
            RoundEnded(
                round=round_,
                labels=labels,
                agreed=None not in labels and len(set(labels)) == 1,
                accepted=consistent,
                why=("the judge finds the answers consistent" if consistent else "the judge finds that they differ",),
            )
        )
        return consistent

    async def _summary(self) -> Verdict:
        """The summariser's answer; without one that can be read there is no label (``MADKE-5``)."""
        task = SummariseAnswers(
            claim=self.claim,
            answers=self._said(),
            swapped=self.settings.swapped,
            example=examples_for(self.claim.labels, "madke-summary"),
            profile=self.settings.profile,
        )
        try:
            answer = await Agent("summariser", self.run).perform(task, temperature=self.settings.temperature)
            label, reason = answer.label, answer.text
        except BadReply as error:
            label, reason = None, error.raw
        self.run.emit(Judged(text=reason, label=label))
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="summariser",
            rounds=len(self.labels),
            round_labels=tuple(self.labels),
            reason=reason,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )
