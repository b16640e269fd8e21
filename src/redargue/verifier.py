"""A method, a backend and evidence tools put together: what verifies claims."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from redargue.assembly import make_backend, memory_of, method_of
from redargue.backends.base import Backend, require
from redargue.backends.replay import ReplayBackend
from redargue.claims import Claim
from redargue.config import Components, RunConfig, RunOptions, read_options
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import ClaimEnded, ClaimStarted, Event
from redargue.llm.chat import ChatBackend
from redargue.llm.local import TransformersBackend
from redargue.memory.base import EvidenceMemory
from redargue.memory.memory import Memory
from redargue.methods.base import ConfiguredMethod
from redargue.net.services import limiter, services
from redargue.net.transport import Transport
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.corpus.shipped import open_store
from redargue.retrieval.tools.base import PerClaim, Sources, Tool, own, tools
from redargue.run import Run
from redargue.runs.budget import Budget, Cost
from redargue.runs.clock import SystemClock
from redargue.runs.manifest import ActionEntry, RunManifest, ToolEntry
from redargue.runs.prices import Prices
from redargue.runs.record import CallRecord, Record
from redargue.verdicts import ErrorInfo, Usage, Verdict

Listener = Callable[[Event], None]


class Verifier:
    """A method, a backend and evidence tools, ready to verify claims; a context manager.

    The endpoint's address and every key come from the environment (``redargue.net.services``): a key in code or on a
    command line leaks.

    Args:
        config: the configuration; by default redargue's own.
        folder: records the run there, or resumes the run that is there; None records nothing.
        claims: of the run, where it is recorded: a run folder belongs to these claims.
        text: what the claims were extracted from (``redargue.text.verification``), for the record.
        calls: records instead of a folder: the ledger that many workers share.
        components: objects to use instead of making them from ``config``.
        options: fields of :class:`~redargue.config.RunConfig` and :class:`~redargue.config.Components`, which win over
            ``config`` and ``components``.

    Raises:
        UsageError: an unknown name, option or setting, or a backend that cannot play the method.
        CorpusError: the store cannot be used.
        RecordError: the folder holds another run.
    """

    def __init__(
        self,
        config: RunConfig | None = None,
        *,
        folder: Path | None = None,
        claims: Sequence[Claim] = (),
        text: Mapping[str, Any] | None = None,
        calls: CallRecord | None = None,
        components: Components | None = None,
        **options: Unpack[RunOptions],
    ) -> None:
        self.config, parts = read_options(options, config, components)
        if self.config.mcp and parts.actions is None:
            raise UsageError(
                "the tools of MCP servers are not listed yet", hint="pass what redargue.assembly.connect gives"
            )
        self.method: ConfiguredMethod = method_of(self.config)
        self.profile, self.seed, self.models = self.config.profile, self.config.seed, self.config.models
        self.prices = parts.prices or Prices.read(self.config.prices)
        own_transport = parts.backend.transport if isinstance(parts.backend, ChatBackend) else None
        self.transport = parts.transport or own_transport or Transport(limiter(), offline=self.config.offline)
        self.services = services(self.config.base_url)
        self.backend: Backend = parts.backend or make_backend(
            self.config, self.method, self.services["model"], self.transport, self.prices
        )
        require(self.backend, self.method.name, self.method.tasks())
        self.budget = parts.budget or (Budget.parse(self.config.budget) if self.config.budget else Budget())
        self.clock, self._shared = parts.clock or SystemClock(), calls
        self.corpus: Corpus | None = None
        self.claims, self.actions = tuple(claims), dict(parts.actions or {})
        self.memory: EvidenceMemory | None = parts.memory
        self._own_memory: Memory | None = None
        try:
            self.tools = self._tools(dict(parts.evidence))
            self.priced = self._priced()
            if parts.memory is None and not isinstance(self.backend, ReplayBackend):
                self.memory = self._own_memory = memory_of(self.config, self.method)
            self.record = (
                Record(folder, self.manifest(claims, text), secrets=self.transport.secrets) if folder else None
            )
        except RedargueError:
            self._close_stores()
            raise
        if self.record:  # what finished claims cost was spent from the same budget
            for verdict in self.record.finished():
                self.budget.recall(cost_of(verdict.usage))

    def _tools(self, made: dict[str, Tool | PerClaim]) -> dict[str, Tool | PerClaim]:
        def opened() -> Corpus:
            self.corpus = self.corpus or open_store(self.config.store)
            return self.corpus

        sources = Sources(
            corpus=opened, transport=self.transport, services=self.services, prices=dict(self.prices.searches)
        )
        for name in self.method.tools():
            if name not in made:
                made[name] = tools[name].make(sources)
        return made

    def _priced(self) -> bool:
        """Whether the cost of the run is known in dollars.

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

    def manifest(self, claims: Sequence[Claim] = (), text: Mapping[str, Any] | None = None) -> RunManifest:
        """What a run folder is made for; a run with another manifest is another run."""
        worded = self.backend if isinstance(self.backend, ChatBackend | TransformersBackend) else None
        return RunManifest(
            redargue=version("redargue"),
            method=self.method.name,
            profile=self.profile,
            settings=self.method.settings.model_dump(mode="json"),
            backend=self.backend.name,
            identity=self.backend.identity,
            stability=self.backend.stability,
            models=self.models,
            priced=self.priced,
            response_format=worded.form if worded else "",
            prompts=dict(worded.prompts.texts) if worded and worded.prompts else {},
            memory=self.memory.about if self.memory else None,
            tools={
                name: ToolEntry(name=tool.name, about=tool.about, revision=tool.revision)
                for name, tool in sorted(self.tools.items())
            },
            actions={
                name: ActionEntry(about=tool.about, revision=tool.revision, parameters=dict(tool.parameters))
                for name, tool in self.actions.items()
            },
            seed=self.seed,
            claims=tuple(claims),
            text=dict(text) if text else None,
        )

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
        concurrency: int = 2,
        listeners: Sequence[Listener] = (),
        done: Callable[[int, Verdict], None] | None = None,
    ) -> list[Verdict]:
        """Verifies claims, several at once; one that fails does not stop the others.

        Args:
            claims: what to check.
            concurrency: claims in work at a time.
            listeners: called with every event of every claim.
            done: called with each claim's place and verdict, as they come.

        Returns:
            One verdict a claim, in their order.
        """
        found: dict[int, Verdict] = {}
        async for item, verdict in self.stream(claims, concurrency=concurrency, listeners=listeners):
            found[item] = verdict
            if done:
                done(item, verdict)
        return [verdict for _, verdict in sorted(found.items())]

    async def stream(
        self, claims: Iterable[Claim], *, concurrency: int = 2, listeners: Sequence[Listener] = ()
    ) -> AsyncIterator[tuple[int, Verdict]]:
        """Verifies claims, several at once, and gives each one's place and verdict as they come.

        Only what is in work is held, however many claims there are.
        """
        left = enumerate(claims)
        async with self._open():
            work = {self._begin(*each, listeners) for each in itertools.islice(left, concurrency)}
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
