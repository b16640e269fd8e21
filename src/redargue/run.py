"""The context of one verification: who performs tasks, where evidence comes from, what may be spent, what happened.

Chance, time and money come from here and from nowhere else. Every paid answer is recorded under a key made of the
question, the prompt, the settings, who asked, in which round and how often before: asking the record first is resume,
asking nothing but the record is replay.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from redargue.backends.base import Backend, Call, Output, Reply, Sampling
from redargue.errors import RedargueError, ReplayMiss, ToolFailed
from redargue.events import CallFinished, Event, EvidenceFound, EvidenceMissing
from redargue.evidence import Passage
from redargue.ledger.budget import Budget
from redargue.ledger.clock import Clock, SystemClock
from redargue.ledger.record import Record
from redargue.tasks.base import Out, Task
from redargue.tools.base import Tool
from redargue.verdicts import Usage


class Run:
    """One claim's verification.

    Args:
        backend: who performs the tasks; in a replay it renders prompts and is never asked.
        tools: by registered name.
        item: which claim of its run folder, from 0.
        seed: of the run; each call's own seed is derived from it.
        budget: shared by all claims of a run folder.
        clock: where times come from.
        record: the run folder; None records nothing.
        listeners: called with every event, in order, on the run's own thread.
        models: the model wanted for an agent, by agent name.
    """

    def __init__(
        self,
        backend: Backend,
        tools: Mapping[str, Tool] | None = None,
        *,
        item: int = 0,
        seed: int = 0,
        budget: Budget | None = None,
        clock: Clock | None = None,
        record: Record | None = None,
        listeners: Sequence[Callable[[Event], None]] = (),
        models: Mapping[str, str] | None = None,
    ) -> None:
        self.backend, self.tools, self.item, self.seed = backend, dict(tools or {}), item, seed
        self.budget, self.clock, self.record = budget or Budget(), clock or SystemClock(), record
        self.events: list[Event] = []
        self._listeners, self._models = tuple(listeners), dict(models or {})
        self._asked: Counter[str] = Counter()
        self._began = self.clock.elapsed()
        self._spent = _Spent()

    @property
    def usage(self) -> Usage:
        """What the claim has cost so far; answers from the record count as when they were paid."""
        return self._spent.usage()

    def emit(self, event: Event) -> None:
        """Stamps an event, keeps it, records it and tells the listeners."""
        at = round(self.clock.elapsed() - self._began, 4)
        event = event.model_copy(update={"item": self.item, "seq": len(self.events), "at": at})
        self.events.append(event)
        if self.record:
            self.record.write(event)
        for listener in self._listeners:
            listener(event)

    async def perform(self, task: Task[Out], *, agent: str, round_: int = 0, n: int = 1) -> tuple[Out, ...]:
        """Has the backend perform a task, or the record answer it.

        Args:
            task: what is asked.
            agent: who asks.
            round_: of the protocol, from 1; 0 outside of rounds.
            n: samples from one request.

        Returns:
            The ``n`` answers.

        Raises:
            ReplayMiss: in a replay, the record does not hold the call.
            BadReply, BudgetReached, ProviderError: as the backend raises them.
        """
        sampling, model = Sampling(n=n), self._models.get(agent, "")
        key = self._key(
            "call",
            task.fingerprint,
            self.backend.render(task),
            self.backend.identity,
            model,
            sampling.model_dump(),
            self.seed,
            agent,
            round_,
        )
        kind = task.answer_type()
        paid = self.record.recall(self.item, key) if self.record else None
        if isinstance(paid, CallFinished):
            if task.charge == "call":
                self.budget.recall()
            outputs = tuple(
                Output(cast(Out, kind.model_validate(each["answer"])), each["text"], each["entropy"])
                for each in paid.outputs
            )
            reply = Reply(outputs, paid.prompt_tokens, paid.completion_tokens)
        else:
            self._refuse_in_replay(f"{task.name()} of {agent!r} in round {round_}")
            reserve = self.budget.reserve if task.charge == "call" else _nothing
            call = Call(
                agent=agent, model=model, sampling=sampling, seed=int(key[:8], 16), reserve=reserve, emit=self.emit
            )
            reply = await self.backend.perform(task, call)
        self._spent.call(task, agent, reply)
        self.emit(
            CallFinished(
                agent=agent,
                round=round_,
                task=task.name(),
                charge=task.charge,
                key=key,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                outputs=tuple(
                    {"answer": each.answer.model_dump(mode="json"), "text": each.text, "entropy": each.entropy}
                    for each in reply.outputs
                ),
            )
        )
        return tuple(each.answer for each in reply.outputs)

    async def search(self, tool: str, query: str, k: int, *, agent: str, round_: int = 0) -> tuple[Passage, ...]:
        """Asks a tool, or the record. A tool that fails gives no passages: its message is an event, never evidence.

        Raises:
            ReplayMiss: in a replay, the record does not hold the search.
        """
        source = self.tools[tool]
        key = self._key("search", source.name, source.revision, query, k, agent, round_)
        paid = self.record.recall(self.item, key) if self.record else None
        self._spent.search(tool)
        if isinstance(paid, EvidenceFound | EvidenceMissing):
            self.emit(paid)
            return paid.passages if isinstance(paid, EvidenceFound) else ()
        self._refuse_in_replay(f"a search of {tool!r} for {query!r}")
        try:
            found = await source.search(query, k)
        except ToolFailed as error:
            self.emit(EvidenceMissing(agent=agent, round=round_, tool=tool, query=query, why=error.what, key=key))
            return ()
        now = self.clock.now()
        passages = tuple(each.model_copy(update={"tool": tool, "retrieved": now, "query": query}) for each in found)
        self.emit(EvidenceFound(agent=agent, round=round_, tool=tool, query=query, passages=passages, key=key))
        return passages

    def _key(self, *parts: Any) -> str:
        """The key of a question: its parts, and how often the same was asked before."""
        base = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        occurrence = self._asked[base]
        self._asked[base] += 1
        return f"{base}-{occurrence}"

    def _refuse_in_replay(self, what: str) -> None:
        if self.record and self.record.mode == "replay":
            raise ReplayMiss(
                f"the record does not hold {what}",
                where=str(self.record.folder),
                hint="code, weights, prompts or corpus have changed since; run the claim again",
            )


class _Spent:
    """Adds up what a claim costs."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._tasks: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()

    def call(self, task: Task[Out], agent: str, reply: Reply[Out]) -> None:
        """Counts one performed task."""
        self._counts["prompt"] += reply.prompt_tokens
        self._counts["completion"] += reply.completion_tokens
        if task.charge == "embedding":
            self._counts["embeddings"] += 1
            return
        self._counts["calls"] += 1
        self._agents[agent] += 1
        self._tasks[task.name()] += 1

    def search(self, tool: str) -> None:
        """Counts one search."""
        self._tools[tool] += 1

    def usage(self) -> Usage:
        """The sums; tables in alphabetical order, so that two equal runs read the same."""
        return Usage(
            calls=self._counts["calls"],
            embeddings=self._counts["embeddings"],
            searches=self._tools.total(),
            prompt_tokens=self._counts["prompt"],
            completion_tokens=self._counts["completion"],
            by_agent=dict(sorted(self._agents.items())),
            by_task=dict(sorted(self._tasks.items())),
            by_tool=dict(sorted(self._tools.items())),
        )


def _nothing() -> None:
    """What an embedding costs of the budget in calls."""


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to raise for a group of agents of which several failed: redargue's own first."""
    flat: list[BaseException] = []
    stack: list[BaseException] = [group]
    while stack:
        error = stack.pop(0)
        stack = [*error.exceptions, *stack] if isinstance(error, BaseExceptionGroup) else stack
        if not isinstance(error, BaseExceptionGroup):
            flat.append(error)
    return next((each for each in flat if isinstance(each, RedargueError)), flat[0])
