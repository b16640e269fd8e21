"""Verifies claims with a method, a backend and evidence tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from redargue.assembly import Parts, RunOptions, make_backend, memory_of, method_of, read_options
from redargue.backends import AsksModel, Backend, RendersPrompts, ReplayBackend, require
from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Claim
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import ClaimEnded, ClaimStarted, Event
from redargue.files import Closable
from redargue.memory import EvidenceMemory
from redargue.methods.base import ConfiguredMethod
from redargue.methods.verdict_parts import deciding, limited, not_checked, read_again, without_unread
from redargue.net.services import limiter, require_local, services
from redargue.net.transport import Transport
from redargue.nli.language import language_of
from redargue.retrieval.corpus import stores
from redargue.retrieval.corpus.index import Corpus, open_store
from redargue.retrieval.tools import PerClaim, Sources, Tool, for_claim, made_tool, require_searchable, tools
from redargue.run import Run
from redargue.runs.budget import Budget, Cost, Prices, cost_of_event
from redargue.runs.manifest import ActionEntry, BackendEntry, Origin, RunManifest, ToolEntry
from redargue.runs.record import CallRecord, Record, SystemClock
from redargue.spec import RunSpec
from redargue.tasks.judge import openings_of
from redargue.tasks.score import InferClaim
from redargue.verdicts import ErrorInfo, Usage, Verdict, apply_threshold

if TYPE_CHECKING:
    from redargue.memory.memory import Memory
    from redargue.retrieval.web_pages import PageAction

Listener = Callable[[Event], None]
TEXT_CONCURRENCY = 16  # claims of a text verified at the same time; the limiter caps requests


def require_concurrency(claims: int | None) -> None:
    """Raises UsageError for a number of claims at a time that allows none."""
    if claims is not None and claims < 1:
        hint = "give a whole number from 1 on"
        raise UsageError(f"{claims!r} claims at a time", where="concurrency", hint=hint)


def require_spendable(budget: Budget, backend: str, prices: Prices, online: Iterable[str]) -> bool:
    """Whether one of the tools that go online costs money, where no model does.

    Raises UsageError for a budget in a unit that is never spent then.
    """
    paid = any(map(prices.searches.get, online))
    if budget.tokens is not None or (budget.usd is not None and not paid):
        hint = "give the budget in calls or searches: 40calls"
        raise UsageError(f"the backend {backend!r} costs neither money nor tokens", where="--budget", hint=hint)
    return paid


class Verifier(Closable):
    """Verifies claims; a context manager.

    Keys come from the environment alone (``redargue.net.services``), so that they cannot leak through code or a command
    line.

    Args:
        folder: run folder, created or resumed; None records nothing.
        text: source of the claims (``redargue.text.verification``), for the record, with what was read about them
            together (``openings``).
        origin: what the run was given, for the record.
        calls: a record to use instead of a folder, such as the ledger that workers share.

    Raises:
        UsageError: an unknown name, option or setting, or a backend that cannot perform the method's tasks.
        CorpusError: the store cannot be used.
        RecordError: the folder contains another run.
    """

    def __init__(
        self,
        spec: RunSpec | None = None,
        *,
        folder: str | Path | None = None,
        claims: Sequence[Claim] = (),
        text: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
        calls: CallRecord | None = None,
        parts: Parts | None = None,
        sends: bool = True,
        **options: Unpack[RunOptions],
    ) -> None:
        self.spec, parts = read_options(options, spec, parts)
        if self.spec.mcp and parts.actions is None:
            hint = "pass the result of redargue.assembly.connect"
            raise UsageError("the tools of MCP servers are not listed yet", hint=hint)
        remembers = parts.memory is not None
        self.method: ConfiguredMethod = method_of(self.spec, parts.backend, memory=remembers)
        self._settings: dict[str, Any] = self.method.settings.model_dump(mode="json")
        self._is_hardened: bool = self.method.settings.profile == "hardened"
        self.prices = parts.prices or Prices.read(self.spec.prices)
        own = parts.backend.transport if isinstance(parts.backend, AsksModel) else None
        self.transport = parts.transport or own or Transport(limiter(), offline=self.spec.offline)
        self.services = services(self.spec.base_url, assume_keys=not sends)
        self.backend: Backend = parts.backend or make_backend(
            self.spec, self.method, self.services["model"], self.transport, self.prices
        )
        require(self.backend, self.method.name, self.method.tasks())
        limits = self.spec.budget
        self.budget = parts.budget or (Budget.parse(limits) if limits else Budget())
        least = self.spec.min_confidence
        self.min_confidence = self._default_confidence if least is None else least
        facts = {
            "backend": self.backend.identity,
            "models": self.spec.models,
            "min_confidence": self.min_confidence,
        }
        self.method.kind.require_for(self.method.settings, facts)
        self.clock, self._shared = parts.clock or SystemClock(), calls
        self._origin = origin or Origin()
        self.corpus: Corpus | None = None
        self.claims, self.actions = tuple(claims), dict(parts.actions or {})
        self._openings = openings_of(text or {})
        self.memory: EvidenceMemory | None = parts.memory
        self._own_memory: Memory | None = None
        try:
            self.tools = self._tools(dict(parts.evidence))
            self.priced = self._priced()
            if parts.memory is None and not isinstance(self.backend, ReplayBackend):
                self.memory = self._own_memory = memory_of(self.spec, self.method)
            self.record = self._recorded(folder, text) if folder else None
        except RedargueError:
            self._close_stores()
            raise

    def _recorded(self, folder: str | Path, text: Mapping[str, Any] | None) -> Record:
        manifest = self.manifest(self.claims, text)
        return Record(folder, manifest, secrets=self.transport.secrets, count=self._count)

    def _count(self, event: Event) -> None:
        """Counts what a claim has cost, before anything else is paid from the same budget.

        What was paid before the claims of a text were known has been counted, unless they are not known yet.
        """
        if event.item < len(self.claims) or not self.claims:
            self.budget.recall(cost_of_event(event, self._is_online))

    @property
    def _default_confidence(self) -> float:
        """The least confidence of the backend's verdicts; 0 for one that is not calibrated."""
        return float(getattr(self.backend, "min_confidence", 0.0))

    def _tools(self, made: dict[str, Tool | PerClaim]) -> dict[str, Tool | PerClaim]:
        def opened() -> Corpus:
            if self.spec.offline:
                require_local(str(self.spec.store or ""), what="corpus", stores=stores)
            self.corpus = self.corpus or open_store(self.spec.store)
            return self.corpus

        prices = dict(self.prices.searches)
        sources = Sources(corpus=opened, transport=self.transport, services=self.services, prices=prices)
        for name, tool in made.items():
            require_searchable(name, tool)
        missing = (name for name in self.method.tools() if name not in made)
        return made | {name: made_tool(name, sources) for name in missing}

    def _is_online(self, tool: str) -> bool:
        source: Any = self.tools.get(tool) or self.actions.get(tool)
        return goes_online(tool) if source is None else bool(getattr(source, "online", True))

    @property
    def paid_tools(self) -> list[str]:
        """The tools whose searches may cost money; one that stays on this machine is free unless it has a price."""
        known = self.prices.searches
        return sorted(name for name in {*self.tools, *self.actions} if name in known or self._is_online(name))

    def _priced(self) -> bool:
        if isinstance(self.backend, ReplayBackend):
            return self.backend.priced
        models, searches = sorted(self._paid_models()), self.paid_tools
        if models:
            if self.budget.usd is not None:
                self.prices.require(models, searches)
            return self.prices.know(models, searches)
        return require_spendable(self.budget, self.backend.name, self.prices, filter(self._is_online, searches))

    def _paid_models(self) -> set[str]:
        """The models whose requests may cost money."""
        backend = self.backend
        if isinstance(backend, AsksModel):
            return {backend.model, backend.embedding_model, *self.spec.models.values()} - {""}
        return set(getattr(self.backend, "paid_models", ()))

    def __repr__(self) -> str:
        folder = f", {str(self.record.folder)!r}" if self.record else ""
        return f"<Verifier {self.method.name} ({self.spec.profile}), {self.backend.name} backend{folder}>"

    def manifest(self, claims: Sequence[Claim] = (), text: Mapping[str, Any] | None = None) -> RunManifest:
        """The description of this run in its folder; a run with another manifest is another run."""
        backend, prompts = self.backend, None
        resolved: dict[str, Any] = {"settings": self._settings, "backend": backend.name}
        if isinstance(backend, RendersPrompts):
            prompts, resolved = backend.prompts, resolved | backend.options()
        return RunManifest(
            redargue=version("redargue"),
            origin=self._origin,
            spec=self.spec.updated(**resolved).recorded(),
            backend=BackendEntry(
                identity=backend.identity,
                stability=backend.stability,
                threshold=self._default_confidence,
                address=backend.service.display_url if isinstance(backend, AsksModel) else "",
            ),
            priced=self.priced,
            prompts=dict(prompts.texts) if prompts else {},
            memory=self.memory.about if self.memory else None,
            tools={name: ToolEntry.of(tool) for name, tool in sorted(self.tools.items())},
            actions={name: ActionEntry.of(action) for name, action in self.actions.items()},
            claims=tuple(claims),
            text=dict(text) if text else None,
        )

    async def verify(self, claim: Claim, *, item: int = 0, listeners: Sequence[Listener] = ()) -> Verdict:
        """Verifies a claim unless its verdict is recorded; an error becomes the verdict's ``error``, never a label."""
        if not isinstance(claim, Claim):
            raise UsageError(f"expected a Claim, got {claim!r:.80}", hint="redargue.Claim(text=…), or redargue.verify")
        if self.record:
            if self.claims[item : item + 1] != (claim,):
                raise UsageError(
                    f"claim {item + 1} of this run is not {claim.text[:60]!r}",
                    hint="a recorded run belongs to its claims: Verifier(folder=…, claims=[…])",
                )
            if known := self.record.verdict(item):
                return known
        calls = self._shared or self.record
        run = Run(
            for_claim(self.backend, item),
            {name: for_claim(tool, item) for name, tool in self.tools.items()},
            item=item,
            seed=self.spec.seed,
            budget=self.budget,
            clock=self.clock,
            record=calls,
            listeners=listeners,
            model=self.spec.model,
            models=self.spec.models,
            priced=self.priced,
            actions={name: for_claim(action, item) for name, action in self.actions.items()},
            memory=for_claim(self.memory, item),
            opening=self._openings[item] if item < len(self._openings) else None,
        )
        names = {"method": self.method.name, "backend": self.backend.name}
        run.emit(ClaimStarted(claim=claim, settings=self._settings, seed=self.spec.seed, **names))
        verdict = await self._verdict(claim, run)
        meaning = verdict.meaning
        if meaning is None and verdict.label in claim.labels.names:
            meaning = claim.labels.meaning(str(verdict.label))
        facts = {"meaning": meaning, "profile": self.spec.profile, "usage": run.whole_usage()}
        facts["run"] = calls.id if calls else ""
        verdict = verdict.model_copy(update=names | facts)
        given = {"reads_evidence": self.method.reads_evidence(), "hardened": self._is_hardened}
        verdict = await asyncio.to_thread(limited, verdict, run.events, **given)
        verdict = apply_threshold(verdict, self.min_confidence)
        run.emit(ClaimEnded(verdict=verdict))
        return verdict

    async def _verdict(self, claim: Claim, run: Run) -> Verdict:
        """The method's verdict; without a label if the claim or its evidence is in a language that was not read."""
        try:
            async with self._open():
                verdict = self._unread(claim)
                if verdict is None:
                    verdict = without_unread(await self.method.verify(claim, run), run.events)
                if self._is_hardened:
                    await read_again(deciding(verdict), claim, run, self._page_action(run))
                return verdict
        except RecordError:
            raise  # the record itself cannot be used, so no verdict can be recorded
        except RedargueError as error:
            failed = ErrorInfo.of(error)  # the error itself would keep the frames of the claim
        return Verdict(claim=claim, label=None, error=failed)

    def _page_action(self, run: Run) -> PageAction | None:
        """Reads addresses of recalled evidence, in a run that goes online anyway; in a replay from its record."""
        tools = (*run.tools.values(), *run.actions.values())
        goes_online = not self.spec.offline and any(getattr(tool, "online", True) for tool in tools)
        if not (goes_online or isinstance(self.backend, ReplayBackend)):
            return None
        from redargue.net.fetch import PageFetcher
        from redargue.retrieval.web_pages import PageAction

        return PageAction(PageFetcher.from_environment())

    def _unread(self, claim: Claim) -> Verdict | None:
        """The verdict on a claim in a language that the models do not read."""
        embedded = getattr(self.backend, "english_only", False) or InferClaim in self.method.tasks()
        language = language_of(claim.text) if embedded else ""
        if not language:
            return None
        why = Unchecked(reason=UncheckedReason.LANGUAGE, languages=(language,))
        return not_checked(Verdict(claim=claim, label=None), why)

    async def verify_all(
        self,
        claims: Sequence[Claim],
        *,
        concurrency: int | None = None,
        listeners: Sequence[Listener] = (),
        done: Callable[[int, Verdict], None] | None = None,
    ) -> list[Verdict]:
        """Verifies claims concurrently; a failed one does not stop the others. ``done`` is called with each verdict."""
        verdicts: dict[int, Verdict] = {}
        async for item, verdict in self.stream(claims, concurrency=concurrency, listeners=listeners):
            verdicts[item] = verdict
            if done:
                done(item, verdict)
        return [verdict for _, verdict in sorted(verdicts.items())]

    @property
    def concurrency(self) -> int:
        """Claims verified at a time by default; one with an evidence memory, as it recalls what others found (M16)."""
        return 1 if self.memory else 2

    @property
    def text_concurrency(self) -> int:
        """The same for the claims of a text."""
        return 1 if self.memory else TEXT_CONCURRENCY

    async def stream(
        self, claims: Iterable[Claim], *, concurrency: int | None = None, listeners: Sequence[Listener] = ()
    ) -> AsyncGenerator[tuple[int, Verdict], None]:
        """Yields indices and verdicts as claims are completed; only the claims in progress are held in memory.

        Raises UsageError if ``concurrency`` allows no claim at all.
        """
        concurrency = self.concurrency if concurrency is None else concurrency
        require_concurrency(concurrency)
        remaining = enumerate(claims)
        running: dict[asyncio.Task[Verdict], int] = {}
        ended: set[asyncio.Task[Verdict]] = set()

        def start(most: int) -> None:
            for item, claim in islice(remaining, most):
                verifying = self.verify(claim, item=item, listeners=listeners)
                running[asyncio.create_task(verifying)] = item

        async with self._open():
            start(concurrency)
            try:
                while running:
                    ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    verdicts = sorted((running.pop(task), task) for task in ended)
                    start(len(ended))
                    for item, task in verdicts:
                        yield item, task.result()
            finally:
                for task in running:
                    task.cancel()
                # with those that failed together with one whose error is raised
                await asyncio.gather(*running, *ended, return_exceptions=True)

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        """Keeps connections open; may be entered several times concurrently."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.transport)
            for action in self.actions.values():
                if isinstance(action, AbstractAsyncContextManager):
                    await stack.enter_async_context(action)
            yield

    def close(self) -> None:
        self._close_stores()
        if self.record:
            self.record.close()

    def _close_stores(self) -> None:
        for store in (self.corpus, self._own_memory):
            if store:
                store.close()


def cost_of(usage: Usage, is_online: Callable[[str], bool]) -> Cost:
    """What a budget counts; ``is_online`` says of a tool's name whether its searches count."""
    searches = sum(requests for tool, requests in usage.by_tool.items() if is_online(tool))
    tokens = usage.prompt_tokens + usage.completion_tokens
    return Cost(usage.calls, tokens, usage.usd or 0.0, searches)


def goes_online(tool: str) -> bool:
    """Whether a tool's requests leave this machine, by its name alone; those of an unknown one may."""
    return tool not in tools or tools[tool].online
