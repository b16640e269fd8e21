"""Replays recordings of earlier releases: finds recorded answers by position where their keys no longer match.

A key holds the words of a task, so a release that changes prompts or renames tasks cannot compute the keys of an
earlier one. It still asks in the same course. A trial replay therefore runs the claim against the record: questions
wait until nothing else can run, and the earliest recorded answer that is left goes to the question at its position.
That is the question which it answered, because the recorded run was in the same state when the answer arrived.

Only questions at one position that were asked concurrently can be confused. Then orders are tried until the replay
emits the recorded events; if none does, the replay is refused.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redargue.errors import ReplayMiss
from redargue.events import (
    CallFailed,
    CallFinished,
    ClaimStarted,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    canonical,
)
from redargue.runs.manifest import FORMAT
from redargue.runs.record import Mode, Paid, Record

Answer = Paid | CallFailed
Position = tuple[Any, ...]
Attempt = Callable[["Alignment", Callable[[Event], None]], Awaitable[None]]
"""Replays the claim against that record, with its recorded settings, and passes every event on."""

TASKS: Mapping[str, str] = {}
"""Tasks that were renamed: the name in earlier recordings → the name now."""

ANSWERS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Tasks, by their name now, whose answers had other fields: converts such an answer, and returns any other as it is."""

IDLE_TURNS = 100  # of the event loop without a new question, after which every question that can be asked waits
MOST_TRIALS = 200


def call_position(agent: str, round_: int, task: str) -> Position:
    """Of a task, by its name now or then."""
    return "call", agent, round_, TASKS.get(task, task)


def evidence_position(agent: str, round_: int, tool: str, query: str) -> Position:
    """Of a search, or of a call of an action with arguments as JSON."""
    return "evidence", agent, round_, tool, query


def memory_position(kind: str, agent: str, round_: int, entities: Sequence[str]) -> Position:
    """Of a recall from the memory (``recall``), or of what it was given (``remember``)."""
    return kind, agent, round_, tuple(entities)


def position_of(event: Answer) -> Position:
    """The position of the question that a recorded answer belongs to."""
    if isinstance(event, CallFinished | CallFailed):
        return call_position(event.agent, event.round, event.task)
    if isinstance(event, EvidenceFound | EvidenceMissing):
        return evidence_position(event.agent, event.round, event.tool, event.query)
    kind = "recall" if isinstance(event, EvidenceRecalled) else "remember"
    return memory_position(kind, event.agent, event.round, event.entities)


def convert_answer(task: str, answer: dict[str, Any]) -> dict[str, Any]:
    """A recorded answer with the fields that the task has now."""
    convert = ANSWERS.get(task)
    return convert(answer) if convert else answer


@dataclass(eq=False)
class _Question:
    key: str
    position: Position
    accepts: Callable[[Answer], bool]
    exact: Answer | None
    answer: asyncio.Future[Answer | None]


@dataclass
class Alignment:
    """The record of one trial replay; a :class:`~redargue.runs.record.CallRecord`.

    Attributes:
        record: of the earlier format.
        item: the claim's index.
        answers: its recorded answers, in the order in which they arrived.
        plan: for a position at which questions wait together, which of them gets each answer; the first by default.
        points: where the trial had a choice: for each such position, among how many questions, answer by answer.
        matched: the answers by the keys that their questions have now.
    """

    record: Record
    item: int
    answers: Sequence[Answer]
    plan: Mapping[Position, Sequence[int]] = field(default_factory=dict)
    points: dict[Position, list[int]] = field(default_factory=dict)
    matched: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mode: Mode = "replay"
        self.folder: Path = self.record.folder
        self.id = self.record.id
        self._left = list(self.answers)
        self._waiting: list[_Question] = []
        self._turning = False
        self._idle = 0

    @property
    def left(self) -> tuple[Answer, ...]:
        """Recorded answers that were not asked for."""
        return tuple(self._left)

    def recall(self, item: int, key: str) -> Answer | None:
        """The recorded answer under exactly that key."""
        return self.record.recall(item, key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        """As the record's."""
        return self.record.failed(item)

    def write(self, event: Event) -> None:
        """Keeps nothing."""

    async def find(self, key: str, position: Position, accepts: Callable[[Answer], bool]) -> Answer | None:
        """The answer to a question, once it is known; None where the record does not hold it.

        Args:
            key: of the question, as this release computes it.
            position: of the question.
            accepts: whether an answer has the right form for it.
        """
        loop = asyncio.get_running_loop()
        exact = self.recall(self.item, key)
        exact = exact if any(exact is answer for answer in self._left) else None
        question = _Question(key, position, accepts, exact, loop.create_future())
        self._waiting.append(question)
        self._idle = 0
        if not self._turning:
            self._turning = True
            loop.call_soon(self._turn)
        return await question.answer

    def _turn(self) -> None:
        """Counts turns of the event loop, and answers one question when no more are coming."""
        self._idle += 1
        if self._idle >= IDLE_TURNS:
            self._waiting = [question for question in self._waiting if not question.answer.done()]
            if not self._waiting:
                self._turning = False
                return
            self._answer_next()
            self._idle = 0
        asyncio.get_running_loop().call_soon(self._turn)

    def _answer_next(self) -> None:
        for event in self._left:
            exact = [question for question in self._waiting if question.exact is event]
            if questions := exact or self._at(event):
                question = questions[0] if len(questions) == 1 else self._chosen(event, questions)
                self._left = [answer for answer in self._left if answer is not event]
                self.matched[question.key] = event
                question.answer.set_result(event)
                return
        for question in self._waiting:
            question.answer.set_result(None)

    def _at(self, event: Answer) -> list[_Question]:
        """The waiting questions at an answer's position, without those that it cannot answer."""
        position = position_of(event)
        at = [question for question in self._waiting if question.exact is None and question.position == position]
        return [question for question in at if question.accepts(event)]

    def _chosen(self, event: Answer, questions: Sequence[_Question]) -> _Question:
        position = position_of(event)
        if len({_content(other) for other in self._left if position_of(other) == position}) == 1:
            return questions[0]  # all answers are equal
        points = self.points.setdefault(position, [])
        planned = self.plan.get(position, ())
        place = planned[len(points)] if len(points) < len(planned) else 0
        points.append(len(questions))
        return questions[min(place, len(questions) - 1)]


@dataclass(frozen=True)
class _Trial:
    """How well the events of a trial replay agree with the recorded ones."""

    alignment: Alignment
    agreeing: int  # events
    agrees: bool
    error: Exception | None


async def align(record: Record, item: int, attempt: Attempt) -> None:
    """Gives the answers of an earlier recording the keys that this release computes; does nothing for a current one.

    Args:
        record: open for replay.
        item: the claim's index.
        attempt: replays the claim with its recorded settings.

    Raises:
        ReplayMiss: an answer is missing, or several fit a question and the record does not say which is its own.
    """
    if record.format >= FORMAT or item in record.matched:
        return
    events = record.events(item)
    recorded, answers = _comparable(events), _answers(record, item, events)

    async def trial(plan: Mapping[Position, Sequence[int]]) -> _Trial:
        alignment, seen = Alignment(record, item, answers, plan), list[Event]()
        error: Exception | None = None
        try:
            await attempt(alignment, seen.append)
        except Exception as raised:  # an answer to another question can break the code that uses it in any way
            error = raised
        emitted = _comparable(seen)
        agreeing = sum(map(operator.eq, emitted, recorded))
        return _Trial(alignment, agreeing, error is None and emitted == recorded, error)

    best = await trial({})
    if best.alignment.points and not best.agrees:
        best = await _reordered(best, trial)
        if not best.agrees:
            raise _ambiguous(record, best.alignment)
    if best.error:
        raise best.error
    record.match(item, best.alignment.matched, best.alignment.left)
    if best.alignment.points:
        record.chosen.add(item)


def _answers(record: Record, item: int, events: Iterable[Event]) -> list[Answer]:
    """The answers that the record gives, as it holds them, each once."""
    answers: dict[str, Answer] = {}
    for event in events:
        if isinstance(event, Answer):
            answer = record.recall(item, event.key)
            if answer == event:
                answers.setdefault(event.key, answer)
    return list(answers.values())


async def _reordered(best: _Trial, trial: Callable[[Mapping[Position, Sequence[int]]], Awaitable[_Trial]]) -> _Trial:
    """Tries other orders, position by position, and keeps the one whose events agree best."""
    trials, settled = 1, set[Position]()
    while position := next((each for each in best.alignment.points if each not in settled), None):
        settled.add(position)
        options = best.alignment.points[position]
        if trials + math.prod(options) > MOST_TRIALS:
            continue
        for order in itertools.product(*map(range, options)):
            trials += 1
            tried = await trial({**best.alignment.plan, position: order})
            if tried.agreeing > best.agreeing or tried.agrees:
                best = tried
            if best.agrees:
                return best
    return best


def _ambiguous(record: Record, alignment: Alignment) -> ReplayMiss:
    kind, agent, round_, name, *_ = next(iter(alignment.points))
    asked = f"{name} of {agent!r} in round {round_}" if kind == "call" else f"the {kind} of {agent!r} in round {round_}"
    return ReplayMiss(
        f"several recorded answers fit {asked}, and the record does not say which belongs to which question",
        where=str(record.folder),
        hint="the questions were asked concurrently and their words have changed since; replay with the older release",
    )


def _content(event: Answer) -> str:
    return event.model_dump_json(exclude={"key", "seq", "at"})


def _comparable(events: Iterable[Event]) -> list[str]:
    """What a claim's answers led to, in canonical order, without settings and what else is renamed between releases."""
    rows = []
    for row in canonical(event for event in events if not isinstance(event, Answer | ClaimStarted)):
        if row["kind"] == "claim_ended":
            verdict = row["verdict"]
            row = {name: verdict.get(name) for name in ("label", "confidence", "rounds", "quotes", "scores", "error")}
        rows.append(json.dumps(row, sort_keys=True))
    return rows
