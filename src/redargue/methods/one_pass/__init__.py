"""One pass: one reading of all claims of a text; only those that it does not settle are passed to ``pair``.

It has no publication. Where claims are verified one by one, without a text, each is a reading of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any, Self

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import StageEnded
from redargue.evidence import Passage, Side, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import ConfiguredMethod, Layout, Method, Roles, SearchSettings, configure
from redargue.methods.gathering import merged
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import distinct, read_english, read_quotes, side_of, why_unsettled
from redargue.run import Run
from redargue.tasks.answer import Answer, Quotations, quotes_field
from redargue.tasks.base import AnyTask, Task, lines, text_field
from redargue.tasks.extract import BLOCK
from redargue.tasks.judge import Turn
from redargue.tasks.score import ReadPassages
from redargue.tasks.sections import as_of, by_document, documents, label_definitions, quotation_rule
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class ClaimReading(Frozen):
    """What the documents say about one claim; the quotations come first, so that they are not chosen for the label."""

    claim: int = Field(description="the number of the claim")
    document: int = Field(description="the number of the document that says most about it; 0 if none does")
    quotes: Quotations = quotes_field("the sentence of that document, copied exactly: not the claim; none if none does")
    comparison: str = text_field("what they say about the claim: one sentence", 300)
    label: str = Field(description="the label of the claim")


class ClaimReadings(Frozen):
    """One reading a claim."""

    readings: tuple[ClaimReading, ...] = Field(
        description="one item a claim, in their order", json_schema_extra={"maxItems": BLOCK}
    )


class Answers(Frozen):
    """An answer to each claim, in order."""

    answers: tuple[Answer, ...]


class ReadClaims(Task[Answers]):
    """The answers to all ``claims`` from the same passages; the claims share labels, context and date."""

    claims: tuple[Claim, ...]
    passages: tuple[Passage, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        first = self.claims[0]
        rows = (f"[{number}] {' '.join(claim.text.split())}" for number, claim in enumerate(self.claims, 1))
        return {
            "label_definitions": label_definitions(first.labels),
            "quotation_rule": quotation_rule(first.labels),
            "context": wrap_untrusted(first.context),
            "as_of": as_of(first, self.profile),
            "document": documents(self.passages, self.profile),
            "claims": wrap_untrusted("\n".join(rows)),
        }

    def fixed_items(self) -> dict[str, tuple[str, Sequence[Any]]]:
        return {"readings": ("claim", range(1, len(self.claims) + 1))}

    def enum_fields(self) -> dict[str, Sequence[str | int]]:
        shown = range(len(by_document(self.passages)) + 1)
        return {"readings.document": tuple(shown), "readings.label": self.claims[0].labels.names}

    def reply_type(self) -> type[Frozen]:
        return ClaimReadings

    def from_reply(self, reply: Frozen) -> Answers:
        """Raises a ValueError unless each claim has one reading, with one of its labels."""
        assert isinstance(reply, ClaimReadings)
        numbers = sorted(reading.claim for reading in reply.readings)
        if numbers != list(range(1, len(self.claims) + 1)):
            raise ValueError(f"each of the claims 1 to {len(self.claims)} needs one reading, not {numbers}")
        ordered = sorted(reply.readings, key=lambda reading: reading.claim)
        return Answers(answers=tuple(map(self._answer, ordered)))

    def _answer(self, reading: ClaimReading) -> Answer:
        labels = self.claims[0].labels
        label = labels.single(reading.label)
        if label is None:
            known = ", ".join(labels.names)
            raise ValueError(f"claim {reading.claim}: {reading.label[:60]!r} is not one of the labels {known}")
        quotes = tuple(text for quote in reading.quotes if (text := quote.strip()))
        text = lines(*(f'"{quote}"' for quote in quotes), reading.comparison.strip(), f"**{label}**")
        return Answer(text=text, label=label, quotes=quotes)

    def asked_on(self, day: date) -> Self:
        """With the day, unless the claims have a date of their own."""
        undated = self.claims[0].as_of is None and self.profile == "hardened"
        return self.model_copy(update={"today": day}) if undated else self


class OnePassSettings(SearchSettings):
    """Settings of ``one-pass``.

    Attributes:
        tools: each is searched for every claim.
        top_k: passages per claim and tool.
        claims: most claims of one reading.
        characters: of the passages of one reading; the best of each claim come first, and where they
            have no room, the claims are read in several readings.
        small_reader: whether the small reader reads each claim too; what it contradicts is passed on to the pair.
        least_support: the small reader's probability, in [0, 1], below which it finds no support in what is quoted. At
            0.1, beside the nearest sentence of their documents, go on 6 of 100 true claims, 21 false and 43 open ones
            (written contrast claims, even half).
        rounds: of the pair and its debate.
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    claims: int = Field(default=BLOCK, ge=1, le=BLOCK)
    characters: int = Field(default=24_000, ge=1_000, le=400_000)
    small_reader: bool = True
    least_support: float = Field(default=0.1, ge=0, le=1)
    rounds: int = Field(default=2, ge=1, le=20)

    @property
    def pair(self) -> ConfiguredMethod:
        return configure("pair", self.profile, {"tools": self.tools, "top_k": self.top_k, "rounds": self.rounds})


_READER = "reader"


class OnePass(Method, name="one-pass", settings=OnePassSettings):
    """All claims of a text in one reading; a pair of readers for those that it does not settle.

    A claim stays as it was read if it is supported, words that can carry that are quoted and located, and the small
    reader finds some support in them; or if neither the reading nor the small reader finds it settled. Everything else
    is passed on to the pair: what is refuted, is not located, or could not be read.
    """

    paper = "none: redargue's own, over its pair of readers"
    graph = "searches for all claims -> one reading; not settled: -> pair"
    profiles = {"hardened": {}}
    reads_ahead = True

    settings: OnePassSettings

    @classmethod
    async def read_ahead(cls, settings: OnePassSettings, claims: Sequence[Claim], run: Run) -> tuple[Turn | None, ...]:
        reader = Agent(_READER, run, tools=settings.tools, tasks=(ReadClaims,))
        groups = [claims[at : at + settings.claims] for at in range(0, len(claims), settings.claims)]
        read = await gather_or_cancel(_search_and_read(group, settings, reader) for group in groups)
        answers = chain.from_iterable(read)
        return tuple(
            Turn(agent=_READER, round=1, query=claim.text, answer=answer) if answer else None
            for claim, answer in zip(claims, answers, strict=True)
        )

    async def check(self, claim: Claim, reader: Agent) -> Verdict:
        passages = await reader.search(claim.text, self.settings.top_k)
        if self.run.opening:
            answer: Answer | None = self.run.opening.answer
            passages = (*passages, *await self.quoted(self.run.opening.answer, passages, reader))
        else:
            (answer,) = await _read((claim,), passages, self.settings, reader)
        if answer is None:
            return await self.go_on(None, ("the reading could not be read",))
        self.answered(_READER, answer, passages=passages)
        verdict = self.verdict_of(answer)
        if why := await self.why_open(answer, verdict, passages, reader):
            return await self.go_on(answer.label, why)
        self.ended(answer.label, ("it is settled, and the small reader does not object",), stopped=True)
        return verdict

    async def quoted(self, answer: Answer, passages: tuple[Passage, ...], reader: Agent) -> tuple[Passage, ...]:
        """The passages of quotations that only other claims have found, among the given documents."""
        missing = [quote for quote in answer.quotes if self.why_not_yet(answer.label, (quote,), passages)]
        found = await gather_or_cancel(reader.search(quote, 1) for quote in missing)
        return tuple(chain.from_iterable(found))

    async def why_open(
        self, answer: Answer, verdict: Verdict, passages: tuple[Passage, ...], reader: Agent
    ) -> tuple[str, ...]:
        """Why the reading does not settle the claim; empty where it does."""
        side = side_of(self.claim.labels, answer.label)
        if side is Side.AGAINST:
            return ("it is refuted",)
        if side is Side.CONTEXT:
            return await self.why_not_open(passages, reader)
        if lacks := self.why_not_yet(answer.label, answer.quotes, passages):
            return (lacks,)
        return why_unsettled(verdict, self.run) or await self.objection(verdict, reader)

    async def objection(self, verdict: Verdict, reader: Agent) -> tuple[str, ...]:
        """What the small reader says against the support that it is shown."""
        read = await read_quotes(self.claim, verdict.quotes, reader) if self.settings.small_reader else None
        if read is None:
            return ()
        if side_of(self.claim.labels, read.label) is Side.AGAINST:
            return ("the small reader reads the other side in what is quoted",)
        if read.probabilities.get(str(verdict.label), 1.0) < self.settings.least_support:
            return ("the small reader finds no support in what is quoted",)
        return ()

    async def why_not_open(self, passages: tuple[Passage, ...], reader: Agent) -> tuple[str, ...]:
        """Whether the small reader finds the claim settled by its passages."""
        read = await read_english(self.claim, passages, reader) if self.settings.small_reader else None
        settles = read is not None and side_of(self.claim.labels, read.label) is not Side.CONTEXT
        return ("the small reader finds the claim settled",) if settles else ()

    async def go_on(self, label: str | None, why: tuple[str, ...]) -> Verdict:
        self.ended(label, why, stopped=False)
        verdict = await self.settings.pair.for_claim(self.claim, self.run).verify()
        side = side_of(self.claim.labels, verdict.label)
        quotes = [quote for quote in self.quotes if side in (quote.side, Side.CONTEXT)]
        return verdict.model_copy(update={"quotes": distinct([*verdict.quotes, *quotes])})

    def ended(self, label: str | None, why: tuple[str, ...], *, stopped: bool) -> None:
        stage = {"stage": self.name, "number": 1, "of": 2, "usage": self.run.usage}
        self.run.emit(StageEnded(label=label, may_decide=stopped, stopped=stopped, why=why, **stage))

    @classmethod
    def roles_for(cls, settings: OnePassSettings) -> Roles:
        return {_READER: settings.tools, **dict.fromkeys(settings.pair.agents())}

    @classmethod
    def layout(cls, settings: OnePassSettings) -> Layout:
        return settings.pair.layout()

    @classmethod
    def asks_for(cls, settings: OnePassSettings) -> tuple[type[AnyTask], ...]:
        small: tuple[type[AnyTask], ...] = (ReadPassages,) if settings.small_reader else ()
        return tuple(dict.fromkeys((ReadClaims, *small, *settings.pair.tasks())))


async def _search_and_read(
    claims: Sequence[Claim], settings: OnePassSettings, reader: Agent
) -> Sequence[Answer | None]:
    found = await gather_or_cancel(reader.search(claim.text, settings.top_k) for claim in claims)
    return await _read_with_room(claims, found, settings, reader)


async def _read_with_room(
    claims: Sequence[Claim], found: Sequence[tuple[Passage, ...]], settings: OnePassSettings, reader: Agent
) -> Sequence[Answer | None]:
    """The answers of one reading, or of smaller ones that leave out nothing that their claims need.

    Where a single claim has no room, :meth:`OnePass.check` reads it beside all of its passages.
    """
    shown = tuple(_within(found, settings.characters))
    has_whole = any(map(reader.run.is_whole, reader.tools))  # its passages are all needed, otherwise each claim's best
    needed = chain.from_iterable(passages if has_whole else passages[:1] for passages in found)
    if {passage.content for passage in needed} <= {passage.content for passage in shown}:
        return await _read(claims, shown, settings, reader)
    if len(claims) == 1:
        return (None,)
    middle = len(claims) // 2
    parts = (claims[:middle], found[:middle]), (claims[middle:], found[middle:])
    read = await gather_or_cancel(_read_with_room(*part, settings, reader) for part in parts)
    return tuple(chain.from_iterable(read))


async def _read(
    claims: Sequence[Claim], passages: tuple[Passage, ...], settings: OnePassSettings, reader: Agent
) -> Sequence[Answer | None]:
    """The reader's answers; None for each where its reply cannot be read."""
    task = ReadClaims(claims=tuple(claims), passages=passages, profile=settings.profile)
    try:
        return (await reader.perform(task, round_=1)).answers
    except BadReply:
        return (None,) * len(claims)


def _within(found: Sequence[Sequence[Passage]], characters: int) -> Iterator[Passage]:
    """The best passages of each claim first, each once, as long as there is room for them."""
    for passage in distinct_passages(merged(found)):
        if characters >= len(passage.text):
            characters -= len(passage.text)
            yield passage
