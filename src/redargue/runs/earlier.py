"""Replays recordings of earlier releases: finds recorded answers by position where their keys no longer match.

A key depends on the words of a task, so a release that changes prompts or renames tasks cannot compute the keys of an
earlier one. It still asks the same questions in the same order. A trial replay therefore runs the claim against the
record: questions wait until nothing else can run, and the earliest remaining answer goes to the question at its
position. That is the question it answered, because the recorded run was in the same state when the answer arrived.

Only concurrent questions at one position can be confused. Then orders are tried until the replay emits the recorded
events; if none does, the replay is refused.
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
"""Replays the claim against that record, with its recorded settings; calls the listener with every event."""

TASKS: Mapping[str, str] = {}
"""Renamed tasks: the name in earlier recordings → the current name."""

ANSWERS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Converters of answers whose fields have changed, by the task's current name; current answers stay unchanged."""

IDLE_TURNS = 100  # iterations of the event loop without a new question, after which all possible questions wait
MOST_TRIALS = 200


def call_position(agent: str, round_: int, task: str) -> Position:
    return "call", agent, round_, TASKS.get(task, task)


def evidence_position(agent: str, round_: int, tool: str, query: str) -> Position:
    """Of a search, or of an action's call with its arguments as JSON."""
    return "evidence", agent, round_, tool, query


def memory_position(kind: str, agent: str, round_: int, entities: Sequence[str]) -> Position:
    """Of a query to the memory (``recall``) or a write to it (``remember``)."""
    return kind, agent, round_, tuple(entities)


def position_of(event: Answer) -> Position:
    if isinstance(event, CallFinished | CallFailed):
        return call_position(event.agent, event.round, event.task)
    if isinstance(event, EvidenceFound | EvidenceMissing):
        return evidence_position(event.agent, event.round, event.tool, event.query)
    kind = "recall" if isinstance(event, EvidenceRecalled) else "remember"
    return memory_position(kind, event.agent, event.round, event.entities)


def convert_answer(task: str, answer: dict[str, Any]) -> dict[str, Any]:
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
        answers: the claim's recorded answers, in order of arrival.
        plan: for positions with concurrent questions, the index of the question that gets each answer; default 0.
        points: for positions where the trial had a choice, the number of questions to choose from, per answer.
        matched: the answers by the current keys of their questions.
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
        self.left = list(self.answers)  # recorded answers that no question has used
        self._waiting: list[_Question] = []
        self._turning = False
        self._idle = 0

    def recall(self, item: int, key: str) -> Answer | None:
        return self.record.recall(item, key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        return self.record.failed(item)

    def write(self, event: Event) -> None:
        """A trial is not recorded."""

    async def find(self, key: str, position: Position, accepts: Callable[[Answer], bool]) -> Answer | None:
        """Waits for the answer to a question; None if it was not recorded."""
        loop = asyncio.get_running_loop()
        exact = self.recall(self.item, key)
        exact = exact if any(exact is answer for answer in self.left) else None
        question = _Question(key, position, accepts, exact, loop.create_future())
        self._waiting.append(question)
        self._idle = 0
        if not self._turning:
            self._turning = True
            loop.call_soon(self._turn)
        return await question.answer

    def _turn(self) -> None:
        """Counts iterations of the event loop, and answers one question when no more can be asked."""
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
        for event in self.left:
            exact = [question for question in self._waiting if question.exact is event]
            if questions := exact or self._at(event):
                question = questions[0] if len(questions) == 1 else self._chosen(event, questions)
                self.left = [answer for answer in self.left if answer is not event]
                self.matched[question.key] = event
                question.answer.set_result(event)
                return
        for question in self._waiting:
            question.answer.set_result(None)

    def _at(self, event: Answer) -> list[_Question]:
        position = position_of(event)
        at = [question for question in self._waiting if question.exact is None and question.position == position]
        return [question for question in at if question.accepts(event)]

    def _chosen(self, event: Answer, questions: Sequence[_Question]) -> _Question:
        position = position_of(event)
        others = [other for other in self.left if position_of(other) == position]
        if len({other.model_dump_json(exclude={"key", "seq", "at"}) for other in others}) == 1:
            return questions[0]  # all answers are equal
        points = self.points.setdefault(position, [])
        planned = self.plan.get(position, ())
        index = planned[len(points)] if len(points) < len(planned) else 0
        points.append(len(questions))
        return questions[min(index, len(questions) - 1)]


@dataclass(frozen=True)
class _Trial:
    """The agreement of a trial replay's events with the recorded ones."""

    alignment: Alignment
    agreeing: int  # number of equal events
    agrees: bool
    error: Exception | None


async def align(record: Record, item: int, attempt: Attempt) -> None:
    """Assigns this release's keys to a claim's answers in an earlier recording; does nothing for a current one.

    Raises ReplayMiss if an answer is missing or several answers fit a question.
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
        except Exception as raised:  # a mismatched answer can cause any error
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
    answers: dict[str, Answer] = {}
    for event in events:
        if isinstance(event, Answer):
            answer = record.recall(item, event.key)
            if answer == event:
                answers.setdefault(event.key, answer)
    return list(answers.values())


async def _reordered(best: _Trial, trial: Callable[[Mapping[Position, Sequence[int]]], Awaitable[_Trial]]) -> _Trial:
    trials, settled = 1, set[Position]()
    while position := next((point for point in best.alignment.points if point not in settled), None):
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


def _comparable(events: Iterable[Event]) -> list[str]:
    """The events derived from answers, in canonical order, without names and settings that differ between releases."""
    rows = []
    for row in canonical(event for event in events if not isinstance(event, Answer | ClaimStarted)):
        if row["kind"] == "claim_ended":
            verdict = row["verdict"]
            row = {name: verdict.get(name) for name in ("label", "confidence", "rounds", "quotes", "scores", "error")}
        rows.append(json.dumps(row, sort_keys=True))
    return rows
