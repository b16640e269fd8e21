"""ReConcile: agents with different models answer, discuss while they differ, and vote by confidence.

Chen, Saha and Bansal, "ReConcile: Round-Table Conference Improves Reasoning via Consensus among Diverse LLMs" (ACL
2024, arXiv 2309.13007). ``--model agent-1=…`` sets each agent's model; the convincing samples are our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.methods.baselines.evidence_pool import DebatePrompt, EvidencePool, OnEvidence, PoolSettings, stated_label
from redargue.tasks.answer import Answer, Quotations, quotes_field
from redargue.tasks.base import AnyTask, Task, lines, text_field
from redargue.tasks.template import read_examples, with_labels
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class RecalledWithConfidence(Frozen):
    """An agent's label with its reasoning and stated confidence in [0, 1]; "90%" is 0.9."""

    reasoning: str = text_field("your reasoning, step by step", 1_000)
    answer: str = Field(description="your answer")
    confidence_level: float = Field(
        ge=0, le=1, allow_inf_nan=False, description="how likely your answer is right, from 0.0 to 1.0"
    )

    @field_validator("confidence_level", mode="before")
    @classmethod
    def _percent(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().endswith("%"):
            return float(value.strip().removesuffix("%")) / 100
        return value


class AnswerWithConfidence(RecalledWithConfidence):
    """An answer from documents."""

    quotes: Quotations = quotes_field("what you rely on, copied word for word from the documents")


class Group(Frozen):
    """Agents of one opinion."""

    answer: str
    given: tuple[AnswerWithConfidence, ...]


class AnswerSurely(DebatePrompt, Task[AnswerWithConfidence]):
    """An agent's answer with its confidence."""

    claim: Claim
    groups: tuple[Group, ...] = ()
    samples: str = ""

    def requested_type(self) -> type[Frozen]:
        return RecalledWithConfidence

    def _groups(self) -> str:
        free = self.claim.labels.free_text  # then an answer is an agent's own text
        names = (wrap_untrusted(group.answer, inline=True) if free else group.answer for group in self.groups)
        shown = _solutions if self.profile == "paper" else _opinions
        return "\n".join(shown(name, group) for name, group in zip(names, self.groups, strict=True))

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        labels = self.claim.labels
        return {} if labels.free_text else {"answer": labels.names}

    def validate_answer(self, answer: AnswerWithConfidence) -> AnswerWithConfidence:
        return answer.model_copy(update={"answer": stated_label(answer.answer, self.claim.labels)})

    def template_vars(self) -> Mapping[str, object]:
        return {
            **self.topic_vars(),
            "names": ", ".join(self.claim.labels.names),
            "groups": self._groups(),
            "demonstrations": self.samples,
        }


class AnswerSurelyOnEvidence(OnEvidence, AnswerSurely):
    """The answer of an agent that sees evidence."""

    def requested_type(self) -> type[Frozen]:
        return AnswerWithConfidence


def _opinions(name: str, group: Group) -> str:
    count = len(group.given)
    return lines(
        f"{count} agent{'s' if count > 1 else ''} answered {name}:",
        *(
            f"Reasons, with confidence {reply.confidence_level:g}: {wrap_untrusted(reply.reasoning)}"
            for reply in group.given
        ),
    )


def _solutions(name: str, group: Group) -> str:
    count = len(group.given)
    who = "There is 1 agent that thinks" if count == 1 else f"There are {count} agents that think"
    return lines(
        f"{who} the answer is {name}.",
        *(
            "One agent's solution: "
            + wrap_untrusted(
                f"I think the answer is {reply.answer} because {reply.reasoning} My confidence level is"
                f" {reply.confidence_level:g}."
            )
            for reply in group.given
        ),
    )


# The vote of ReConcile (§3.3): each answer weighs as much as its agents' rescaled confidence.

FIRST_VOTER = 1e-5


def rescaled_confidence(confidence: float) -> float:
    """The weight of a stated confidence in [0, 1]: models overstate theirs."""
    if confidence == 1:
        return 1.0
    if confidence >= 0.9:
        return 0.8
    if confidence >= 0.8:
        return 0.5
    return 0.3 if confidence > 0.6 else 0.1


def weighted_vote(votes: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Sums of rescaled confidences by answer; the first vote for an answer adds 1e-5, as in the authors' program.

    ``votes`` are answers with their stated confidences in [0, 1], in the order of the agents.
    """
    weights: dict[str, float] = {}
    for answer, confidence in votes:
        weights[answer] = weights.get(answer, FIRST_VOTER) + rescaled_confidence(confidence)
    return weights


_SAMPLES = 3


class ReconcileSettings(PoolSettings):
    """Settings of ``reconcile``."""

    agents: int = Field(default=3, ge=2, le=10)
    rounds: int = Field(default=3, ge=0, le=10)  # of discussion, at most; none if all agree from the start
    samples: bool = True  # shows each agent the other agents' convincing samples, which are our own
    # number of different answers shown in a discussion, the most frequent first; the authors' program shows two
    # (``RECONCILE-2``)
    groups: int = Field(default=10, ge=2, le=10)
    # an agent whose reply cannot be read has no vote, or one for a random label with confidence 0 (``RECONCILE-1``)
    unparsed: Literal["none", "random"] = "none"
    # of all replies; the authors' program leaves it at the endpoints' default, which is 1
    temperature: float = Field(default=1.0, ge=0, le=2)


class Reconcile(EvidencePool, name="reconcile", settings=ReconcileSettings):
    """Different models that discuss, then a vote weighted by confidence (2309.13007).

    It needs a language model: with the small models it would be one reader's answer.
    """

    profiles = {
        "paper": {"tools": ()},
        "authors": {"profile": "paper", "tools": (), "rounds": 2, "groups": 2, "unparsed": "random"},
        "hardened": {},
    }
    paper = (
        "Chen, Saha and Bansal, ReConcile: Round-Table Conference Improves Reasoning via Consensus among Diverse LLMs,"
        " 2024, arXiv 2309.13007"
    )
    graph = "(agent-1 | agent-2 | agent-3) -> (agent-1 | agent-2 | agent-3) x0-3 -> weighted vote"
    few_shot = True

    settings: ReconcileSettings

    async def check(self, claim: Claim) -> Verdict:
        await self.fill_pool(self.settings.top_k)
        votes = await self.discuss(0, ())
        round_ = 0
        while len({vote.answer for vote in votes}) > 1 and round_ < self.settings.rounds:
            round_ += 1
            votes = await self.discuss(round_, self.group(votes))
        return self.conclude(round_, votes)

    async def discuss(self, round_: int, groups: tuple[Group, ...]) -> list[AnswerWithConfidence]:
        """All agents answer concurrently, and those whose reply can be read vote; BadReply where none can be read."""
        replies = await gather_or_cancel(self.answer(agent, round_, groups) for agent in self.debaters)
        failures = [reply for reply in replies if isinstance(reply, BadReply)]
        if len(failures) == len(replies):
            raise failures[0]
        votes = [reply for reply in replies if isinstance(reply, AnswerWithConfidence) and reply.answer]
        labels = tuple((reply.answer or None) if isinstance(reply, AnswerWithConfidence) else None for reply in replies)
        weights = weighted_vote([(vote.answer, vote.confidence_level) for vote in votes])
        tally = ", ".join(f"{label}: {weight:.2f}" for label, weight in weights.items()) or "no votes"
        self.end_round(round_, labels, accepted=len(weights) < 2, why=tally)
        return votes

    def group(self, votes: Sequence[AnswerWithConfidence]) -> tuple[Group, ...]:
        counts = Counter(vote.answer for vote in votes).most_common(self.settings.groups)
        return tuple(
            Group(answer=answer, given=tuple(vote for vote in votes if vote.answer == answer)) for answer, _ in counts
        )

    async def answer(self, agent: str, round_: int, groups: tuple[Group, ...]) -> AnswerWithConfidence | BadReply:
        """An agent's answer; the error where it cannot be read, or (``RECONCILE-1``) a random answer."""
        (kind,) = self.asks_for(self.settings)
        fields = {"groups": groups, "samples": self.convincing_samples(agent), **self.seen}
        try:
            answer: AnswerWithConfidence = await self.ask(self.agents[agent], kind, round_=round_, **fields)
        except BadReply as error:
            labels = self.claim.labels.names[: len(self.claim.options) or None]
            if self.settings.unparsed == "none" or not labels:
                return error
            drawn = self.rng("reconcile", self.claim.text, agent, str(round_)).choice(labels)
            answer = AnswerWithConfidence(reasoning="", answer=drawn, confidence_level=0.0)
        text = f"{answer.reasoning}\nconfidence {answer.confidence_level:g}".strip()
        shown = Answer(text=text, label=answer.answer or None, quotes=answer.quotes)
        self.answered(agent, shown, round_=round_, passages=self.passages)
        return answer

    def convincing_samples(self, agent: str) -> str:
        if not self.settings.samples:
            return ""
        own = self.debaters.index(agent) % _SAMPLES
        others = (place for place in range(min(_SAMPLES, len(self.debaters))) if place != own)
        texts = (with_labels(read_examples(__package__, f"sample-{place + 1}"), self.claim.labels) for place in others)
        return "\n\n".join(text for text in texts if text)

    def conclude(self, rounds: int, votes: Sequence[AnswerWithConfidence]) -> Verdict:
        """The answer with the greatest weight, with the reasoning of its most confident agent."""
        weights = weighted_vote([(vote.answer, vote.confidence_level) for vote in votes])
        label = max(weights, key=weights.__getitem__, default=None)
        winners = [vote for vote in votes if vote.answer == label]
        best = max(winners, key=lambda vote: vote.confidence_level, default=None)
        return self.verdict(
            label,
            reason=best.reasoning if best else "",
            decided_by="consensus" if label is not None and {*self.labels[-1]} == {label} else "vote",
            rounds=rounds,
            round_labels=self.labels,
        )

    @classmethod
    def asks_for(cls, settings: ReconcileSettings) -> tuple[type[AnyTask], ...]:
        return (AnswerSurelyOnEvidence if settings.tools else AnswerSurely,)
