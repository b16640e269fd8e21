"""Passes a stream on as it arrives, and checks its answers meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field

from redargue.service.proxy.block import CheckBlock, Reason, block_of, footnotes, unchecked_block, without_text
from redargue.service.proxy.checker import AnswerCheck, Checked, Readers
from redargue.service.proxy.dialect import Dialect, Key
from redargue.service.proxy.settings import Plan
from redargue.service.proxy.sse import DONE, SseEvent, comment, data_event, dumped, events_of

TICK = 2.0  # seconds between comments while a client waits


@dataclass
class Checks:
    """The checks of one response's answers."""

    readers: asyncio.Task[Readers]
    plan: Plan
    check: str  # its identifier
    answers: dict[Key, AnswerCheck] = field(default_factory=dict)
    unreadable: int = 0  # events that are not JSON
    unread: set[Key] = field(default_factory=set)  # answers with content that is not text

    def add(self, key: Key, text: str) -> None:
        if text:
            self.answers.setdefault(key, AnswerCheck(self.readers)).add(text)

    def read(self, event: SseEvent, dialect: Dialect) -> tuple[SseEvent, tuple[Key, ...]]:
        """Adds what an event says; returns the event and the answers that it ends.

        What it adds to an answer after its end is not checked, and left out of the event.
        """
        payload = event.payload
        if payload is None:
            self.unreadable += event.data is not None and event.data != DONE
            return event, ()
        step = dialect.read(payload)
        late = {key for key, text in step.added if text and key in dialect.ended}
        for key, text in step.added:
            if key not in late:
                self.add(key, text)
        self.unread.update(step.unread)
        for key in {*step.unread} & {*dialect.blocks}:
            dialect.blocks[key] = self.with_unread(dialect.blocks[key], unread=True)
        if late:
            rest = dialect.without(payload, late)
            event = SseEvent(data_event(rest, str(rest.get("type") or "")), dumped(rest))
        return event, step.ended

    async def finish(self, key: Key) -> CheckBlock:
        answer = self.answers.get(key)
        if answer is None or answer.is_empty:
            return self.with_unread(without_text(self.plan, self.check), unread=key in self.unread)
        return self.block(await answer.finish(self.plan.timeout_s), unread=key in self.unread)

    def block(self, checked: Checked, *, unread: bool = False) -> CheckBlock:
        return self.with_unread(block_of(checked, self.plan, self.check), unread=unread)

    def with_unread(self, block: CheckBlock, *, unread: bool) -> CheckBlock:
        """The block with what could not be read: what the client shows is more than what was checked."""
        found: dict[Reason, int] = {"unreadable_answer": self.unreadable, "not_read": int(unread)}
        reasons = {reason: count for reason, count in found.items() if count}
        if not reasons or (block.reason == "no_text" and not unread):
            return block
        outcome = "non_factual" if block.outcome == "non_factual" else "unchecked"
        first = block.reason if block.reason not in ("", "no_text") else next(iter(reasons))
        values: dict[str, object] = {"outcome": outcome, "reason": first, "unchecked": block.unchecked | reasons}
        return block.model_validate(dict(block) | values)

    @property
    def progress(self) -> str:
        return " ".join(answer.progress for answer in self.answers.values()) or "0/0"

    async def cancel(self) -> None:
        await asyncio.gather(*(answer.cancel() for answer in self.answers.values()))


class StreamChecker:
    """Turns the events of an upstream into those of the client.

    Text passes at once. An event that ends an answer waits for its check, and comments show the progress meanwhile.
    """

    def __init__(self, dialect: Dialect, checks: Checks, done: Callable[[CheckBlock], None]) -> None:
        self.dialect, self.checks, self._done = dialect, checks, done
        self._pending: dict[Key, asyncio.Task[CheckBlock]] = {}
        self._deferred: list[SseEvent] = []

    async def run(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        events = events_of(chunks)
        reading: asyncio.Task[SseEvent | None] | None = asyncio.create_task(_next(events))
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
                    event = reading.result()
                    for piece in self._take(event):
                        yield piece
                    reading = asyncio.create_task(_next(events)) if event else None
            if self.checks.unreadable and not self.dialect.blocks:  # with no place for verdicts, they are only counted
                self._done(unchecked_block(self.checks.plan, self.checks.check, "unreadable_answer"))
            for piece in self.dialect.rest():
                yield piece
        finally:
            tasks = [*self._pending.values(), *([reading] if reading else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.checks.cancel()

    def _take(self, event: SseEvent | None) -> list[bytes]:
        if event is None or event.data == DONE:
            self._end(*self.checks.answers)
        if event is None:
            return []
        written: list[bytes] = []
        for part in self.dialect.split(event):
            written += self._take_part(part)
        return written

    def _take_part(self, event: SseEvent) -> list[bytes]:
        event, ended = self.checks.read(event, self.dialect)
        self._end(*ended)
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
        written: list[bytes] = []
        for event in deferred:
            if self.dialect.waits(event, self._pending):
                self._deferred.append(event)
            else:
                written += self.dialect.write(event)
        return written


async def _next(events: AsyncIterator[SseEvent]) -> SseEvent | None:
    return await anext(events, None)
