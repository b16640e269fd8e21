"""Self-consistency: one search, several sampled answers, and the label that most of them give.

Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (ICLR 2023, arXiv 2203.11171),
over the prompt of ``one-reader``. With ``like`` it has as many calls as another method usually has, with ``calls`` as
many as one has had: what a debate has to beat is not one answer, but as many answers as it costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered
from redargue.evidence import Passage, Quote
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, usual_calls
from redargue.methods.baselines.finding import find_quotes, search_all
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.answering import Answer, AnswerClaim
from redargue.tasks.base import AnyTask, Profile
from redargue.verdicts import Verdict

SEARCHER = "searcher"


class SamplingSettings(Frozen):
    """Settings of a method that samples answers to one question.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once, with the claim.
        top_k: documents a search.
        n: answers; the paper's number.
        like: a method's name: as many calls as it usually has, with its default settings, in the place of ``n``.
        calls: so many calls in the place of ``n``; 0 for none.
        temperature: of sampling.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    n: int = Field(default=40, ge=1, le=200)
    like: str = ""
    calls: int = Field(default=0, ge=0, le=1000)
    temperature: float = Field(default=0.7, ge=0, le=2)

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.like and self.calls:
            raise ValueError(f"calls={self.calls} and like={self.like} are two numbers of calls: give one")
        return self


@methods.register("self-consistency")
class SelfConsistency:
    """Search, sample, count.

    Answers are asked for at once, each in a call of its own. The embedded backend draws no words: all its answers are
    the same, and the verdict is ``one-reader``'s.
    """

    name: ClassVar[str] = "self-consistency"
    about: ClassVar[str] = "one search, n sampled answers, the label of most (2203.11171), at any method's calls"
    options: ClassVar[type[Frozen]] = SamplingSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"profile": "paper"}, "hardened": {}}
    paper: ClassVar[str] = (
        "Wang, Wei, Schuurmans, Le, Chi, Narang, Chowdhery, Zhou: Self-Consistency Improves Chain of Thought Reasoning"
        " in Language Models, 2022, arXiv 2203.11171"
    )
    graph: ClassVar[str] = "searches -> answer xN -> majority"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="CONSISTENT-1",
            original="which of several labels with as many votes wins is not said",
            effect="with few samples or many labels, on the claims that are tied",
            here="the one that was sampled first",
        ),
        Behaviour(
            id="CONSISTENT-2",
            original="what an answer counts that cannot be read is not said",
            effect="on the votes of small models",
            here="asked for once more, then no vote; without any vote no label",
        ),
        Behaviour(
            id="CONSISTENT-3",
            original="few-shot prompts with chains of thought, and no evidence",
            effect="figures of the paper are about other tasks",
            here="the prompt of one-reader: evidence, reasons, then the label",
        ),
    )

    def __init__(self, settings: SamplingSettings) -> None:
        self.settings = settings
        calls = usual_calls(settings.like) if settings.like else settings.calls
        self.n = self._samples(calls) if calls else settings.n

    def _samples(self, calls: int) -> int:
        """How many answers so many calls are."""
        return max(1, calls)

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Answers."""
        return (AnswerClaim,)

    def agents(self) -> tuple[str, ...]:
        """Who searches, and a reader a sample."""
        return (SEARCHER, *self.readers)

    @property
    def readers(self) -> tuple[str, ...]:
        """One a sample."""
        return tuple(f"reader-{number}" for number in range(1, self.n + 1))

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        plan = Plan(
            calls={"AnswerClaim": self.n},
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={"AnswerClaim": self.readers},
            call_depth=1,
            search_depth=1,
        )
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Searches with every tool at once, samples answers at once, and counts their labels."""
        passages = await self.search(claim, run)
        answers = await self.sample(claim, run, passages)
        label = majority([each.label for each in answers])
        chosen = [at for at, each in enumerate(answers) if each.label == label]
        first = answers[chosen[0]]
        quotes = [quote for at in chosen for quote in self.quoted(claim, answers[at], passages, self.readers[at])]
        return Verdict(
            claim=claim,
            label=label,
            confidence=first.confidence,
            decided_by="vote",
            rounds=1,
            round_labels=(tuple(each.label for each in answers),),
            reason=first.text,
            quotes=distinct(quotes),
            gaps=gaps(run.events),
        )

    async def search(self, claim: Claim, run: Run) -> tuple[Passage, ...]:
        """What every tool finds for the claim, each text once."""
        top_k = self.settings.top_k
        return await search_all(run, self.tools(), claim.text, top_k, agent=SEARCHER, round_=1, claim=claim)

    async def sample(self, claim: Claim, run: Run, passages: tuple[Passage, ...]) -> tuple[Answer, ...]:
        """One answer a reader, at once; one that cannot be read has no label."""

        async def one(number: int, name: str) -> Answer:
            task = AnswerClaim(claim=claim, passages=passages, profile=self.settings.profile, sample=number)
            try:
                return await Agent(name, run).perform(task, round_=1, temperature=self.settings.temperature)
            except BadReply as error:
                return Answer(text=error.raw, label=None)

        answers = await together(one(number, name) for number, name in enumerate(self.readers))
        for name, answer in zip(self.readers, answers, strict=True):
            quotes = self.quoted(claim, answer, passages, name)
            run.emit(Answered(agent=name, round=1, text=answer.text, label=answer.label, quotes=quotes))
        return tuple(answers)

    def quoted(self, claim: Claim, answer: Answer, passages: tuple[Passage, ...], reader: str) -> tuple[Quote, ...]:
        """What an answer quotes, as it stands in the passages."""
        return find_quotes(answer.quotes, passages, labels=claim.labels, label=answer.label, agent=reader)


def majority(labels: Sequence[str | None]) -> str | None:
    """The label that is given most often, of several the one that was given first; no label is no vote."""
    votes = Counter(label for label in labels if label is not None)
    return votes.most_common(1)[0][0] if votes else None  # of equals the first, as it was counted first
