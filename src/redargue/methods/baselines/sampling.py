"""One search, and several answers to one question. ``like`` and ``calls`` match the calls of another method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.base import Method, Roles, SearchSettings
from redargue.methods.dry_run import usual_calls
from redargue.methods.setting_types import Word
from redargue.tasks.answer import Answer, AnswerClaim

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


def majority(labels: Sequence[str | None]) -> str | None:
    """The most frequent label, among several the first; answers without a label do not vote."""
    votes = Counter(label for label in labels if label is not None)
    return votes.most_common(1)[0][0] if votes else None  # the first of equals, because a Counter keeps the order
