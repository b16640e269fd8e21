"""One pass: one reading of all claims of a text, a second one of those that it does not settle, and a judge.

It has no publication. Where claims are verified one by one, without a text, each is a reading of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from math import inf
from typing import Any, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, BudgetReached, ProviderError, RedargueError, ReplayMiss, UsageError
from redargue.events import RoundEnded, StageEnded
from redargue.evidence import Passage, Side, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import ConfiguredMethod, Layout, Method, Roles, SearchSettings, configure
from redargue.methods.gathering import merged, open_query
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import (
    can_carry,
    distinct,
    read_english,
    read_quotes,
    side_of,
)
from redargue.quotes import find_quotes
from redargue.run import Run
from redargue.tasks.answer import Answer, Quotations, quotes_field, with_quoted_reasons
from redargue.tasks.base import AnyTask, Task, lines, text_field
from redargue.tasks.extract import BLOCK
from redargue.tasks.judge import JudgeDebate, Turn, mean_confidence
from redargue.tasks.score import ReadPassages
from redargue.tasks.sections import as_of, by_document, documents, label_definitions, quotation_rule
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class ClaimReading(Frozen):
    """What the documents say about one claim; the quotations come first, so that they are not chosen for the label."""

    claim: int = Field(description="the number of the claim")
    document: int = Field(default=0, description="the number of the document that says most about it; 0 if none does")
    quotes: Quotations = quotes_field("the sentence of that document, copied exactly: not the claim; none if none does")
    comparison: str = text_field("what they say about the claim: one sentence", 300, default="")
    label: str = Field(description="the label of the claim")

    @field_validator("document", "comparison", mode="before")
    @classmethod
    def _without_null(cls, value: Any, field: ValidationInfo) -> Any:
        """Reads null, and a document that is named otherwise, as if the field were missing: nothing depends on it."""
        default = cls.model_fields[str(field.field_name)].default
        return value if isinstance(value, type(default)) else default


class ClaimReadings(Frozen):
    """One reading a claim."""

    readings: tuple[ClaimReading, ...] = Field(
        description="one item a claim, in their order", json_schema_extra={"maxItems": BLOCK}
    )


class Answers(Frozen):
    """An answer to each claim, in order; None where the label of its reading is not one of the claim's."""

    answers: tuple[Answer | None, ...]


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
        """Raises a ValueError unless each claim has one reading, and any of them one of the labels."""
        assert isinstance(reply, ClaimReadings)
        numbers = sorted(reading.claim for reading in reply.readings)
        if numbers != list(range(1, len(self.claims) + 1)):
            raise ValueError(f"each of the claims 1 to {len(self.claims)} needs one reading, not {numbers}")
        ordered = sorted(reply.readings, key=lambda reading: reading.claim)
        answers = tuple(map(self._answer, ordered))
        if not any(answers):
            known = ", ".join(self.claims[0].labels.names)
            raise ValueError(f"claim 1: {ordered[0].label[:60]!r} is not one of the labels {known}")
        return Answers(answers=answers)

    def _answer(self, reading: ClaimReading) -> Answer | None:
        label = self.claims[0].labels.single(reading.label)
        if label is None:
            return None
        given = tuple(text for quote in reading.quotes if (text := quote.strip()))
        quotes = with_quoted_reasons(given, (reading.comparison,), self.passages)
        text = lines(*(f'"{quote}"' for quote in quotes), reading.comparison.strip(), f"**{label}**")
        return Answer(text=text, label=label, quotes=quotes)

    def asked_on(self, day: date) -> Self:
        """With the day, unless the claims have a date of their own."""
        undated = self.claims[0].as_of is None and self.profile == "hardened"
        return self.model_copy(update={"today": day}) if undated else self


class DoubtClaims(ReadClaims):
    """:class:`ReadClaims`, asked of a reader who first looks for what would make each claim wrong."""


class OnePassSettings(SearchSettings):
    """Settings of ``one-pass``.

    Attributes:
        tools: each is searched for every claim.
        top_k: passages per claim and tool, and for the second reading as many per open query.
        claims: most claims of one reading.
        characters: of the passages of one reading; the best of each claim come first, and where they
            have no room, the claims are read in several readings.
        small_reader: whether the small reader reads each claim too; what it contradicts is read a second time.
        least_support: the small reader's probability, in [0, 1], below which it finds no support in what is quoted. At
            0.1, beside the nearest sentence of their documents, go on 6 of 100 true claims, 21 false and 43 open ones
            (written contrast claims, even half).
        rounds: of the debate where the readings disagree, with the readings as its first; the judge decides after the
            last.
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    claims: int = Field(default=BLOCK, ge=1, le=BLOCK)
    characters: int = Field(default=24_000, ge=1_000, le=400_000)
    small_reader: bool = True
    least_support: float = Field(default=0.1, ge=0, le=1)
    rounds: int = Field(default=1, ge=1, le=20)

    @property
    def single_reader(self) -> ConfiguredMethod:
        return configure("single-reader", self.profile, {"tools": self.tools, "top_k": self.top_k})

    @property
    def pair(self) -> ConfiguredMethod:
        return configure("pair", self.profile, {"tools": self.tools, "top_k": self.top_k, "rounds": self.rounds})


_Turns = tuple[Turn, ...]
_FIRST, _SECOND = "first", "second"  # as in the pair


class OnePass(Method, name="one-pass", settings=OnePassSettings):
    """All claims of a text in one reading, those that it does not settle in a second one, and a judge for the rest.

    A claim stays as it was read if it is supported, words that can carry that are quoted and located, and the small
    reader finds some support in them; or if neither the reading nor the small reader finds it settled. All others are
    read a second time, together, by a reader who looks for what would make them wrong. Where both readings say the
    same and one of them quotes its evidence, that is the verdict; else they are the first round of a debate. A claim
    whose readings fail goes to a single reader.
    """

    paper = "none: redargue's own, over its pair of readers"
    graph = "searches for all claims -> one reading; not settled: -> a second reading; no agreement: -> judge"
    profiles = {"hardened": {}}
    reads_ahead = True

    settings: OnePassSettings

    @classmethod
    async def read_ahead(cls, settings: OnePassSettings, claims: Sequence[Claim], run: Run) -> tuple[_Turns, ...]:
        tasks, dated = cls.asks_for(settings), claims[0]  # all have its dates
        first, second = (Agent(name, run, claim=dated, tools=settings.tools, tasks=tasks) for name in (_FIRST, _SECOND))
        read = await _Readers(settings, first, second).read(claims)
        return tuple(_beside((), turns) for turns in read)  # a claim's own run finds its passages again

    async def check(self, claim: Claim, first: Agent, second: Agent) -> Verdict:
        self.require_labels()
        if self.run.opening is None:
            (turns,) = await _Readers(self.settings, first, second, alone=True).read((claim,))
            turns = _beside(chain.from_iterable(turn.passages for turn in turns), turns)
        else:
            turns = self.run.opening and await self.found_again(self.run.opening, first, second)
        if not turns:
            return await self.go_on((), ("there is no reading of it",))
        for turn in turns:
            self.answered(turn.agent, turn.answer, round_=1, passages=turn.passages)
        labels = tuple(turn.answer.label for turn in turns)
        answer = turns[0].answer.model_copy(update={"confidence": mean_confidence(turns)})
        author = "consensus" if len(turns) > 1 else "reader"
        verdict = self.verdict_of(answer, decided_by=author, rounds=1, round_labels=[labels])
        if why := self.why_open(turns):
            return await self.go_on(turns, why)
        self.ended(turns, (self.why_settled(turns),), stopped=True)
        return verdict

    async def found_again(self, turns: _Turns, first: Agent, second: Agent) -> _Turns:
        """The turns with the claim's own passages, and those of quotations that only other claims have found."""
        read = await first.search(self.claim.text, self.settings.top_k, round_=1)
        if len(turns) > 1:
            read += await _with_other_side(self.claim, read, self.settings, second)
        texts = [(turn.answer.label, quote) for turn in turns for quote in turn.answer.quotes]
        missing = dict.fromkeys(quote for label, quote in texts if self.why_not_yet(label, (quote,), read))
        found = await gather_or_cancel(first.search(quote, 1, round_=1) for quote in missing)
        return _beside((*read, *chain.from_iterable(found)), turns)

    def require_labels(self) -> None:
        """Raises a UsageError for a claim whose question the numbered claims of a prompt do not show."""
        if self.claim.options or self.claim.labels.free_text:
            what = "one-pass reads claims with labels, no options and no free text"
            raise UsageError(what, hint="choose another method: --method single-reader")

    def why_open(self, turns: _Turns) -> tuple[str, ...]:
        """Why the readings do not settle the claim; empty where they do."""
        if len({turn.answer.label for turn in turns}) > 1:
            return ("the readings disagree",)
        lacking = [self.why_not_yet(turn.answer.label, turn.answer.quotes, turn.passages) for turn in turns]
        return (lacking[0],) if all(lacking) and len(turns) > 1 else ()

    def why_settled(self, turns: _Turns) -> str:
        if len(turns) > 1:
            return "both readings say the same"
        is_open = side_of(self.claim.labels, turns[0].answer.label) is Side.CONTEXT
        return "the reading leaves it open" if is_open else "what the reading quotes is located"

    async def go_on(self, turns: _Turns, why: tuple[str, ...]) -> Verdict:
        """The verdict of a debate that continues the readings; of a single reader where there are none."""
        self.ended(turns, why, stopped=False)
        method = self.settings.pair if turns else self.settings.single_reader
        further = method.for_claim(self.claim, self.run)
        further.opening, further.objected = turns, why
        verdict = await further.verify()
        return verdict.model_copy(update={"quotes": distinct([*verdict.quotes, *self.quotes])})

    def ended(self, turns: _Turns, why: tuple[str, ...], *, stopped: bool) -> None:
        labels = tuple(turn.answer.label for turn in turns)
        agreed = len({*labels}) == 1
        if len(turns) > 1:
            self.run.emit(RoundEnded(round=1, labels=labels, agreed=agreed, accepted=stopped, why=why))
        stage = {"stage": self.name, "number": 1, "of": 2, "usage": self.run.usage}
        label = labels[0] if agreed else None
        self.run.emit(StageEnded(label=label, may_decide=stopped, stopped=stopped, why=why, **stage))

    @classmethod
    def roles_for(cls, settings: OnePassSettings) -> Roles:
        agents = (*settings.pair.agents(), *settings.single_reader.agents())
        return dict.fromkeys(agents) | dict.fromkeys((_FIRST, _SECOND), settings.tools)

    @classmethod
    def layout(cls, settings: OnePassSettings) -> Layout:
        return settings.pair.layout()

    @classmethod
    def asks_for(cls, settings: OnePassSettings) -> tuple[type[AnyTask], ...]:
        small: tuple[type[AnyTask], ...] = (ReadPassages,) if settings.small_reader else ()
        debate = settings.pair.tasks() if settings.rounds > 1 else (JudgeDebate,)
        return tuple(dict.fromkeys((ReadClaims, DoubtClaims, *small, *debate)))


class _Reading(NamedTuple):
    """An answer about a claim, None where it could not be read; what was found, and what it may quote."""

    answer: Answer | None
    found: tuple[Passage, ...]
    quotable: tuple[Passage, ...]  # all that was shown; of whole tools only the claim's own passages are its evidence
    stopped: RedargueError | None = None  # a spent budget or a failed endpoint, where no reply came


class _Readers(NamedTuple):
    """The two readers of a text, or of a claim ``alone``: all its passages have room, and its failures are its own."""

    settings: OnePassSettings
    first: Agent
    second: Agent
    alone: bool = False

    async def read(self, claims: Sequence[Claim]) -> tuple[_Turns, ...]:
        """For each claim its readings, of which there are two where the first does not settle it; none if one fails.

        Raises BudgetReached or ProviderError where they end the first reading of all: a resumed run then reads the
        claims together, and not one by one.
        """
        searches = (self.first.search(claim.text, self.settings.top_k, round_=1) for claim in claims)
        once = await self._in_groups(ReadClaims, claims, await gather_or_cancel(searches), self.first)
        stopped = [reading.stopped for reading in once if reading.stopped]
        if stopped and not any(reading.answer for reading in once):
            raise stopped[0]
        settled = await gather_or_cancel(
            self._settles(claim, reading) for claim, reading in zip(claims, once, strict=True)
        )
        unsettled = [at for at, known in enumerate(settled) if not known and once[at].answer]
        doubted = [claims[at] for at in unsettled]
        found = await gather_or_cancel(
            _with_other_side(claims[at], once[at].found, self.settings, self.second) for at in unsettled
        )
        again = dict(zip(unsettled, await self._in_groups(self._second_task, doubted, found, self.second), strict=True))
        return tuple(
            _turns(claim, once[at], again[at]) if at in again else _turns(claim, once[at])
            for at, claim in enumerate(claims)
        )

    @property
    def _second_task(self) -> type[ReadClaims]:
        """The second reader's task: the same for another model, as for ``pair``."""
        one, other = (agent.run.named_model(ReadClaims, agent.name) for agent in (self.first, self.second))
        return DoubtClaims if one == other else ReadClaims

    async def _in_groups(
        self, kind: type[ReadClaims], claims: Sequence[Claim], found: Sequence[tuple[Passage, ...]], reader: Agent
    ) -> list[_Reading]:
        size = self.settings.claims
        groups = (slice(at, at + size) for at in range(0, len(claims), size))
        read = await gather_or_cancel(self._with_room(kind, claims[part], found[part], reader) for part in groups)
        return list(chain.from_iterable(read))

    async def _with_room(
        self, kind: type[ReadClaims], claims: Sequence[Claim], found: Sequence[tuple[Passage, ...]], reader: Agent
    ) -> list[_Reading]:
        """One reading, or smaller ones that leave out nothing that their claims need.

        A single claim without room is not read; a single reader reads it beside all of its passages.
        """
        shown = tuple(_within(found, inf if self.alone else self.settings.characters))
        has_whole = any(map(reader.run.is_whole, reader.tools))  # its passages are all needed, else each claim's best
        needed = chain.from_iterable(passages if has_whole else passages[:1] for passages in found)
        if {passage.content for passage in needed} <= {passage.content for passage in shown}:
            task = kind(claims=tuple(claims), passages=shown, profile=self.settings.profile)
            stopped = None
            try:
                answers = (await reader.perform(task, round_=1)).answers
            except (BadReply, BudgetReached, ProviderError, ReplayMiss) as error:
                if self.alone and not isinstance(error, BadReply):
                    raise
                stopped = error if isinstance(error, BudgetReached | ProviderError) else None
                answers = (None,) * len(claims)  # a single reader reads each, and says what it lacks
            return [
                _Reading(answer, own, own if has_whole else shown, stopped)
                for answer, own in zip(answers, found, strict=True)
            ]
        if len(claims) == 1:
            return [_Reading(None, found[0], ())]
        middle = len(claims) // 2
        parts = (claims[:middle], found[:middle]), (claims[middle:], found[middle:])
        read = await gather_or_cancel(self._with_room(kind, *part, reader) for part in parts)
        return list(chain.from_iterable(read))

    async def _settles(self, claim: Claim, reading: _Reading) -> bool:
        """Whether one reading is enough: the small reader, if it is asked, does not object to it."""
        answer = reading.answer
        meaning = claim.labels.meaning(answer.label) if answer and answer.label else None
        if answer is None or meaning not in (Meaning.SUPPORTED, Meaning.NOT_ENOUGH):
            return False
        if meaning is Meaning.NOT_ENOUGH:
            read = await read_english(claim, reading.found, self.first) if self.settings.small_reader else None
            return read is None or side_of(claim.labels, read.label) is Side.CONTEXT
        texts = (find_quotes(text, reading.quotable, side=Side.FOR) for text in answer.quotes if text.strip())
        quotes = distinct([*chain.from_iterable(texts)])
        if not any(can_carry(quote, reading.quotable) for quote in quotes):
            return False
        read = await read_quotes(claim, quotes, self.first) if self.settings.small_reader else None
        if read is None:
            return True
        supports = read.probabilities.get(str(answer.label), 1.0) >= self.settings.least_support
        return supports and side_of(claim.labels, read.label) is not Side.AGAINST


def _turns(claim: Claim, *readings: _Reading) -> _Turns:
    queries = claim.text, open_query(claim.text)
    turns = tuple(
        Turn(agent=agent, round=1, query=query, passages=reading.found, answer=reading.answer)
        for agent, query, reading in zip((_FIRST, _SECOND), queries, readings, strict=False)
        if reading.answer
    )
    return turns if len(turns) == len(readings) else ()


def _beside(passages: Iterable[Passage], turns: _Turns) -> _Turns:
    shown = distinct_passages(passages)
    return tuple(turn.model_copy(update={"passages": shown}) for turn in turns)


async def _with_other_side(
    claim: Claim, found: tuple[Passage, ...], settings: OnePassSettings, reader: Agent
) -> tuple[Passage, ...]:
    """What was found for the claim, and what is found for the other side, of each the best first."""
    query = open_query(claim.text)
    if query == claim.text or any(map(reader.run.is_whole, reader.tools)):
        return found
    return distinct_passages(merged((found, await reader.search(query, settings.top_k, round_=1))))


def _within(found: Sequence[Sequence[Passage]], characters: float) -> Iterator[Passage]:
    """The best passages of each claim first, each once, as long as there is room for them."""
    for passage in distinct_passages(merged(found)):
        if characters >= len(passage.text):
            characters -= len(passage.text)
            yield passage
