"""The context of one verification: who performs tasks, where evidence comes from, what may be spent, what happened.

Chance, time and money come from here and from nowhere else. Every paid answer is recorded under a key made of the
question, the prompt, the settings, who asked, in which round and how often before: asking the record first is resume,
asking nothing but the record is replay.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from redargue.backends.base import Backend, Call, Output, Sampling, Token
from redargue.claims import Claim
from redargue.errors import BadReply, RedargueError, ReplayMiss, ToolFailed
from redargue.events import CallFailed, CallFinished, Event, EvidenceFound, EvidenceMissing
from redargue.evidence import Passage, timing
from redargue.ledger.budget import Account, Budget, Cost
from redargue.ledger.clock import Clock, SystemClock
from redargue.ledger.record import Record
from redargue.tasks.base import Out, Task
from redargue.tools.base import Search, Tool
from redargue.verdicts import ErrorInfo, Usage

ASKED_IN_TIME = 4  # times as many passages are asked for where those that are not in time are left out


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
        models: the model wanted for an agent or a task, by its name; a task's own goes first.
        priced: whether what calls and searches cost is known in dollars.
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
        priced: bool = False,
    ) -> None:
        self.backend, self.tools, self.item, self.seed = backend, dict(tools or {}), item, seed
        self.budget, self.clock, self.record = budget or Budget(), clock or SystemClock(), record
        self.events: list[Event] = []
        self._listeners, self._models = tuple(listeners), dict(models or {})
        self._asked: Counter[str] = Counter()
        self._began = self.clock.elapsed()
        self._spent = _Spent(priced)
        for failed in record.failed(item) if record else ():
            self._spent.call(failed)
            self.budget.recall(cost_of(failed))

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

    async def perform(
        self, task: Task[Out], *, agent: str, round_: int = 0, n: int = 1, temperature: float = 0.0
    ) -> tuple[Out, ...]:
        """The answers of :meth:`ask`."""
        outputs = await self.ask(task, agent=agent, round_=round_, n=n, temperature=temperature)
        return tuple(each.answer for each in outputs)

    async def ask(
        self, task: Task[Out], *, agent: str, round_: int = 0, n: int = 1, temperature: float = 0.0
    ) -> tuple[Output[Out], ...]:
        """Has the backend perform a task, or the record answer it.

        Args:
            task: what is asked.
            agent: who asks.
            round_: of the protocol, from 1; 0 outside of rounds.
            n: samples from one request.
            temperature: 0 for the likeliest words.

        Returns:
            The ``n`` answers, each with its text and, where offered, how sure the model was of its words.

        Raises:
            ReplayMiss: in a replay, the record does not hold the call.
            BadReply, BudgetReached, ProviderError: as the backend raises them.
        """
        sampling = Sampling(n=n, temperature=temperature)
        model = self._models.get(task.name()) or self._models.get(agent, "")
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
        known = self.record.recall(self.item, key) if self.record else None
        if isinstance(known, CallFailed):
            self._spent.call(known)
            self.budget.recall(cost_of(known))
            self.emit(known)
            raise BadReply(known.error.what, raw=known.raw, where=known.error.where, hint=known.error.hint)
        if isinstance(known, CallFinished):
            self._spent.call(known)
            self.budget.recall(cost_of(known))
            self.emit(known)
            return tuple(_read(task, each) for each in known.outputs)
        self._refuse_in_replay(f"{task.name()} of {agent!r} in round {round_}")
        account = Account(self.budget, counted=task.charge == "call")
        call = Call(agent=agent, model=model, sampling=sampling, seed=int(key[:8], 16), account=account)
        facts = {"agent": agent, "round": round_, "task": task.name(), "charge": task.charge, "key": key}
        try:
            reply = await self.backend.perform(task, call)
        except (RedargueError, asyncio.CancelledError) as error:
            if account.requests:  # what was sent was spent, whatever became of it
                found = error if isinstance(error, RedargueError) else RedargueError("stopped while it was under way")
                raw = error.raw if isinstance(error, BadReply) else ""
                self._finish(CallFailed(**facts, **_paid(account), error=ErrorInfo.of(found), raw=raw))
            raise
        outputs = tuple(_dumped(each) for each in reply.outputs)
        rejected = tuple(each.model_dump() for each in reply.rejected)
        self._finish(CallFinished(**facts, **_paid(account), outputs=outputs, rejected=rejected))
        return reply.outputs

    def _finish(self, event: CallFinished | CallFailed) -> None:
        self._spent.call(event)
        self.emit(event)

    async def search(
        self, tool: str, query: str, k: int, *, agent: str, round_: int = 0, claim: Claim | None = None
    ) -> tuple[Passage, ...]:
        """Asks a tool, or the record. A tool that fails gives no passages: its message is an event, never evidence.

        With a claim's ``as_of`` each passage says whether it was published by that day, where it says when; with its
        ``only_in_time`` more is asked for, and what was not is left out and counted.

        Raises:
            ReplayMiss: in a replay, the record does not hold the search.
        """
        source = self.tools[tool]
        as_of = claim.as_of if claim else None
        strict = claim is not None and claim.only_in_time
        parts = [as_of.isoformat(), *(["only in time"] if strict else [])] if as_of else []
        key = self._key("search", source.name, source.revision, query, k, agent, round_, *parts)
        known = self.record.recall(self.item, key) if self.record else None
        if isinstance(known, EvidenceFound | EvidenceMissing):
            self._spent.search(known)
            self.budget.recall(Cost(usd=known.usd))
            self.emit(known)
            return known.passages if isinstance(known, EvidenceFound) else ()
        self._refuse_in_replay(f"a search of {tool!r} for {query!r}")
        account = Account(self.budget, counted=False)
        facts = {"agent": agent, "round": round_, "tool": tool, "query": query, "key": key}
        try:
            wanted = k * ASKED_IN_TIME if strict else k
            found = await source.search(query, wanted, search=Search(as_of=as_of, account=account))
        except ToolFailed as error:
            why = f"{error.what}; {error.hint}" if error.hint else error.what
            missing = EvidenceMissing(**facts, why=why, requests=max(1, account.requests), usd=account.usd)
            self._spent.search(missing)
            self.emit(missing)
            return ()
        now = self.clock.now()
        passages = tuple(
            each.model_copy(
                update={
                    "tool": tool,
                    "retrieved": now,
                    "query": query,
                    "timing": timing(each.published, as_of) if as_of else "",
                }
            )
            for each in found
        )
        kept, left_out = _in_time(passages, k) if strict else (passages, {})
        event = EvidenceFound(
            **facts, passages=kept, left_out=left_out, requests=max(1, account.requests), usd=account.usd
        )
        self._spent.search(event)
        self.emit(event)
        return kept

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


def _in_time(passages: Sequence[Passage], k: int) -> tuple[tuple[Passage, ...], dict[str, int]]:
    """The first ``k`` that were published in time, and how many before the last of them were not, by why."""
    kept: list[Passage] = []
    left_out: Counter[str] = Counter()
    for passage in passages:
        if len(kept) == k:
            break
        if passage.timing == "in time":
            kept.append(passage.model_copy(update={"rank": len(kept) + 1}))
        else:
            left_out[passage.timing] += 1
    return tuple(kept), dict(sorted(left_out.items()))


def cost_of(event: CallFinished | CallFailed) -> Cost:
    """What a recorded call cost of a budget."""
    calls = event.requests if event.charge == "call" else 0
    return Cost(calls, event.prompt_tokens + event.completion_tokens, event.usd)


def _paid(account: Account) -> dict[str, Any]:
    return {
        "requests": account.requests,
        "prompt_tokens": account.prompt_tokens,
        "completion_tokens": account.completion_tokens,
        "usd": round(account.usd, 12),
    }


def _dumped(output: Output[Out]) -> dict[str, Any]:
    more: dict[str, Any] = {"thoughts": output.thoughts} if output.thoughts else {}
    if output.tokens:
        more["tokens"] = [list(each) for each in output.tokens]
    return {"answer": output.answer.model_dump(mode="json"), "text": output.text, "entropy": output.entropy} | more


def _read(task: Task[Out], output: dict[str, Any]) -> Output[Out]:
    """What :func:`_dumped` wrote."""
    return Output(
        cast(Out, task.answer_type().model_validate(output["answer"])),
        text=output["text"],
        thoughts=output.get("thoughts", ""),
        entropy=output["entropy"],
        tokens=tuple(Token(*each) for each in output.get("tokens", ())),
    )


class _Spent:
    """Adds up what a claim costs."""

    def __init__(self, priced: bool) -> None:
        self._priced = priced
        self._counts: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._tasks: Counter[str] = Counter()
        self._rounds: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()
        self._usd = 0.0

    def call(self, event: CallFinished | CallFailed) -> None:
        """Counts the requests of one performed task."""
        self._counts["prompt"] += event.prompt_tokens
        self._counts["completion"] += event.completion_tokens
        self._usd += event.usd
        if event.charge == "embedding":
            self._counts["embeddings"] += event.requests
            return
        self._counts["calls"] += event.requests
        self._agents[event.agent] += event.requests
        self._tasks[event.task] += event.requests
        self._rounds[str(event.round)] += event.requests

    def search(self, event: EvidenceFound | EvidenceMissing) -> None:
        """Counts the requests of one search."""
        self._tools[event.tool] += event.requests
        self._usd += event.usd

    def usage(self) -> Usage:
        """The sums; tables in alphabetical order, so that two equal runs read the same."""
        return Usage(
            calls=self._counts["calls"],
            embeddings=self._counts["embeddings"],
            searches=self._tools.total(),
            prompt_tokens=self._counts["prompt"],
            completion_tokens=self._counts["completion"],
            usd=round(self._usd, 9) if self._priced else None,
            by_agent=dict(sorted(self._agents.items())),
            by_task=dict(sorted(self._tasks.items())),
            by_round=dict(sorted(self._rounds.items())),
            by_tool=dict(sorted(self._tools.items())),
        )
