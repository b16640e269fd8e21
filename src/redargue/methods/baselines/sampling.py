"""Several sampled answers to one question, after one search: self-consistency and best of n."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Scored
from redargue.methods.agent import Agent
from redargue.methods.base import Method, Roles, SearchSettings
from redargue.methods.dry_run import usual_calls
from redargue.methods.faithfulness import faithfulness, reasoning_of
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import majority
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.score import CheckStatements, WriteStatements
from redargue.verdicts import Verdict

_SEARCHER = "searcher"


class SamplingSettings(SearchSettings):
    """Settings of a method that samples answers to one question."""

    n: int = Field(default=40, ge=1, le=200)  # number of answers; the paper's by default
    # a method's name; makes as many calls as it usually makes with its default settings, instead of ``n``
    like: Word = ""
    calls: int = Field(default=0, ge=0, le=1000)  # makes this many calls instead of ``n``; 0 for no such limit
    temperature: float = Field(default=0.7, ge=0, le=2)

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.like and self.calls:
            raise ValueError(f"calls={self.calls} and like={self.like} both set the number of calls: use one of them")
        if self.like:
            usual_calls(self.like)  # an unknown name is refused now, not when the first claim is checked
        return self

    def samples(self, calls_per_answer: int) -> int:
        calls = usual_calls(self.like) if self.like else self.calls
        return max(1, calls // calls_per_answer) if calls else self.n


class SamplingMethod(Method):
    """One search, and several readers who answer concurrently, each in its own call.

    The small models do not sample: all their answers are the same, and the verdict is ``single-reader``'s.
    """

    calls_per_answer = 1

    settings: SamplingSettings

    async def sample(self) -> tuple[Answer, ...]:
        """One answer per reader; an unreadable one has no label."""
        passages = await self.agents[_SEARCHER].search(self.claim.text, self.settings.top_k, round_=1)
        readers = [self.agents[name] for name in self.readers_for(self.settings)]
        self.readers, self.passages = readers, passages

        async def read(number: int, reader: Agent) -> Answer:
            try:
                return await self.ask(reader, AnswerClaim, round_=1, passages=passages, sample=number)
            except BadReply as error:
                return Answer(text=error.raw, label=None)

        answers = await gather_or_cancel(read(number, reader) for number, reader in enumerate(readers))
        for reader, answer in zip(readers, answers, strict=True):
            self.answered(reader.name, answer, round_=1, passages=passages)
        return tuple(answers)

    def keep_quotes_of(self, kept: Sequence[int], answers: Sequence[Answer]) -> None:
        self.quotes.clear()
        for place in kept:
            answer = answers[place]
            self.cite(answer.quotes, label=answer.label, agent=self.readers[place].name, passages=self.passages)

    @classmethod
    def readers_for(cls, settings: SamplingSettings) -> tuple[str, ...]:
        return tuple(f"reader-{number}" for number in range(1, settings.samples(cls.calls_per_answer) + 1))

    @classmethod
    def roles_for(cls, settings: SamplingSettings) -> Roles:
        return {_SEARCHER: settings.tools, **dict.fromkeys(cls.readers_for(settings))}


class SelfConsistency(SamplingMethod, name="self-consistency", settings=SamplingSettings):
    """One search, n sampled answers, the most frequent label (2203.11171); n can match another method's calls.

    Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (ICLR 2023), over the prompt
    of ``single-reader``. The settings ``like`` and ``calls`` match the number of answers to the calls of another
    method, so that both cost the same.
    """

    paper = (
        "Wang, Wei, Schuurmans, Le, Chi, Narang, Chowdhery, Zhou: Self-Consistency Improves Chain of Thought Reasoning"
        " in Language Models, 2022, arXiv 2203.11171"
    )
    graph = "searches -> answer xN -> majority"
    asks = (AnswerClaim,)

    async def check(self, claim: Claim) -> Verdict:
        answers = await self.sample()
        labels = tuple(answer.label for answer in answers)
        label = majority(labels)
        chosen = [index for index, answer in enumerate(answers) if answer.label == label]
        self.keep_quotes_of(chosen, answers)
        first = answers[chosen[0]]
        return self.verdict(
            label,
            reason=first.text,
            confidence=first.confidence,
            decided_by="vote",
            rounds=1,
            round_labels=(labels,),
        )


class BestOfNSettings(SamplingSettings):
    """Settings of ``best-of-n``: those of a method that samples answers."""

    n: int = Field(default=10, ge=1, le=200)  # answers; each takes three calls


class BestOfN(SamplingMethod, name="best-of-n", settings=BestOfNSettings):
    """One search, n sampled answers, the most faithful kept; may match any method's calls (baseline).

    Best-of-n sampling as in Stiennon et al. (2020, arXiv 2009.01325), with faithfulness (Es et al. 2023, as in
    Tool-MAD) instead of a trained reward; it has not been published for claims. It shows what Tool-MAD's score is worth
    without its debate; with ``like`` or ``calls`` it makes as many calls as another method, three for each answer.
    """

    paper = (
        "Stiennon, Ouyang, Wu, Ziegler, Lowe, Voss, Radford, Amodei, Christiano: Learning to Summarize from Human"
        " Feedback, 2020, arXiv 2009.01325"
    )
    graph = "searches -> (answer -> statements -> check) xN -> best"
    asks = (AnswerClaim, WriteStatements, CheckStatements)
    calls_per_answer = 3  # the answer, its statements, their check

    def scored_text(self, answer: Answer) -> str:
        return answer.text if self.settings.profile == "paper" else reasoning_of(answer.text, self.claim.text)

    async def check(self, claim: Claim) -> Verdict:
        """Scores the answers that have a label and keeps the best; among equals the first."""
        answers = await self.sample()
        labelled = [place for place, answer in enumerate(answers) if answer.label is not None]
        results = await gather_or_cancel(
            faithfulness(
                self.readers[place],
                claim.text,
                self.scored_text(answers[place]),
                self.passages,
                round_=1,
                profile=self.settings.profile,
            )
            for place in labelled
        )
        scores = dict(zip(labelled, results, strict=True))
        for score in results:
            self.run.emit(Scored(agent=score.agent, round=1, score=score))
        best = max(labelled, key=lambda place: -1.0 if (value := scores[place].value) is None else value, default=0)
        self.keep_quotes_of([best], answers)
        kept = answers[best]
        labels = tuple(answer.label for answer in answers)
        return self.verdict_of(kept, decided_by="reader", rounds=1, round_labels=(labels,), scores=results)
