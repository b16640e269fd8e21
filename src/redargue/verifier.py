"""A method, a backend and evidence tools put together: what verifies claims.

Importing this module registers every method, backend and tool: one import line each.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from redargue.backends import embedded, recorded, roles, scripted  # noqa: F401  (each registers)
from redargue.backends.base import Backend, backends, require
from redargue.backends.chat import ChatBackend
from redargue.backends.prompts import Prompts
from redargue.backends.replay import ReplayBackend
from redargue.backends.transformers import TransformersBackend
from redargue.claims import Claim
from redargue.corpus.index import Corpus
from redargue.corpus.shipped import open_store
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import ClaimEnded, ClaimStarted, Event
from redargue.ledger.budget import Budget, Cost
from redargue.ledger.clock import Clock, SystemClock
from redargue.ledger.prices import Prices
from redargue.ledger.record import FORMAT, CallRecord, Record
from redargue.memory.base import EvidenceMemory
from redargue.memory.memory import Memory, open_memory
from redargue.protocols import catalogue  # noqa: F401  (every method)
from redargue.protocols.base import Method, configure
from redargue.registry import did_you_mean
from redargue.run import Run
from redargue.services import SERVICES, limiter, services
from redargue.tools import (  # noqa: F401  (each registers)
    arxiv,
    corpus,
    google,
    keywords,
    openalex,
    pubmed,
    reranked,
    tavily,
    wikipedia,
)
from redargue.tools.base import Action, PerClaim, Sources, Tool, own, tools
from redargue.transport import Transport
from redargue.verdicts import ErrorInfo, Usage, Verdict

Listener = Callable[[Event], None]


class Verifier:
    """A method, a backend and evidence tools, ready to verify claims; a context manager.

    The endpoint's address and every key come from the environment (``redargue.services``): a key that stands in code or
    on a command line is soon found by somebody else.

    Args:
        method: registered name.
        profile: ``hardened`` or ``paper``.
        backend: registered name, or a backend of your own; by default ``chat`` where a model is named, else
            ``embedded``.
        model: the language model of every role that ``models`` does not name.
        base_url: of the models' endpoint; from the environment by default.
        models: a model for an agent ("judge") or a task ("CheckStatements").
        chat: further arguments of :class:`~redargue.backends.chat.ChatBackend` (``form``, ``embedding_model``,
            ``max_tokens``, ``stream``).
        prompts: a folder with your own words for tasks.
        prices: what tokens and searches cost; the table that comes along under the user's by default.
        transport: sends every request; one for the process, if several verifiers are to share its limits.
        offline: sends no request that leaves this machine.
        evidence: evidence tools of your own, by the names that the settings use, also ones that differ from claim to
            claim (:class:`~redargue.tools.base.PerClaim`); others are made over ``store``.
        actions: tools that the method's agents call with arguments, by the names they use; those that are asynchronous
            context managers (:class:`~redargue.tools.mcp.client.McpTool`) are entered while claims are verified.
        memory: of earlier claims' evidence, where the method keeps one; whoever opened it closes it. By default the
            user's own.
        store: the corpus to search: a path, a URI or ``starter``; None for the user's own, or the starter corpus where
            there is none.
        seed: of the run.
        budget: shared by all its claims.
        clock: where times come from.
        folder: records the run there, or goes on with the run that is there; None records nothing.
        claims: of the run, where it is recorded: a run folder belongs to these claims.
        text: what they were taken from (``redargue.responses``), for the record.
        settings: of the method, by field name.
        calls: records in the place of a folder: the ledger that many workers share.

    Raises:
        UsageError: an unknown name or setting, or a backend that cannot play the method.
        CorpusError: the store cannot be used.
        RecordError: the folder holds another run.
    """

    def __init__(
        self,
        *,
        method: str = "tool-mad",
        profile: str = "hardened",
        backend: str | Backend = "",
        model: str = "",
        base_url: str = "",
        models: Mapping[str, str] | None = None,
        chat: Mapping[str, Any] | None = None,
        prompts: Path | None = None,
        prices: Prices | None = None,
        transport: Transport | None = None,
        offline: bool = False,
        evidence: Mapping[str, Tool | PerClaim] | None = None,
        actions: Mapping[str, Action] | None = None,
        memory: EvidenceMemory | None = None,
        store: str | Path | None = None,
        seed: int = 0,
        budget: Budget | None = None,
        clock: Clock | None = None,
        folder: Path | None = None,
        claims: Sequence[Claim] = (),
        text: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        calls: CallRecord | None = None,
    ) -> None:
        self.method: Method = configure(method, profile, settings or {})
        self.profile, self.seed = profile, seed
        self.prices = prices or Prices.read()
        own = backend.transport if isinstance(backend, ChatBackend) else None
        self.transport = transport or own or Transport(limiter(), offline=offline)
        self.models, self.services = dict(models or {}), services(base_url)
        self.backend: Backend = self._backend(backend or ("chat" if model else "embedded"), model, prompts, chat or {})
        require(self.backend, method, self.method.tasks())
        self.budget, self.clock, self._shared = budget or Budget(), clock or SystemClock(), calls
        self.corpus: Corpus | None = None
        self.claims, self.actions = tuple(claims), dict(actions or {})
        self.memory: EvidenceMemory | None = memory
        self._own_memory: Memory | None = None
        try:
            self.tools = self._tools(dict(evidence or {}), store)
            self.priced = self._priced()
            wanted = getattr(self.method.settings, "remembering", None)
            if wanted and memory is None and not isinstance(self.backend, ReplayBackend):
                self.memory = self._own_memory = open_memory(settings=wanted)
            self.record = Record(folder, self.about(claims, text), secrets=self.transport.secrets) if folder else None
        except RedargueError:
            self._close_stores()
            raise
        if self.record:  # what finished claims cost was spent from the same budget
            for verdict in self.record.finished():
                self.budget.recall(cost_of(verdict.usage))

    def _backend(self, backend: str | Backend, model: str, prompts: Path | None, chat: Mapping[str, Any]) -> Backend:
        if not isinstance(backend, str):
            return backend
        if backend not in ("chat", "transformers"):
            if model or self.models or prompts:
                raise UsageError(
                    f"the backend {backend!r} takes no model and no prompts",
                    hint="drop --backend, or drop --model and --prompts",
                )
            return backends[backend]()
        if not model:
            raise UsageError(f"the {backend} backend needs a model", hint="name one: --model, or REDARGUE_MODEL")
        words = Prompts.read(prompts) if prompts else None
        if backend == "transformers":
            if self.models:
                raise UsageError("the transformers backend has one model for every role", hint="drop ROLE=NAME")
            return TransformersBackend(model, prompts=words)
        known = {*self.method.agents(), *(task.name() for task in self.method.tasks())}
        for role in self.models:
            if role not in known:
                raise UsageError(f"{self.method.name!r} has no role {role!r}", hint=did_you_mean(role, sorted(known)))
        service = self.services["model"]
        if not service.key and service.place == SERVICES["model"].url:
            raise UsageError(
                f"no key for {service.place}",
                hint="set OPENAI_API_KEY, or REDARGUE_BASE_URL to an endpoint that needs none",
            )
        return ChatBackend(self.transport, service, model, prices=self.prices, prompts=words, **chat)

    def _tools(self, given: dict[str, Tool | PerClaim], store: str | Path | None) -> dict[str, Tool | PerClaim]:
        def opened() -> Corpus:
            self.corpus = self.corpus or open_store(store)
            return self.corpus

        sources = Sources(
            corpus=opened, transport=self.transport, services=self.services, prices=dict(self.prices.searches)
        )
        for name in self.method.tools():
            if name not in given:
                given[name] = tools[name].make(sources)
        return given

    def _priced(self) -> bool:
        """Whether what the run costs can be told in dollars.

        Raises:
            UsageError: the budget is in money or tokens, and what it is to be paid for has no price or no tokens.
        """
        if not isinstance(self.backend, ChatBackend):
            if self.budget.usd is not None or self.budget.tokens is not None:
                raise UsageError(
                    f"the backend {self.backend.name!r} is paid with neither money nor tokens",
                    where="--budget",
                    hint="give the budget in calls: 40calls",
                )
            return False
        chosen = {self.backend.model, *self.models.values(), self.backend.embedding_model} - {""}
        try:
            self.prices.require(sorted(chosen), sorted({*self.tools, *self.actions}))
        except UsageError:
            if self.budget.usd is not None:
                raise
            return False
        return True

    def about(self, claims: Sequence[Claim], text: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a run folder is made for; a run with other values is another run."""
        return {
            "redargue": version("redargue"),
            "format": FORMAT,
            "method": self.method.name,
            "profile": self.profile,
            "settings": self.method.settings.model_dump(mode="json"),
            "backend": self.backend.name,
            "identity": self.backend.identity,
            "stability": list(self.backend.stability),
            "models": self.models,
            "priced": self.priced,
            **self._wording(),
            **({"memory": self.memory.about} if self.memory else {}),
            "tools": {
                name: {"name": tool.name, "about": tool.about, "revision": tool.revision}
                for name, tool in sorted(self.tools.items())
            },
            **self._actions(),
            "seed": self.seed,
            "claims": [claim.model_dump(mode="json") for claim in claims],
            **({"text": dict(text)} if text else {}),
        }

    def _actions(self) -> dict[str, Any]:
        """The agents' tools with their schemas, which prompts hold: a replay has no server to ask for them."""
        rows = {
            name: {"about": each.about, "revision": each.revision, "parameters": dict(each.parameters)}
            for name, each in self.actions.items()  # in their order, which prompts keep, too
        }
        return {"actions": rows} if rows else {}

    def _wording(self) -> dict[str, Any]:
        """What a replay needs in order to write the same prompts."""
        if not isinstance(self.backend, ChatBackend | TransformersBackend):
            return {}
        return {"form": self.backend.form, "prompts": self.backend.prompts.texts if self.backend.prompts else {}}

    async def verify(self, claim: Claim, *, item: int = 0, listeners: Sequence[Listener] = ()) -> Verdict:
        """Verifies one claim; a redargue error becomes the verdict's ``error``, never a label.

        Args:
            claim: what to check.
            item: its place in the run, from 0; a claim whose verdict is recorded is not verified again.
            listeners: called with every event.
        """
        if self.record and self.record.mode == "record":
            if item >= len(self.claims) or self.claims[item] != claim:
                raise UsageError(
                    f"claim {item} of this run is not {claim.text[:60]!r}",
                    hint="a recorded run is made for its claims: Verifier(folder=…, claims=[…])",
                )
            if known := self.record.verdict(item):
                return known
        calls = self._shared or self.record
        run = Run(
            own(self.backend, item),
            {name: own(tool, item) for name, tool in self.tools.items()},
            item=item,
            seed=self.seed,
            budget=self.budget,
            clock=self.clock,
            record=calls,
            listeners=listeners,
            models=self.models,
            priced=self.priced,
            actions={name: own(action, item) for name, action in self.actions.items()},
            memory=own(self.memory, item),
        )
        settings = self.method.settings.model_dump(mode="json")
        run.emit(
            ClaimStarted(
                claim=claim, method=self.method.name, settings=settings, backend=self.backend.name, seed=self.seed
            )
        )
        try:
            async with self._open():
                verdict = await self.method.verify(claim, run)
        except RecordError:
            raise  # the record itself is unfit: nothing that it says of this claim can be kept
        except RedargueError as error:
            verdict = Verdict(claim=claim, label=None, error=ErrorInfo.of(error))
        meaning = verdict.meaning
        if meaning is None and verdict.label in claim.labels.names:
            meaning = claim.labels.meaning(str(verdict.label))
        verdict = verdict.model_copy(
            update={
                "meaning": meaning,
                "method": self.method.name,
                "profile": self.profile,
                "backend": self.backend.name,
                "usage": run.usage,
                "run": calls.id if calls else "",
            }
        )
        run.emit(ClaimEnded(verdict=verdict))
        return verdict

    async def verify_all(
        self,
        claims: Sequence[Claim],
        *,
        at_once: int = 2,
        listeners: Sequence[Listener] = (),
        done: Callable[[int, Verdict], None] | None = None,
    ) -> list[Verdict]:
        """Verifies claims, several at once; one that fails does not stop the others.

        Args:
            claims: what to check.
            at_once: claims in work at a time.
            listeners: called with every event of every claim.
            done: called with each claim's place and verdict, as they come.

        Returns:
            One verdict a claim, in their order.
        """
        found: dict[int, Verdict] = {}
        async for item, verdict in self.stream(claims, at_once=at_once, listeners=listeners):
            found[item] = verdict
            if done:
                done(item, verdict)
        return [verdict for _, verdict in sorted(found.items())]

    async def stream(
        self, claims: Iterable[Claim], *, at_once: int = 2, listeners: Sequence[Listener] = ()
    ) -> AsyncIterator[tuple[int, Verdict]]:
        """Verifies claims, several at once, and gives each one's place and verdict as they come.

        Only what is in work is held, however many claims there are.
        """
        left = enumerate(claims)
        async with self._open():
            work = {self._begin(*each, listeners) for each in itertools.islice(left, at_once)}
            try:
                while work:
                    ended, work = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
                    work |= {self._begin(*each, listeners) for each in itertools.islice(left, len(ended))}
                    for each in sorted(ended, key=lambda task: task.get_name()):
                        yield each.result()
            finally:
                for each in work:
                    each.cancel()
                await asyncio.gather(*work, return_exceptions=True)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        """Holds connections open; may be entered several times at once."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.transport)
            for action in self.actions.values():
                if isinstance(action, AbstractAsyncContextManager):
                    await stack.enter_async_context(action)
            yield

    def _begin(self, item: int, claim: Claim, listeners: Sequence[Listener]) -> asyncio.Task[tuple[int, Verdict]]:
        async def one() -> tuple[int, Verdict]:
            return item, await self.verify(claim, item=item, listeners=listeners)

        return asyncio.create_task(one(), name=f"claim {item:09}")

    def close(self) -> None:
        """Closes the corpus, the memory and the run folder."""
        self._close_stores()
        if self.record:
            self.record.close()

    def _close_stores(self) -> None:
        for store in (self.corpus, self._own_memory):
            if store:
                store.close()

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def cost_of(usage: Usage) -> Cost:
    """What a finished claim has cost of a budget."""
    return Cost(usage.calls, usage.prompt_tokens + usage.completion_tokens, usage.usd or 0.0)
