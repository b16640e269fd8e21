"""ReConcile: different models answer with a confidence, discuss their grouped answers, and vote by confidence.

Chen, Saha and Bansal, "ReConcile: Round-Table Conference Improves Reasoning via Consensus among Diverse LLMs"
(arXiv 2309.13007). Each agent is meant to be a model of its own: ``--model agent-1=… --model agent-2=…``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import RoundEnded
from redargue.evidence import Passage, Quote
from redargue.protocols.base import Behaviour, Plan, methods
from redargue.protocols.baselines.sharing import EqualAgents, chance, examples_for, pool, tell
from redargue.protocols.quoting import distinct, gaps
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.reconciling import AnswerSurely, AnswerSurelyOnEvidence, AnswerWithConfidence, Group
from redargue.verdicts import Verdict

SAMPLES = 3  # files of convincing samples: one a model of the paper's
FIRST_VOTER = 1e-5


def rescaled(confidence: float) -> float:
    """What a stated confidence weighs (§3.3): models state too much."""
    if confidence == 1:
        return 1.0
    if confidence >= 0.9:
        return 0.8
    if confidence >= 0.8:
        return 0.5
    return 0.3 if confidence > 0.6 else 0.1


def weighted_vote(votes: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The weight of each answer.

    Args:
        votes: answers with their stated confidences in [0, 1], in the order of the agents.

    Returns:
        Sums of rescaled confidences by answer, the first voter's first; the first vote for an answer adds 1e-5, as in
        the authors' program.
    """
    weights: dict[str, float] = {}
    for answer, confidence in votes:
        weights[answer] = weights.get(answer, FIRST_VOTER) + rescaled(confidence)
    return weights


class ReconcileSettings(Frozen):
    """Settings of ``reconcile``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once, and all agents are shown what was found; without any nobody has evidence, as
            published.
        top_k: documents a search.
        agents: that debate.
        rounds: of discussion, at most; none is held where all agree.
        samples: each agent is shown what is to convince it: the other agents' samples, which are our own.
        groups: how many different answers are shown in a discussion, the most frequent first; the authors' program
            shows two (``RECONCILE-2``).
        unparsed: an agent whose reply cannot be read has no vote, or one for a random label with confidence 0
            (``RECONCILE-1``).
        temperature: of all replies; the authors' program leaves it at the endpoints' own, which is 1.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    agents: int = Field(default=3, ge=2, le=10)
    rounds: int = Field(default=3, ge=0, le=10)
    samples: bool = True
    groups: int = Field(default=10, ge=2, le=10)
    unparsed: Literal["out", "random"] = "out"
    temperature: float = Field(default=1.0, ge=0, le=2)


@methods.register("reconcile")
class Reconcile(EqualAgents):
    """First answers, discussion while they differ, a vote by confidence.

    Without tools the embedded backend cannot play it: it knows nothing but what it reads.
    """

    name: ClassVar[str] = "reconcile"
    about: ClassVar[str] = "different models that discuss, then a vote weighed by confidence (2309.13007)"
    options: ClassVar[type[Frozen]] = ReconcileSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "tools": ()},
        "authors": {"profile": "paper", "tools": (), "rounds": 2, "groups": 2, "unparsed": "random"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Chen, Saha and Bansal, ReConcile: Round-Table Conference Improves Reasoning via Consensus among Diverse LLMs,"
        " 2024, arXiv 2309.13007"
    )
    graph: ClassVar[str] = "(agent-1 | agent-2 | agent-3) -> (agent-1 | agent-2 | agent-3) x0-3 -> weighted vote"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="RECONCILE-1",
            original="an agent whose reply cannot be read after five tries (three of Claude's) votes for a random label"
            " with confidence 0",
            effect="0.1 of weight for an answer that nobody gave, which may also keep a discussion going",
            here="it has no vote in that round",
            setting="unparsed=random",
        ),
        Behaviour(
            id="RECONCILE-2",
            original="the discussion shows the two most frequent answers only",
            effect="of three agents of three opinions one is not heard",
            here="all answers are shown",
            setting="groups=2",
        ),
        Behaviour(
            id="RECONCILE-3",
            original="the discussion shows each agent its own answer among the others'",
            effect="an agent is told that somebody agrees with it",
            here="the same",
        ),
        Behaviour(
            id="RECONCILE-4",
            original="a confidence that is missing or no number is 0",
            effect="the vote weighs 0.1",
            here="the reply is asked for once more, then it has no vote",
        ),
        Behaviour(
            id="RECONCILE-5",
            original="two rounds of discussion in the program, three in the paper",
            effect="on published numbers: unknown which",
            here="three",
            setting="rounds=2",
        ),
    )

    def __init__(self, settings: ReconcileSettings) -> None:
        self.settings = settings

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Answers: on evidence, or without."""
        return (AnswerSurelyOnEvidence if self.settings.tools else AnswerSurely,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """No discussion; one round; all of them."""
        most = self.settings.rounds
        return self._plan(0), self._plan(min(1, most)), self._plan(most)

    def _plan(self, rounds: int) -> Plan:
        (task,) = self.tasks()
        return Plan(
            calls={task.name(): self.settings.agents * (1 + rounds)},
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={task.name(): self.debaters()},
            call_depth=1 + rounds,
            search_depth=int(bool(self.settings.tools)),
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Answers, discussion, vote.

        Raises:
            BadReply: in some round no agent's reply can be read.
        """
        return await _Table(self.settings, self.debaters(), claim, run).confer()


class _Table:
    """One claim's conference."""

    def __init__(self, settings: ReconcileSettings, debaters: Sequence[str], claim: Claim, run: Run) -> None:
        self.settings, self.debaters, self.claim, self.run = settings, debaters, claim, run
        self.passages: tuple[Passage, ...] = ()
        self.quotes: list[Quote] = []
        self.labels: list[tuple[str | None, ...]] = []

    async def confer(self) -> Verdict:
        """First answers; discussion while they differ; the vote."""
        chosen = self.settings
        self.passages = await pool(self.claim, self.run, chosen.tools, (chosen.top_k,))
        votes = await self._round(0, ())
        rounds = 0
        while len({each.answer for each in votes}) > 1 and rounds < chosen.rounds:
            rounds += 1
            votes = await self._round(rounds, self._grouped(votes))
        weights = weighted_vote([(each.answer, each.confidence_level) for each in votes])
        label = max(weights, key=weights.__getitem__, default=None)
        best = max(
            (each for each in votes if each.answer == label), key=lambda each: each.confidence_level, default=None
        )
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="consensus" if label is not None and {*self.labels[-1]} == {label} else "vote",
            rounds=rounds,
            round_labels=tuple(self.labels),
            reason=best.reasoning if best else "",
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )

    def _grouped(self, votes: Sequence[AnswerWithConfidence]) -> tuple[Group, ...]:
        """Answers by label, the most frequent first."""
        counted = Counter(each.answer for each in votes).most_common(self.settings.groups)
        return tuple(
            Group(answer=answer, given=tuple(each for each in votes if each.answer == answer)) for answer, _ in counted
        )

    async def _round(self, round_: int, groups: tuple[Group, ...]) -> list[AnswerWithConfidence]:
        """All agents at once; those that gave an answer vote."""
        said = await together([self._answer(agent, round_, groups) for agent in self.debaters])
        if all(isinstance(each, BadReply) for each in said):
            raise next(each for each in said if isinstance(each, BadReply))
        votes = [each for each in said if isinstance(each, AnswerWithConfidence) and each.answer]
        labels = tuple((each.answer or None) if isinstance(each, AnswerWithConfidence) else None for each in said)
        agreed = None not in labels and len(set(labels)) == 1
        weights = weighted_vote([(each.answer, each.confidence_level) for each in votes])
        told = ", ".join(f"{label}: {weight:.2f}" for label, weight in weights.items()) or "no votes"
        self.run.emit(RoundEnded(round=round_, labels=labels, agreed=agreed, accepted=len(weights) < 2, why=(told,)))
        self.labels.append(labels)
        return votes

    async def _answer(self, agent: str, round_: int, groups: tuple[Group, ...]) -> AnswerWithConfidence | BadReply:
        """An agent's answer; of one that cannot be read, why, or as in the authors' program a random one."""
        given: dict[str, Any] = {
            "claim": self.claim,
            "groups": groups,
            "samples": self._samples(agent),
            "profile": self.settings.profile,
        }
        task = AnswerSurelyOnEvidence(**given, passages=self.passages) if self.settings.tools else AnswerSurely(**given)
        try:
            answer = await Agent(agent, self.run).perform(task, round_=round_, temperature=self.settings.temperature)
        except BadReply as error:
            labels = self.claim.labels.names[: len(self.claim.options) or None]
            if self.settings.unparsed == "out" or not labels:
                return error
            drawn = chance(self.run, "reconcile", self.claim.text, agent, str(round_)).choice(labels)
            answer = AnswerWithConfidence(reasoning="", answer=drawn, confidence_level=0.0)  # RECONCILE-1
        text = f"{answer.reasoning}\nconfidence {answer.confidence_level:g}".strip()
        label = answer.answer or None
        self.quotes += tell(self.claim, self.run, agent, round_, text, label, answer.quotes, self.passages)
        return answer

    def _samples(self, agent: str) -> str:
        """The other agents' convincing samples, in their order."""
        if not self.settings.samples:
            return ""
        own = self.debaters.index(agent) % SAMPLES
        others = (place for place in range(min(SAMPLES, len(self.debaters))) if place != own)
        texts = (examples_for(self.claim.labels, f"reconcile-{place + 1}") for place in others)
        return "\n\n".join(text for text in texts if text)
