"""The context of one claim's verification: backend, tools, budget, clock, randomness and record.

Every paid answer is recorded under a key made of the question, the prompt, the settings, the agent, the round and the
number of earlier identical questions. To resume, a run consults its record first, which its budget has counted; to
replay, it consults nothing else. The day that a prompt states is recorded beside the answer and is not part of the key:
what was paid on one day is not asked again on the next.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from redargue.backends import Backend, Call, Output, Reply, Sampling, Token
from redargue.claims import Claim
from redargue.errors import BadReply, RecordError, RedargueError, ReplayMiss, ToolFailed, UsageError
from redargue.events import (
    CallFailed,
    CallFinished,
    CallReused,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
    passages_of,
)
from redargue.evidence import Omission, Passage, Timing, first_in_time, timing
from redargue.injections import injection_in, reason_to_refuse
from redargue.memory import EvidenceMemory, Finding, Recall
from redargue.memory.memory import MemoryLookup
from redargue.nli.language import in_english, language_of
from redargue.registry import ExtensionError, blamed, did_you_mean
from redargue.retrieval.tools import Action, Observation, Search, Tool
from redargue.runs.budget import Account, Budget, UsageCounter
from redargue.runs.record import CallRecord, Clock, Paid, SystemClock
from redargue.tasks.answer import Answer, LabelledTask
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.judge import Turn
from redargue.verdicts import ErrorInfo, Usage

_SearchEvent = EvidenceFound | EvidenceMissing
STRICT_FACTOR = 4  # times as many passages are requested where those not in time are left out


class Run:
    """One claim's verification; ``listeners`` are called with every event, in order, on the run's thread.

    ``opening``: what was read about the claim together with the others of its text; empty where that failed, None where
    it was not read so.
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
        model: str = "",
        models: Mapping[str, str] | None = None,
        priced: bool = False,
        actions: Mapping[str, Action] | None = None,
        memory: EvidenceMemory | None = None,
        opening: tuple[Turn, ...] | None = None,
    ) -> None:
        self.actions, self.memory, self.opening = dict(actions or {}), memory, opening
        self.backend, self.tools, self.item, self.seed = backend, dict(tools or {}), item, seed
        self.budget, self.clock, self.record = budget or Budget(), clock or SystemClock(), record
        self.events: list[Event] = []
        self._english_only: bool = getattr(backend, "english_only", False)
        self._listeners, self._model, self._models = tuple(listeners), model, dict(models or {})
        self._occurrences: Counter[str] = Counter()
        # by agent and question
        self._answers: dict[str, asyncio.Future[tuple[Output[Any], ...]]] = {}
        self._started_at = self.clock.elapsed()
        self._usage = UsageCounter(priced)
        self._failed = record.failed(item) if record else ()

    @property
    def usage(self) -> Usage:
        """The cost of the claim so far; what is in the record counts as when it was paid."""
        return self._usage.usage()

    def whole_usage(self) -> Usage:
        """The cost of the claim, with recorded calls that failed and were not made again."""
        self._count_failed(self._failed)
        return self.usage

    def _count_failed(self, calls: Sequence[CallFailed]) -> None:
        for call in calls:
            self._usage.call(call)
        self._failed = tuple(call for call in self._failed if call not in calls)

    def emit(self, event: Event) -> None:
        """Numbers and times an event, records it and passes it to the listeners."""
        at = round(self.clock.elapsed() - self._started_at, 4)
        event = event.model_copy(update={"item": self.item, "seq": len(self.events), "at": at})
        self.events.append(event)
        if self.record:
            self.record.write(event)
        for listener in self._listeners:
            listener(event)

    def model_for(self, task: type[AnyTask], agent: str) -> str:
        """The model that a task or an agent has of its own; empty for the run's."""
        return self._models.get(task.name()) or self._models.get(agent, "")

    def named_model(self, task: type[AnyTask], agent: str) -> str:
        """The model that an agent's tasks of a type ask; empty where the run's has no name."""
        return self.model_for(task, agent) or self._model

    async def ask_once(self, task: Task[Out], *, agent: str, round_: int = 0) -> tuple[Output[Out], ...]:
        """As :meth:`ask` with one sample; the agent's answer to the same question in an earlier round is kept."""
        key = "\0".join((agent, task.fingerprint, self._rendered(task)))
        if key in self._answers:
            outputs = await self._answers[key]
            self.emit(CallReused(agent=agent, round=round_, task=task.name()))
            return outputs
        future = self._answers[key] = asyncio.get_running_loop().create_future()
        try:
            outputs = await self.ask(task, agent=agent, round_=round_)
        except BaseException as error:
            del self._answers[key]
            future.set_exception(error if isinstance(error, Exception) else _cancelled())
            future.exception()  # nobody may be waiting
            raise
        future.set_result(outputs)
        return outputs

    async def ask(
        self, task: Task[Out], *, agent: str, round_: int = 0, n: int = 1, temperature: float = 0.0
    ) -> tuple[Output[Out], ...]:
        """Performs a task, or returns its recorded answers; ``round_`` is from 1, or 0 outside of rounds.

        Raises:
            ReplayMiss: in a replay, the call was not recorded.
            BadReply, BudgetReached, ProviderError: from the backend.
        """
        sampling = Sampling(n=n, temperature=temperature)
        model = self.model_for(type(task), agent)
        backend = (self._rendered(task), self.backend.identity, model)
        sampled = (sampling.model_dump(), self.seed)
        key = self._key("call", task.fingerprint, *backend, *sampled, agent, round_)
        known = self._recorded(key)
        if isinstance(known, CallFinished | CallFailed):
            self._usage.call(known)
            self.emit(known)
            if isinstance(known, CallFinished):
                return tuple(_read(task, output) for output in known.outputs)
            failed = known.error
            raise BadReply(failed.what, raw=known.raw, where=failed.where, hint=failed.hint)
        self._refuse_in_replay(f"{task.name()} of {agent!r} in round {round_}")
        account = Account(self.budget, charge=task.charge)
        seeds = {"seed": int(key[:8], 16), "run_seed": self.seed}
        call = Call(agent=agent, model=model, sampling=sampling, account=account, **seeds)
        asked = task.asked_on(self.clock.now().date())
        facts: dict[str, Any] = {"agent": agent, "round": round_, "task": task.name(), "charge": task.charge}
        facts |= {"key": key, "today": asked.today}
        try:
            with blamed(f"the backend {self.backend.name!r}", self.backend):
                reply = _checked(await self.backend.perform(asked, call), task, self.backend.name)
        except (RedargueError, asyncio.CancelledError) as error:
            self._fail(error, account, facts)
            raise
        facts["rejected"] = tuple(rejection.model_dump() for rejection in reply.rejected)
        facts["outputs"] = tuple(map(_dumped, reply.outputs))
        self._finish_call(CallFinished(**facts, **_paid(account)))
        return reply.outputs

    def _rendered(self, task: AnyTask) -> str:
        with blamed(f"the backend {self.backend.name!r}", self.backend):
            return self.backend.render(task)

    def _fail(self, error: BaseException, account: Account, facts: Mapping[str, Any]) -> None:
        """Records the requests of a call or search that gave nothing: whatever the outcome, they may be billed."""
        if account.requests:
            cause = ErrorInfo.of(error if isinstance(error, RedargueError) else _cancelled())
            raw = error.raw if isinstance(error, BadReply) else ""
            self._finish_call(CallFailed(**facts, **_paid(account), error=cause, raw=raw))

    def _finish_call(self, event: CallFinished | CallFailed) -> None:
        self._usage.call(event)
        self.emit(event)

    def is_whole(self, tool: str) -> bool:
        """Whether a tool that was searched returns everything that it has for the claim, whatever the query is."""
        return any(isinstance(event, EvidenceFound) and event.tool == tool and event.whole for event in self.events)

    async def search(
        self, tool: str, query: str, k: int, *, agent: str, round_: int = 0, claim: Claim | None = None
    ) -> tuple[Passage, ...]:
        """Searches with a tool, or returns the recorded passages; none if the tool fails.

        With a claim's ``as_of``, each passage is marked as in time, later or undated; with its ``only_in_time``, more
        passages are requested, and those not in time are left out and counted. Only a tool that is ``whole`` may return
        more than ``k``.

        Raises:
            ReplayMiss: in a replay, the search was not recorded.
        """
        source = self.tools[tool]
        strict = claim is not None and claim.only_in_time
        dates = [*_day_of(claim), *(["only in time"] if strict else [])]
        key = self._key("search", source.name, source.revision, query, k, agent, round_, *dates)
        facts = {"agent": agent, "round": round_, "tool": tool, "query": query, "key": key}
        most = None if getattr(source, "whole", False) else k

        async def find(context: Search) -> Sequence[Passage]:
            if not query.strip():
                hint = "search with a query, for example the claim's text"
                raise ToolFailed("the query is empty", hint=hint)
            if self._is_online(tool):
                self._refuse_leak(query, claim)
            with blamed(f"the tool {tool!r}", source):
                return await source.search(query, k * STRICT_FACTOR if strict else k, search=context)

        what = f"a search of {tool!r} for {query!r}"
        return passages_of(await self._evidence(facts, what, find, claim, most=most, in_time=strict))

    async def act(
        self, tool: str, arguments: Mapping[str, Any], *, agent: str, round_: int = 0, claim: Claim | None = None
    ) -> Observation:
        """Calls an action, or returns the recorded observation; a failure is an observation, too, and never evidence.

        Raises:
            ReplayMiss: in a replay, the call was not recorded.
            BudgetReached: the call would exceed the budget.
        """
        source = self.actions.get(tool)
        query = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        revision = source.revision if source else ""
        key = self._key("act", tool, revision, query, agent, round_, *_day_of(claim))
        facts = {"agent": agent, "round": round_, "tool": tool, "query": query, "key": key}

        async def call(context: Search) -> tuple[Passage, ...]:
            if source is None:
                hint = did_you_mean(tool[:60], list(self.actions))
                raise ToolFailed(f"there is no tool {tool[:60]!r}", hint=hint)
            if getattr(source, "online", True):
                self._refuse_leak("\n".join(_texts_in(arguments)), claim)
            with blamed(f"the tool {tool!r}", source):
                return await source.call(arguments, search=context)

        what = f"a call of {tool!r} with {query}"
        event = await self._evidence(facts, what, call, claim, least=0)
        if isinstance(event, EvidenceFound):
            return Observation(passages=event.passages)
        return Observation(why=event.why)

    def _is_online(self, tool: str) -> bool:
        source = self.tools.get(tool) or self.actions.get(tool)
        return source is not None and getattr(source, "online", True)

    def _refuse_leak(self, text: str, claim: Claim | None) -> None:
        """Raises ToolFailed for a request that would carry a passage's text or address out."""
        passages = (passage for event in self.events for passage in passages_of(event))
        if why := reason_to_refuse(text, claim, passages, self._sent()):
            hint = "reword the query, or use the address of a result"
            raise ToolFailed(f"the request was not sent: {why}", hint=hint)

    def _sent(self) -> list[str]:
        """Queries and arguments that left this machine."""
        found = (event for event in self.events if isinstance(event, EvidenceFound))
        return [event.query for event in found if self._is_online(event.tool)]

    async def _evidence(
        self,
        facts: Mapping[str, Any],
        what: str,
        ask: Callable[[Search], Awaitable[Sequence[Passage]]],
        claim: Claim | None,
        *,
        most: int | None = None,
        in_time: bool = False,
        least: int = 1,
    ) -> _SearchEvent:
        """A tool's answer, which counts one request or more; a failure counts ``least`` or more.

        A look-up in the memory is not a search (MERMAID, ``M15``): it counts none, and its passages keep their origin.
        At most ``most`` passages are kept, with ``in_time`` only those in time.
        """
        as_of = claim.as_of if claim else None
        looks_up = isinstance(self.actions.get(facts["tool"]), MemoryLookup)
        known = self._recorded(facts["key"])
        if isinstance(known, EvidenceFound | EvidenceMissing):
            return self._finish_search(known)
        self._refuse_in_replay(what)
        account = Account(self.budget, charge="search")
        try:
            results = await ask(Search(as_of=as_of, account=account))
        except ToolFailed as error:
            why = f"{error.what}; {error.hint}" if error.hint else error.what
            counts = {"requests": max(least, account.requests), "usd": account.usd, "unknown_usd": account.unknown.usd}
            return self._finish_search(EvidenceMissing(**facts, **counts, why=why))
        except (RedargueError, asyncio.CancelledError) as error:
            of_search = {"task": facts["tool"], "charge": "search"}
            self._fail(error, account, {name: facts[name] for name in ("agent", "round", "key")} | of_search)
            raise
        listed = isinstance(results, list | tuple)
        if not listed or not all(isinstance(passage, Passage) for passage in results):
            what = f"the tool {facts['tool']!r} returned {results!r:.100}, which is not a list of passages"
            hint = "its author has to return redargue.Passage objects: docs/search-tools.md"
            raise ExtensionError(what, hint=hint)
        origin = {"tool": facts["tool"], "retrieved": self.clock.now(), "query": facts["query"]}
        found = []
        for passage in results:
            when = timing(passage.published, as_of) if as_of else Timing.UNKNOWN
            update = {"timing": when} if looks_up else origin | {"timing": when}
            found.append(passage.model_copy(update=update))
        passages, unread = in_english(tuple(found)) if self._english_only else (tuple(found), {})
        most = len(passages) if most is None else most
        kept, left_out = first_in_time(passages, most) if in_time else (passages[:most], {})
        requests = max(int(not looks_up), account.requests)
        counts = {"requests": requests, "usd": account.usd, "unknown_usd": account.unknown.usd}
        whole = getattr(self.tools.get(facts["tool"]), "whole", False)
        event = EvidenceFound(**facts, **counts, passages=kept, left_out=left_out, unread=unread, whole=whole)
        return self._finish_search(event)

    def _finish_search(self, event: _SearchEvent) -> _SearchEvent:
        self._usage.search(event)
        self.emit(event)
        return event

    async def recall(self, entities: Sequence[str], *, agent: str, claim: Claim) -> Recall:
        """Recalls evidence from the memory, or from the record; dates of the claim apply as in a search.

        Raises:
            UsageError: the run has no memory.
            ReplayMiss: in a replay, the recall was not recorded.
            CorpusError: the memory cannot be read.
        """
        day = "".join(_day_of(claim))
        key = self._key("recall", *entities, claim.text, agent, 0, day, claim.only_in_time)
        known = self._recorded(key)
        if not isinstance(known, EvidenceRecalled):
            self._refuse_in_replay(f"a recall of {', '.join(map(repr, entities))}")
            memory, now = self._memory(), self.clock.now()
            recall = await memory.recall(entities, claim=claim, now=now)
            facts = {"agent": agent, "round": 0, "entities": tuple(entities), "text": claim.text}
            known = EvidenceRecalled(**facts, key=key, **dict(self._usable(recall)))
        self.emit(known)
        return Recall(items=known.items, held_back=known.held_back, left_out=known.left_out)

    def _usable(self, recall: Recall) -> Recall:
        """The evidence that can be read and does not speak to models: other programs may have stored some that does."""
        read = recall.items
        if self._english_only:
            read = tuple(item for item in read if not language_of(item.passage.text))
        safe = tuple(item for item in read if not injection_in(item.passage.text))
        left_out = recall.left_out | _counted(Omission.LANGUAGE, len(recall.items) - len(read))
        left_out |= _counted(Omission.INJECTION, len(read) - len(safe))
        return recall.model_copy(update={"items": safe, "left_out": left_out})

    async def remember(self, findings: Sequence[Finding], *, entities: Sequence[str], agent: str, claim: Claim) -> None:
        """Stores the claim's findings in the memory, unless the record shows that they are; raises CorpusError."""
        shas = [finding.passage.sha256 for finding in findings]
        key = self._key("remember", *entities, *shas, agent, 0)
        known = self._recorded(key)
        if not isinstance(known, EvidenceRemembered):
            self._refuse_in_replay(f"{len(findings)} findings for the memory")
            memory, now = self._memory(), self.clock.now()
            run = self.record.id if self.record else ""
            safe = [finding for finding in findings if not injection_in(finding.passage.text)]
            dropped = await memory.remember(safe, entities=entities, claim=claim.text, run=run, now=now)
            dropped = dropped | _counted(Omission.INJECTION, len(findings) - len(safe))
            facts = {"agent": agent, "round": 0, "entities": tuple(entities), "key": key}
            known = EvidenceRemembered(**facts, passages=tuple(shas), dropped=dropped)
        self.emit(known)

    def _memory(self) -> EvidenceMemory:
        if self.memory is None:
            hint = "Run(…, memory=open_memory(…)), or a method without"
            raise UsageError("this run has no memory", hint=hint)
        return self.memory

    def _recorded(self, key: str) -> Paid | CallFailed | None:
        self._count_failed([earlier for earlier in self._failed if earlier.key == key])
        return self.record.recall(self.item, key) if self.record else None

    def _key(self, *parts: Any) -> str:
        base = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        self._occurrences[base] += 1
        return f"{base}-{self._occurrences[base] - 1}"

    def _refuse_in_replay(self, what: str) -> None:
        if self.record and self.record.mode == "replay":
            raise ReplayMiss(
                f"the record does not contain {what}",
                where=str(self.record.folder),
                hint="code, weights, prompts or corpus have changed since; run the claim again",
            )


def _checked(reply: Reply[Out], task: Task[Out], backend: str) -> Reply[Out]:
    """The reply; raises ExtensionError where the backend of another package returned anything else."""
    outputs, kind = reply.outputs if isinstance(reply, Reply) else (), task.answer_type()
    if not outputs or not all(isinstance(each, Output) and isinstance(each.answer, kind) for each in outputs):
        what = f"the backend {backend!r} returned {reply!r:.100}, which has no answer to {task.name()}"
        raise ExtensionError(what, hint="its author has to return redargue.backends.Reply objects: docs/extending.md")
    for each in outputs:
        if isinstance(task, LabelledTask) and isinstance(each.answer, Answer):
            task.claim.labels.require(each.answer.label, f"the backend {backend!r}")
    return reply


def _cancelled() -> RedargueError:
    return RedargueError("cancelled while in progress")


def _day_of(claim: Claim | None) -> list[str]:
    """The claim's as-of date, for a key; empty without one."""
    return [claim.as_of.isoformat()] if claim and claim.as_of else []


def _counted(why: Omission, number: int) -> dict[Omission, int]:
    return {why: number} if number else {}


def _paid(account: Account) -> dict[str, object]:
    names = ("requests", "prompt_tokens", "completion_tokens", "cached_tokens")
    unknown = {"unknown_tokens": account.unknown.tokens, "unknown_usd": account.unknown.usd}
    return {name: getattr(account, name) for name in names} | {"usd": round(account.usd, 12)} | unknown


def _dumped(output: Output[Out]) -> dict[str, object]:
    dumped: dict[str, object] = {"answer": output.answer.model_dump(mode="json")}
    dumped |= {"text": output.text, "entropy": output.entropy}
    if output.thoughts:
        dumped["thoughts"] = output.thoughts
    if output.tokens:
        dumped["tokens"] = [list(token) for token in output.tokens]
    return dumped


def _texts_in(value: Any) -> list[str]:
    """All texts in a call's arguments, names included."""
    if isinstance(value, Mapping):
        return [text for pair in value.items() for part in pair for text in _texts_in(part)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts_in(item)]
    return [str(value)]


def _read(task: Task[Out], output: dict[str, Any]) -> Output[Out]:
    try:
        return Output(
            cast(Out, task.answer_type().model_validate(output["answer"])),
            text=output["text"],
            thoughts=output.get("thoughts", ""),
            entropy=output["entropy"],
            tokens=tuple(Token(*token) for token in output.get("tokens", ())),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        hint = "events.jsonl was changed; restore it, or run again"
        what = f"the recorded answer to {task.name()!r} cannot be read"
        raise RecordError(what, hint=hint) from error
