"""Multi-agent debate: equal agents answer, read the others' answers, answer again; the most frequent answer wins.

Du et al., "Improving Factuality and Reasoning in Language Models through Multiagent Debate" (arXiv 2305.14325), with
the prompts' structure of its program for multiple choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.methods.baselines.evidence_pool import DebatePrompt, EvidencePool, OnEvidence, PoolSettings
from redargue.methods.verdict_parts import majority
from redargue.tasks.answer import Answer, LabelledTask, Piece
from redargue.tasks.base import AnyTask, Exchange
from redargue.tasks.query import OtherAnswer
from redargue.tasks.sections import label_names
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class SolveWithOthers(DebatePrompt, LabelledTask):
    """An agent's answer: independent at first, then informed by the other agents' last answers."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before: tuple[Exchange, ...] = ()
    solutions: tuple[OtherAnswer, ...] = ()  # if empty in a later round, the agent checks its own answer again

    @property
    def lenient(self) -> bool:
        return True

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def template_vars(self) -> Mapping[str, object]:
        return {
            **self.topic_vars(),
            "labels": label_names(self.claim.labels),
            "before": bool(self.before),
            "solutions": self._solutions(),
        }

    def _solutions(self) -> str:
        mark = "```" if self.profile == "paper" else ""  # the paper's own fence
        return "\n".join(
            f"One agent's answer: {mark}{wrap_untrusted(solution.text)}{mark}" for solution in self.solutions
        )


class SolveWithOthersOnEvidence(OnEvidence, SolveWithOthers):
    """The answer of an agent that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")


class MultiAgentDebateSettings(PoolSettings):
    """Settings of ``multi-agent-debate``."""

    agents: int = Field(default=3, ge=1, le=15)  # debaters; one alone checks its own answer
    rounds: int = Field(default=2, ge=1, le=10)  # answers per agent
    # each reads the others' answers of the last round; off, they answer in turn, and each reads those given before its
    # own in the same round
    simultaneous: bool = True
    # of all replies; the paper leaves it at the endpoint's default, which is 1
    temperature: float = Field(default=1.0, ge=0, le=2)


class _Turn(NamedTuple):
    """An agent's answer, and its chat including that answer."""

    answer: Answer
    chat: tuple[Exchange, ...]


class MultiAgentDebate(EvidencePool, name="multi-agent-debate", settings=MultiAgentDebateSettings):
    """Equal agents that read one another's answers, then the most frequent one (2305.14325).

    It needs a language model: with the small models it would be one reader's answer.
    """

    profiles = {"paper": {"tools": ()}, "hardened": {}}
    paper = (
        "Du et al., Improving Factuality and Reasoning in Language Models through Multiagent Debate, 2023,"
        " arXiv 2305.14325"
    )
    graph = "(agent-1 | agent-2 | agent-3) x2 -> vote"

    settings: MultiAgentDebateSettings

    async def check(self, claim: Claim) -> Verdict:
        self.turns: dict[str, _Turn] = {}  # each agent's last one that could be read
        await self.fill_pool(self.settings.top_k)
        for round_ in range(1, self.settings.rounds + 1):
            await self.hold_round(round_)
        label = majority(self.labels[-1])
        reason = next((turn.answer.text for turn in self.turns.values() if turn.answer.label == label), "")
        return self.verdict(
            label,
            reason=reason if label else "",
            decided_by="vote",
            rounds=self.settings.rounds,
            round_labels=self.labels,
        )

    async def hold_round(self, round_: int) -> None:
        """Raises BadReply where no agent's reply can be read."""
        turns: dict[str, _Turn | BadReply] = {}
        together = self.settings.simultaneous or round_ == 1
        for group in [self.debaters] if together else [(agent,) for agent in self.debaters]:
            replies = await gather_or_cancel(self.take_turn(agent, round_) for agent in group)
            turns |= zip(group, replies, strict=True)
            self.turns |= {agent: turn for agent, turn in turns.items() if isinstance(turn, _Turn)}
        failures = [turn for turn in turns.values() if isinstance(turn, BadReply)]
        if len(failures) == len(turns):
            raise failures[0]
        labels = tuple(turn.answer.label if isinstance(turn, _Turn) else None for turn in turns.values())
        votes = ", ".join(f"{agent}: {label or 'no label'}" for agent, label in zip(self.debaters, labels, strict=True))
        self.end_round(round_, labels, accepted=round_ == self.settings.rounds, why=votes)

    async def take_turn(self, agent: str, round_: int) -> _Turn | BadReply:
        """An agent's answer; an unreadable one has no vote and is shown to nobody."""
        chat = self.turns[agent].chat if agent in self.turns else ()
        others = tuple(
            OtherAnswer(agent=other, text=self.turns[other].answer.text)
            for other in self.debaters
            if other != agent and other in self.turns
        )
        (kind,) = self.asks_for(self.settings)
        task = self.task(kind, before=chat, solutions=others if chat else (), **self.seen)
        try:
            (output,) = await self.agents[agent].ask(task, round_=round_, temperature=self.settings.temperature)
        except BadReply as error:
            return error
        self.answered(agent, output.answer, round_=round_, passages=self.passages)
        return _Turn(output.answer, (*chat, task.exchange(output.text)))

    @classmethod
    def asks_for(cls, settings: MultiAgentDebateSettings) -> tuple[type[AnyTask], ...]:
        return (SolveWithOthersOnEvidence if settings.tools else SolveWithOthers,)
