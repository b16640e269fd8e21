"""Passes a stream on as it arrives, and checks its answers meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field

from redargue.service.proxy.block import BlockReason, CheckBlock, block_of, block_without_check, footnotes
from redargue.service.proxy.checker import AnswerCheck, Readers
from redargue.service.proxy.contexts import may_be_shown
from redargue.service.proxy.dialect import (
    Dialect,
    Key,
    SseEvent,
    StreamStep,
    comment,
    ends_a_sentence,
    event_of,
    events_of,
)
from redargue.service.proxy.settings import Plan

_LAST = ("response.completed", "response.incomplete", "response.failed", "error")  # types of events
ENDS_EARLY = "it is over, and no event ends its text"
TICK = 2.0  # seconds between comments while a client waits


@dataclass
class Checks:
    """The checks of one response's answers.

    Attributes:
        check_id: identifies them, in the block and in a header.
        answers: those with text.
        unreadable: events of which nothing can be read.
        unread: where there is text that is not read, first place first, and in which answer; None for all answers.
        calls: inputs of calls so far, by answer and place.
    """

    readers: asyncio.Task[Readers]
    plan: Plan
    check_id: str
    dialect: Dialect
    answers: dict[Key, AnswerCheck] = field(default_factory=dict)
    unreadable: int = 0
    unread: dict[Key | None, str] = field(default_factory=dict)
    calls: dict[tuple[Key | None, str], list[str]] = field(default_factory=dict)
    _done: bool = False
    _closed: bool = False  # by an event that says so

    def read(self, event: SseEvent) -> tuple[SseEvent, tuple[Key, ...]]:
        """Adds what an event says; returns the event and the answers that it ends.

        What it adds to an answer after its end is not checked, and left out of the event.
        """
        payload, dialect = event.payload, self.dialect
        late_event = self._done and event.data is not None  # clients stop reading before
        self._done |= event.is_done
        if payload is None or late_event:
            self.unreadable += event.unreadable or late_event
            return event, ()
        self._closed |= payload.get("type") in _LAST or bool(payload.get("error"))
        step = dialect.read(payload)
        late = {key for key, text in step.added if text and key in dialect.ended}
        self.note(step._replace(added=tuple((key, text) for key, text in step.added if key not in late)))
        if step.unread:
            touched = {key for key, _ in step.unread}
            for key in [key for key in dialect.blocks if key in touched or None in touched]:
                dialect.blocks[key] = self.with_unread(dialect.blocks[key], key)
        if late:
            rest = dialect.without(payload, late)
            event = event_of(rest, str(rest.get("type") or ""))
        return event, step.ended

    def end(self) -> bool:
        """Whether a stream that is over has ended its texts; of one that has not, more was to come, which is unread."""
        open_ = [key for key in self.answers.keys() - self.dialect.ended if self.answers[key].text.strip()]
        whole = not open_ or self._done or self._closed
        if not whole:
            self.unread.setdefault(None, "the end")
        return whole

    def note(self, step: StreamStep) -> None:
        for key, text in step.added:
            if text:
                self.answers.setdefault(key, AnswerCheck(self.readers)).add(text)
        for answer, place in step.unread:
            self.unread.setdefault(answer, place)
        for answer, place, text in step.calls:
            self.calls.setdefault((answer, place), []).append(text)

    async def finish(self, key: Key) -> CheckBlock:
        self.read_calls(key)
        answer = self.answers.get(key)
        if answer is None or answer.is_empty:
            block = block_without_check(self.plan, self.check_id)
        else:
            block = block_of(await answer.finish(self.plan.timeout_s), self.plan, self.check_id)
        return self.with_unread(block, key)

    def read_calls(self, *keys: Key) -> None:
        """Looks for sentences in the inputs of the calls of some answers, and of those of none."""
        for (answer, place), pieces in self.calls.items():
            known = answer in self.unread or not (answer is None or answer in keys)
            if not known and may_be_shown("".join(pieces), awaited=self.dialect.offers_tools):
                self.unread[answer] = place

    def read_seams(self) -> None:
        """Where clients join the texts of a response, a sentence from one to the next is in neither."""
        texts = [answer.text for _, answer in sorted(self.answers.items()) if answer.text]
        if self.dialect.continued and not all(map(ends_a_sentence, texts[:-1])):
            self.unread.setdefault(None, "output")

    def place(self, key: Key) -> str:
        """Where an answer has text that was not read; empty where it has none."""
        return self.unread.get(key) or self.unread.get(None, "")

    def with_unread(self, block: CheckBlock, key: Key) -> CheckBlock:
        """The block with what could not be read: what the client shows may be more than what was checked."""
        found: dict[BlockReason, int] = {"unreadable_answer": self.unreadable, "not_read": int(bool(self.place(key)))}
        reasons = {reason: count for reason, count in found.items() if count}
        if not reasons:
            return block
        outcome = "non_factual" if block.outcome == "non_factual" else "unchecked"
        first = block.reason if block.reason not in ("", "no_text") else next(iter(reasons))
        values: dict[str, object] = {"outcome": outcome, "reason": first, "unchecked": block.unchecked | reasons}
        return block.model_validate(dict(block) | values)

    def of_no_answer(self) -> CheckBlock | None:
        """The block of a response without an answer, such as one with calls only, of which not all was read."""
        self.read_calls()
        if not (self.unreadable or self.unread):
            return None
        reason: BlockReason = "not_read" if self.unread else "unreadable_answer"
        return block_without_check(self.plan, self.check_id, reason)

    @property
    def progress(self) -> str:
        return " ".join(answer.progress for answer in self.answers.values()) or "0/0"

    async def cancel(self) -> None:
        await asyncio.gather(*(answer.cancel() for answer in self.answers.values()))


class StreamChecker:
    """Turns the events of an upstream into those of the client.

    Text passes at once. An event that ends an answer waits for its check, and comments show the progress meanwhile.
    :meth:`run` raises ValueError after a stream that did not end its texts.
    """

    def __init__(self, checks: Checks, done: Callable[[CheckBlock], None]) -> None:
        self.dialect, self.checks, self._done = checks.dialect, checks, done
        self._pending: dict[Key, asyncio.Task[CheckBlock]] = {}
        self._deferred: list[SseEvent] = []
        self._whole = True

    async def run(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        events = events_of(chunks)
        reading: asyncio.Task[list[SseEvent] | None] | None = asyncio.create_task(_next(events))
        try:
            while reading or self._pending:
                waiting: set[asyncio.Task[object]] = {*self._pending.values(), *([reading] if reading else [])}
                ended, _ = await asyncio.wait(
                    waiting, timeout=TICK if self._pending else None, return_when=asyncio.FIRST_COMPLETED
                )
                if not ended:
                    yield comment(f"redargue {self.checks.progress}")
                for piece in self._take_blocks():
                    yield piece
                if reading and reading.done():
                    batch = reading.result()
                    for event in [None] if batch is None else batch:
                        for piece in self._take(event):
                            yield piece
                    reading = None if batch is None else asyncio.create_task(_next(events))
            if not self.dialect.blocks and (block := self.checks.of_no_answer()):
                self._done(block)  # with no place for verdicts, they are only counted
            for piece in self.dialect.rest():
                yield piece
            if not self._whole:
                raise ValueError(ENDS_EARLY)
        finally:
            tasks = [*self._pending.values(), *([reading] if reading else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.checks.cancel()

    def _take(self, event: SseEvent | None) -> list[bytes]:
        if event is None:
            self._whole = self.checks.end()
        if event is None or event.is_done:
            self._end(*self.checks.answers)
        written: list[bytes] = []
        for part in self.dialect.split(event) if event else ():
            read, ended = self.checks.read(part)
            self._end(*ended)
            written += self._write(read)
        return written

    def _write(self, event: SseEvent) -> list[bytes]:
        """The event as it is sent; nothing yet, where it has to wait for a check."""
        if self.dialect.waits(event, self._pending):
            self._deferred.append(event)
            return []
        return self.dialect.write(event)

    def _end(self, *keys: Key) -> None:
        for key in keys:
            if key not in self.dialect.ended:
                self.dialect.ended.add(key)
                self._pending[key] = asyncio.create_task(self.checks.finish(key))

    def _take_blocks(self) -> list[bytes]:
        finished = [key for key, task in self._pending.items() if task.done()]
        for key in finished:
            block = self._pending.pop(key).result()
            self.dialect.blocks[key] = block
            if self.checks.plan.mode == "footnote" and key in self.checks.answers:
                self.dialect.appended[key] = footnotes(block, self.checks.answers[key].text)
            self._done(block)
        if not finished:
            return []
        deferred, self._deferred = self._deferred, []
        return [piece for event in deferred for piece in self._write(event)]


async def _next(events: AsyncIterator[list[SseEvent]]) -> list[SseEvent] | None:
    return await anext(events, None)
