"""The library's front: verify claims, watch a debate, replay a run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from redargue.backends import embedded, scripted  # noqa: F401  (each registers its backend)
from redargue.backends.base import Backend, Stability, backends, require
from redargue.backends.replay import ReplayBackend
from redargue.claims import Claim
from redargue.corpus.index import Corpus, default_store, open_corpus
from redargue.corpus.shipped import open_starter
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import ClaimEnded, ClaimStarted, Event
from redargue.evidence import Passage
from redargue.ledger.budget import Budget
from redargue.ledger.clock import Clock, SystemClock
from redargue.ledger.record import Record
from redargue.protocols import tool_mad  # noqa: F401  (registers its method: one import line a method)
from redargue.protocols.base import Method, configure
from redargue.run import Run, first_error
from redargue.tools import corpus, keywords  # noqa: F401  (each registers its tool)
from redargue.tools.base import Tool, tools
from redargue.verdicts import ErrorInfo, Verdict

Listener = Callable[[Event], None]

STARTER = "starter"


class Verifier:
    """A method, a backend and evidence tools, ready to verify claims; a context manager.

    Args:
        method: registered name.
        profile: ``hardened`` or ``paper``.
        backend: registered name, or a backend of your own.
        evidence: evidence tools of your own, by the names that the settings use; others are made over ``store``.
        store: the corpus to search: a path, a URI or ``starter``; None for the user's own, or the starter corpus where
            there is none.
        seed: of the run.
        budget: shared by all its claims.
        clock: where times come from.
        folder: records the run there, or goes on with the run that is there; None records nothing.
        claims: of the run, where it is recorded: a run folder belongs to these claims.
        settings: of the method, by field name.

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
        backend: str | Backend = "embedded",
        evidence: Mapping[str, Tool] | None = None,
        store: str | Path | None = None,
        seed: int = 0,
        budget: Budget | None = None,
        clock: Clock | None = None,
        folder: Path | None = None,
        claims: Sequence[Claim] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.method: Method = configure(method, profile, settings or {})
        self.profile, self.seed = profile, seed
        self.backend: Backend = backends[backend]() if isinstance(backend, str) else backend
        require(self.backend, method, self.method.tasks())
        self.budget, self.clock = budget or Budget(), clock or SystemClock()
        self.corpus: Corpus | None = None
        self.tools = self._tools(dict(evidence or {}), store)
        self.claims = tuple(claims)
        try:
            self.record = Record(folder, self._about(claims)) if folder else None
        except RedargueError:
            if self.corpus:
                self.corpus.close()
            raise
        if self.record:  # what finished claims cost was spent from the same budget
            self.budget.recall(sum(verdict.usage.calls for verdict in self.record.finished()))

    def _tools(self, given: dict[str, Tool], store: str | Path | None) -> dict[str, Tool]:
        for name in self.method.tools():
            if name in given:
                continue
            make = tools[name]
            self.corpus = self.corpus or _open(store)
            given[name] = make(self.corpus)
        return given

    def _about(self, claims: Sequence[Claim]) -> dict[str, Any]:
        """What a run folder was made for; a run with other values is another run."""
        return {
            "redargue": version("redargue"),
            "method": self.method.name,
            "profile": self.profile,
            "settings": self.method.settings.model_dump(mode="json"),
            "backend": self.backend.name,
            "identity": self.backend.identity,
            "stability": list(self.backend.stability),
            "tools": {
                name: {"name": tool.name, "about": tool.about, "revision": tool.revision}
                for name, tool in sorted(self.tools.items())
            },
            "seed": self.seed,
            "claims": [claim.model_dump(mode="json") for claim in claims],
        }

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
        run = Run(
            self.backend,
            self.tools,
            item=item,
            seed=self.seed,
            budget=self.budget,
            clock=self.clock,
            record=self.record,
            listeners=listeners,
        )
        settings = self.method.settings.model_dump(mode="json")
        run.emit(
            ClaimStarted(
                claim=claim, method=self.method.name, settings=settings, backend=self.backend.name, seed=self.seed
            )
        )
        try:
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
                "run": self.record.id if self.record else "",
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
        slots = asyncio.Semaphore(at_once)

        async def one(item: int, claim: Claim) -> Verdict:
            async with slots:
                verdict = await self.verify(claim, item=item, listeners=listeners)
            if done:
                done(item, verdict)
            return verdict

        try:
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(one(item, claim)) for item, claim in enumerate(claims)]
        except BaseExceptionGroup as failed:
            raise first_error(failed) from None
        return [each.result() for each in work]

    def close(self) -> None:
        """Closes the corpus and the run folder."""
        if self.corpus:
            self.corpus.close()
        if self.record:
            self.record.close()

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _open(store: str | Path | None) -> Corpus:
    if store == STARTER or (store is None and not default_store().exists()):
        return open_starter()
    return open_corpus(store or default_store())


def _checked(claim: str | Claim) -> Claim:
    """The claim as data.

    Raises:
        UsageError: the text is no claim.
    """
    if isinstance(claim, Claim):
        return claim
    try:
        return Claim(text=claim)
    except ValidationError as error:
        raise UsageError(f"this is no claim: {error.errors()[0]['msg']}") from error


async def verify(claim: str | Claim, **options: Any) -> Verdict:
    """Verifies one claim.

    Args:
        claim: the text, or a claim with labels, context and options.
        options: of :class:`Verifier`.

    Returns:
        The verdict; an error on the way is its ``error``.

    Raises:
        UsageError, CorpusError, RecordError: nothing could be started.
    """
    checked = _checked(claim)
    with Verifier(**{**options, "claims": [checked]}) as verifier:
        return await verifier.verify(checked)


def verify_sync(claim: str | Claim, **options: Any) -> Verdict:
    """:func:`verify` where no event loop runs."""
    return asyncio.run(verify(claim, **options))


@asynccontextmanager
async def watch(claim: str | Claim, **options: Any) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of a verification as they happen; leaving the block cancels it.

    ``async with watch("…") as events: async for event in events: …``; the last event carries the verdict.
    """
    checked = _checked(claim)
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def work() -> None:
        try:
            with Verifier(**{**options, "claims": [checked]}) as verifier:
                await verifier.verify(checked, listeners=[queue.put_nowait])
        finally:
            queue.put_nowait(None)

    async def events() -> AsyncIterator[Event]:
        while (event := await queue.get()) is not None:
            yield event
        await task  # raises what kept the verification from starting

    task = asyncio.create_task(work())
    try:
        yield events()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def replay(
    folder: Path,
    *,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
    items: Iterable[int] | None = None,
) -> list[Verdict]:
    """Runs a recorded run again from its record alone: no model, no tool, no network.

    Args:
        folder: the run folder; it is not written to.
        backend: renders prompts; the registered backend of the recorded name by default.
        listeners: called with every event.
        items: which claims; all by default.

    Returns:
        The verdicts, equal to the recorded ones but for times.

    Raises:
        RecordError: the folder holds no run.
        ReplayMiss: the code, its prompts or settings ask something that was not recorded.
    """
    record = Record(folder, mode="replay")
    about = record.about
    method = configure(about["method"], about["profile"], about["settings"])
    inner = backend or backends[about["backend"]]()
    stand_in = ReplayBackend(inner, about["identity"], Stability(*about["stability"]))
    evidence = {
        name: _RecordedTool(each["name"], each["about"], each["revision"]) for name, each in about["tools"].items()
    }
    recorded, verdicts = record.verdicts(), []
    for item, row in enumerate(about["claims"]):
        if items is not None and item not in items:
            continue
        if item not in recorded:
            raise RecordError(f"claim {item} of {str(folder)!r} was never finished", hint="resume the run: check --run")
        if recorded[item].error:
            verdicts.append(recorded[item])  # an error is not an answer that could be given again
            continue
        verifier = _replayer(method, about, stand_in, evidence, record)
        verdicts.append(await verifier.verify(Claim.model_validate(row), item=item, listeners=listeners))
    return verdicts


def _replayer(
    method: Method, about: Mapping[str, Any], backend: Backend, evidence: Mapping[str, Tool], record: Record
) -> Verifier:
    verifier = Verifier(
        method=method.name,
        profile=about["profile"],
        backend=backend,
        evidence=evidence,
        seed=about["seed"],
        settings=about["settings"],
    )
    verifier.record = record
    return verifier


class _RecordedTool:
    """A tool's name and revision; its answers are in the record."""

    def __init__(self, name: str, about: str, revision: str) -> None:
        self.name, self.about, self.revision = name, about, revision

    async def search(self, query: str, k: int) -> tuple[Passage, ...]:
        raise RecordError(f"a replay asked the tool {self.name!r}")


def new_run_folder(home: Path) -> Path:
    """A folder for a new run, named by the moment it began."""
    moment = datetime.now(UTC)
    tag = hashlib.sha256(str(moment.timestamp()).encode()).hexdigest()[:6]
    return home / "runs" / f"{moment:%Y%m%d-%H%M%S}-{tag}"
