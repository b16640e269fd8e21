"""MADKE: debaters choose evidence from one pool in every round; a judge of consistency, then a summariser.

Wang et al., "Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates" (arXiv 2312.04854). The pool is
fixed before the debate. Agents have no chat: each round shows an agent its own last answer and the others'.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Judged, Spoke
from redargue.evidence import Passage
from redargue.methods.base import MethodSettings, Roles
from redargue.methods.baselines.evidence_pool import SEARCHER, EvidencePool
from redargue.methods.baselines.madke import tasks
from redargue.methods.few_shot import read_examples, with_labels
from redargue.methods.setting_types import Word
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask
from redargue.tasks.query import OtherAnswer
from redargue.verdicts import Verdict

JUDGE, SUMMARISER = "judge", "summariser"
Pieces = Annotated[int, Field(ge=1, le=50)]


class MadkeSettings(MethodSettings):
    """Settings of ``madke``."""

    # sources of the pool, in its order; the paper's are Wikipedia and Google (``wikipedia,google``)
    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    # passages per tool, by default as in the paper; the last number holds for all further tools
    pieces: tuple[Pieces, ...] = Field(default=(10, 5), min_length=1, max_length=8)
    agents: int = Field(default=2, ge=1, le=10)
    max_rounds: int = Field(default=3, ge=1, le=10)  # after which the answers are summarised, consistent or not
    selecting: bool = True  # each agent chooses from the pool in each round; off, it sees all of it
    # an agent sees the answers given before its own in the same round; off, all answer concurrently
    sequential: bool = True
    swapped: bool = False  # exchanges question and answers in the summariser's prompt (``MADKE-1``)
    temperature: float = Field(default=0.5, ge=0, le=2)


class Madke(EvidencePool, name="madke", settings=MadkeSettings):
    """Debaters that choose from one pool of evidence, summarised once they agree (2312.04854)."""

    profiles = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "swapped": True},
        "hardened": {},
    }
    paper = "Wang et al., Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates, 2023, arXiv 2312.04854"
    graph = (
        "search -> ((agent-1 selects | agent-2 selects) -> agent-1 answers -> agent-2 answers -> judge) x1-3"
        " -> summariser"
    )
    few_shot = True

    settings: MadkeSettings

    async def check(self, claim: Claim) -> Verdict:
        self.last: dict[str, Answer] = {}
        self.labels: list[tuple[str | None, ...]] = []
        self.examples = with_labels(read_examples(__package__), claim.labels)
        await self.fill_pool(*self.settings.pieces)
        self.passages = self.passages[: tasks.LARGEST_POOL]
        for round_ in range(1, self.settings.max_rounds + 1):
            await self.hold_round(round_)
            if await self.is_consistent(round_):
                break
        return await self.summarise()

    async def hold_round(self, round_: int) -> None:
        """All choose evidence concurrently, because the choice depends on no other answer; then they answer."""
        chosen = await gather_or_cancel(self.select(agent, round_) for agent in self.debaters)
        turns = list(zip(self.debaters, chosen, strict=True))
        if self.settings.sequential:
            for agent, passages in turns:
                self.last[agent] = await self.take_turn(agent, round_, passages)
        else:
            answers = await gather_or_cancel(self.take_turn(agent, round_, passages) for agent, passages in turns)
            self.last = dict(zip(self.debaters, answers, strict=True))
        self.labels.append(tuple(self.last[agent].label for agent in self.debaters))

    async def select(self, agent: str, round_: int) -> tuple[Passage, ...]:
        """At most three pieces of the pool; none where the agent chooses none or its reply cannot be read."""
        if not self.settings.selecting or not self.passages:
            return self.passages
        own = self.last[agent].text if agent in self.last else ""
        task = tasks.SelectEvidence(claim=self.claim, pool=self.passages, own=own, profile=self.settings.profile)
        try:
            selection = await self.agents[agent].perform(task, round_=round_, temperature=self.settings.temperature)
        except BadReply:
            return ()
        return task.chosen(selection)

    async def take_turn(self, agent: str, round_: int, passages: tuple[Passage, ...]) -> Answer:
        own = self.last[agent].text if agent in self.last else ""
        task = tasks.AnswerWithKnowledge(
            claim=self.claim,
            passages=passages,
            others=self.latest_answers(but=agent) if own else (),
            own=own,
            examples=self.examples,
            profile=self.settings.profile,
        )
        answer = await self.agents[agent].perform(task, round_=round_, temperature=self.settings.temperature)
        self.answered(agent, answer, round_=round_, passages=passages)
        return answer

    def latest_answers(self, *, but: str = "") -> tuple[OtherAnswer, ...]:
        return tuple(
            OtherAnswer(agent=agent, text=self.last[agent].text)
            for agent in self.debaters
            if agent != but and agent in self.last
        )

    async def is_consistent(self, round_: int) -> bool:
        """Asks the judge whether the answers agree; an unreadable reply means no (``MADKE-3``)."""
        task = tasks.JudgeConsistency(claim=self.claim, answers=self.latest_answers(), profile=self.settings.profile)
        try:
            ruling = await self.agents[JUDGE].perform(task, round_=round_, temperature=self.settings.temperature)
            consistent, reason = ruling.consistent == "yes", ruling.reason
        except BadReply as error:
            consistent, reason = False, error.what
        self.run.emit(Spoke(agent=JUDGE, round=round_, text=reason))
        why = "the judge finds the answers consistent" if consistent else "the judge finds that they differ"
        self.end_round(round_, self.labels[-1], accepted=consistent, why=why)
        return consistent

    async def summarise(self) -> Verdict:
        """The summariser's answer; an unreadable one gives no label (``MADKE-5``)."""
        task = tasks.SummariseAnswers(
            claim=self.claim,
            answers=self.latest_answers(),
            swapped=self.settings.swapped,
            example=with_labels(read_examples(__package__, "summary"), self.claim.labels),
            profile=self.settings.profile,
        )
        try:
            answer = await self.agents[SUMMARISER].perform(task, temperature=self.settings.temperature)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        self.run.emit(Judged(text=answer.text, label=answer.label))
        return self.verdict(
            answer.label,
            reason=answer.text,
            decided_by=SUMMARISER,
            rounds=len(self.labels),
            round_labels=self.labels,
        )

    @classmethod
    def roles_for(cls, settings: MadkeSettings) -> Roles:
        return {SEARCHER: settings.tools} | dict.fromkeys([*cls.debaters_for(settings), JUDGE, SUMMARISER])

    @classmethod
    def asks_for(cls, settings: MadkeSettings) -> tuple[type[AnyTask], ...]:
        choosing: tuple[type[AnyTask], ...] = (tasks.SelectEvidence,) if settings.selecting else ()
        return (*choosing, tasks.AnswerWithKnowledge, tasks.JudgeConsistency, tasks.SummariseAnswers)
