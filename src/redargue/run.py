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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, cast

from redargue.backends.base import Backend, Call, Output, Sampling, Token
from redargue.claims import Claim
from redargue.errors import BadReply, RedargueError, ReplayMiss, ToolFailed, UsageError
from redargue.events import (
    CallFailed,
    CallFinished,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
)
from redargue.evidence import Passage, first_in_time, timing
from redargue.memory.base import EvidenceMemory, Finding, Recall
from redargue.registry import did_you_mean
from redargue.retrieval.tools.base import Action, Observation, Search, Tool
from redargue.runs.budget import Account, Budget, Cost
from redargue.runs.clock import Clock, SystemClock
from redargue.runs.earlier import (
    Alignment,
    Answer,
    Position,
    call_position,
    convert_answer,
    evidence_position,
    memory_position,
)
from redargue.runs.record import CallRecord
from redargue.runs.usage import Spent, cost_of
from redargue.tasks.base import Out, Task
from redargue.tasks.score import CompareTexts, Similarities
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
        record: the run folder, or the ledger that workers share; None records nothing.
        listeners: called with every event, in order, on the run's own thread.
        models: the model wanted for an agent or a task, by its name; a task's own goes first.
        priced: whether what calls and searches cost is known in dollars.
        actions: tools that agents call with arguments, by the names they use.
        memory: evidence of earlier claims; None for a run without, and in a replay.
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
        record: CallRecord | None = None,
        listeners: Sequence[Callable[[Event], None]] = (),
        models: Mapping[str, str] | None = None,
        priced: bool = False,
        actions: Mapping[str, Action] | None = None,
        memory: EvidenceMemory | None = None,
    ) -> None:
        self.actions, self.memory = dict(actions or {}), memory
        self.backend, self.tools, self.item, self.seed = backend, dict(tools or {}), item, seed
        self.budget, self.clock, self.record = budget or Budget(), clock or SystemClock(), record
        self.events: list[Event] = []
        self._listeners, self._models = tuple(listeners), dict(models or {})
        self._asked: Counter[str] = Counter()
        self._began = self.clock.elapsed()
        self._spent = Spent(priced)
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
        known = await self._recorded(key, call_position(agent, round_, task.name()), partial(_fits, task, n))
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
        facts = {"agent": agent, "round": round_, "tool": tool, "query": query, "key": key}
        wanted = k * ASKED_IN_TIME if strict else k
        event = await self._evidence(
            facts,
            f"a search of {tool!r} for {query!r}",
            lambda made_for: source.search(query, wanted, search=made_for),
            as_of=as_of,
            most=k if strict else None,
        )
        return event.passages if isinstance(event, EvidenceFound) else ()

    async def act(
        self, tool: str, arguments: Mapping[str, Any], *, agent: str, round_: int = 0, claim: Claim | None = None
    ) -> Observation:
        """Calls an action, or has the record answer; what goes wrong is an observation, too, and never evidence.

        Args:
            tool: the action's name as the agent wrote it; one that is not there is answered with those that are.
            arguments: as the agent wrote them.
            agent: who acts.
            round_: of the protocol, from 1; 0 outside of rounds.
            claim: passages say whether they were published by its ``as_of``.

        Raises:
            ReplayMiss: in a replay, the record does not hold the call.
            BudgetReached: the budget has no room for it.
        """
        source = self.actions.get(tool)
        query = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        as_of = claim.as_of if claim else None
        parts = [as_of.isoformat()] if as_of else []
        key = self._key("act", tool, source.revision if source else "", query, agent, round_, *parts)
        facts = {"agent": agent, "round": round_, "tool": tool, "query": query, "key": key}

        async def called(made_for: Search) -> tuple[Passage, ...]:
            if source is None:
                raise ToolFailed(f"there is no tool {tool[:60]!r}", hint=did_you_mean(tool[:60], list(self.actions)))
            return await source.call(arguments, search=made_for)

        event = await self._evidence(facts, f"a call of {tool!r} with {query}", called, as_of=as_of, least=0)
        if isinstance(event, EvidenceMissing):
            return Observation(why=event.why)
        return Observation(passages=event.passages)

    async def _evidence(
        self,
        facts: Mapping[str, Any],
        what: str,
        ask: Callable[[Search], Awaitable[Sequence[Passage]]],
        *,
        as_of: date | None,
        most: int | None = None,
        least: int = 1,
    ) -> EvidenceFound | EvidenceMissing:
        """What a tool answered, from the record or asked now; emitted and counted.

        Args:
            facts: of the event.
            what: is asked, in words.
            ask: asks the tool.
            as_of: the day by which passages have to be published to be in time.
            most: passages that are kept, of those in time alone; None keeps all.
            least: requests that are counted, at the least, where it failed.
        """
        position = evidence_position(facts["agent"], facts["round"], facts["tool"], facts["query"])
        known = await self._recorded(facts["key"], position)
        if isinstance(known, EvidenceFound | EvidenceMissing):
            self.budget.recall(Cost(usd=known.usd))
            return self._told(known)
        self._refuse_in_replay(what)
        account = Account(self.budget, counted=False)
        try:
            found = await ask(Search(as_of=as_of, account=account))
        except ToolFailed as error:
            why = f"{error.what}; {error.hint}" if error.hint else error.what
            requests = max(least, account.requests)
            return self._told(EvidenceMissing(**facts, why=why, requests=requests, usd=account.usd))
        now = self.clock.now()
        passages = tuple(
            each.model_copy(
                update={
                    "tool": facts["tool"],
                    "retrieved": now,
                    "query": facts["query"],
                    "timing": timing(each.published, as_of) if as_of else "",
                }
            )
            for each in found
        )
        kept, left_out = (passages, {}) if most is None else first_in_time(passages, most)
        requests = max(1, account.requests)
        return self._told(EvidenceFound(**facts, passages=kept, left_out=left_out, requests=requests, usd=account.usd))

    def _told(self, event: EvidenceFound | EvidenceMissing) -> EvidenceFound | EvidenceMissing:
        self._spent.search(event)
        self.emit(event)
        return event

    async def recall(
        self, entities: Sequence[str], *, agent: str, claim: Claim, text: str = "", round_: int = 0
    ) -> Recall:
        """Asks the memory, or the record; asked again, later, the memory may hold something else.

        Args:
            entities: as the agent wrote them.
            agent: who asks.
            claim: in hand; its ``as_of`` and ``only_in_time`` hold for what is recalled as for what is searched.
            text: what evidence is to be near to; the claim by default.
            round_: of the protocol.

        Raises:
            UsageError: the run has no memory; a method asks where its settings say that it has one.
            ReplayMiss: in a replay, the record does not hold the recall.
            CorpusError: the memory cannot be read.
        """
        text, as_of = text or claim.text, claim.as_of
        day = as_of.isoformat() if as_of else ""
        key = self._key("recall", *entities, text, agent, round_, day, claim.only_in_time)
        known = await self._recorded(key, memory_position("recall", agent, round_, entities))
        if not isinstance(known, EvidenceRecalled):
            self._refuse_in_replay(f"a recall of {', '.join(map(repr, entities))}")
            found = await self._memory().recall(
                entities,
                claim=claim.text,
                now=self.clock.now(),
                text=text,
                as_of=as_of,
                only_in_time=claim.only_in_time,
            )
            facts = {"agent": agent, "round": round_, "entities": tuple(entities), "text": text, "key": key}
            known = EvidenceRecalled(**facts, **dict(found))
        self.emit(known)
        return Recall(items=known.items, held_back=known.held_back, left_out=known.left_out)

    async def remember(
        self, findings: Sequence[Finding], *, entities: Sequence[str], agent: str, claim: Claim, round_: int = 0
    ) -> None:
        """Hands what was found for the claim to the memory; what the record says was handed over is not again.

        Raises:
            UsageError: the run has no memory.
            ReplayMiss: in a replay, the record does not hold it.
            CorpusError: the memory cannot be written to; nothing was kept.
        """
        shas = [each.passage.sha256 for each in findings]
        key = self._key("remember", *entities, *shas, agent, round_)
        known = await self._recorded(key, memory_position("remember", agent, round_, entities))
        if not isinstance(known, EvidenceRemembered):
            self._refuse_in_replay(f"{len(findings)} findings for the memory")
            memory = self._memory()
            run, now = self.record.id if self.record else "", self.clock.now()
            kept = await memory.remember(findings, entities=entities, claim=claim.text, run=run, now=now)
            facts = {"agent": agent, "round": round_, "entities": tuple(entities), "passages": tuple(shas), "key": key}
            known = EvidenceRemembered(**facts, dropped=kept.dropped)
        self.emit(known)

    def _memory(self) -> EvidenceMemory:
        if self.memory is None:
            raise UsageError("this run has no memory", hint="Run(…, memory=open_memory(…)), or a method without")
        return self.memory

    async def _recorded(
        self, key: str, position: Position, accepts: Callable[[Answer], bool] = lambda answer: True
    ) -> Answer | None:
        """The recorded answer under a key; in a trial replay of an earlier recording, the one at that position."""
        if isinstance(self.record, Alignment):
            return await self.record.find(key, position, accepts)
        return self.record.recall(self.item, key) if self.record else None

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


def _fits(task: Task[Out], n: int, event: Answer) -> bool:
    """Whether a recorded answer has the form that the task asks for."""
    if not isinstance(event, CallFinished):
        return isinstance(event, CallFailed)
    try:
        answers = [task.validate_answer(_read(task, output).answer) for output in event.outputs]
    except ValueError:
        return False
    if isinstance(task, CompareTexts):
        return all(isinstance(each, Similarities) and len(each.values) == len(task.texts) for each in answers)
    return len(answers) == n


def _read(task: Task[Out], output: dict[str, Any]) -> Output[Out]:
    """What :func:`_dumped` wrote, in this release or an earlier one."""
    return Output(
        cast(Out, task.answer_type().model_validate(convert_answer(task.name(), output["answer"]))),
        text=output["text"],
        thoughts=output.get("thoughts", ""),
        entropy=output["entropy"],
        tokens=tuple(Token(*each) for each in output.get("tokens", ())),
    )
