"""The library's front: verify claims, watch a debate, replay a run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from redargue.assembly import connect, method_of, read_prompts
from redargue.backends.base import Backend, Stability, backends
from redargue.backends.replay import ReplayBackend
from redargue.claims import Claim
from redargue.config import RunConfig, RunOptions, read_options
from redargue.errors import RecordError, ReplayMiss
from redargue.events import Event
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.llm.local import TransformersBackend
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools.base import Search
from redargue.run import Run
from redargue.runs.earlier import align
from redargue.runs.manifest import ActionEntry, RunManifest, ToolEntry
from redargue.runs.record import CallRecord, Record
from redargue.text.extract import extract, recorded
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


async def verify(
    claim: str | Claim,
    *,
    config: RunConfig | None = None,
    folder: Path | None = None,
    **options: Unpack[RunOptions],
) -> Verdict:
    """Verifies one claim.

    Args:
        claim: a text, or a claim with labels, context and options.
        config: the configuration.
        folder: of the run; None records nothing.
        options: fields of :class:`~redargue.config.RunConfig` and objects
            (:class:`~redargue.config.Components`), which win over ``config``.

    Returns:
        The verdict; an error during the verification is its ``error``.

    Raises:
        UsageError, CorpusError, RecordError: nothing could be started.
    """
    read, components = read_options(options, config)
    checked = read.claim(claim)
    components = await connect(read, components)
    with Verifier(read, components=components, folder=folder, claims=[checked]) as verifier:
        return await verifier.verify(checked)


def verify_sync(
    claim: str | Claim,
    *,
    config: RunConfig | None = None,
    folder: Path | None = None,
    **options: Unpack[RunOptions],
) -> Verdict:
    """:func:`verify` where no event loop runs."""
    return asyncio.run(verify(claim, config=config, folder=folder, **options))


@asynccontextmanager
async def watch(
    claim: str | Claim,
    *,
    config: RunConfig | None = None,
    folder: Path | None = None,
    **options: Unpack[RunOptions],
) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of a verification as they happen; leaving the block cancels it.

    ``async with watch("…") as events: async for event in events: …``; the last event carries the verdict. Arguments
    and errors are those of :func:`verify`.
    """
    read, components = read_options(options, config)
    checked = read.claim(claim)
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def work() -> None:
        try:
            connected = await connect(read, components)
            with Verifier(read, components=connected, folder=folder, claims=[checked]) as verifier:
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
    folder: Path | Record,
    *,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
    items: Iterable[int] | None = None,
) -> list[Verdict]:
    """Runs a recorded run again from its record alone: no model, no tool, no network.

    Args:
        folder: the run folder, which is not written to, or its record, open for replay.
        backend: renders prompts; the registered backend of the recorded name by default.
        listeners: called with every event.
        items: which claims; all by default.

    Returns:
        The verdicts, equal to the recorded ones but for times.

    Raises:
        RecordError: the folder holds no run.
        ReplayMiss: something is asked that was not recorded, or, of a recording of an earlier release, the record does
            not say which of several answers it got.
    """
    record = folder if isinstance(folder, Record) else Record(folder, mode="replay")
    recorded, verdicts = record.verdicts(), []
    for item in range(len(record.manifest.claims)):
        if items is not None and item not in items:
            continue
        if item not in recorded:
            raise RecordError(
                f"claim {item} of {str(record.folder)!r} was never finished", hint="resume the run: check --run"
            )
        if recorded[item].error:
            verdicts.append(recorded[item])  # an error is not an answer that could be given again
            continue
        verdicts.append(await replay_claim(record, item, backend=backend, listeners=listeners))
    if record.manifest.text and items is None:
        await _extract_again(record, record.manifest.text, _stand_in(record.manifest, backend))
    return verdicts


async def _extract_again(record: Record, held: Mapping[str, Any], stand_in: ReplayBackend) -> None:
    """Extracts the claims of a run's text again, from its record.

    Raises:
        RecordError: other claims result, or the text was damaged.
        ReplayMiss: a call is made that was not recorded.
    """
    manifest = record.manifest
    try:
        text, extraction = recorded(held)
    except (ValueError, AttributeError):
        raise RecordError(f"the run.json of {str(record.folder)!r} describes no text", hint="restore it") from None
    models = {**manifest.models, **held.get("models", {})}
    item, profile = len(manifest.claims), method_of(config_of(manifest)).settings.profile

    async def attempt(calls: CallRecord, listener: Listener) -> None:
        run = Run(stand_in, item=item, seed=manifest.seed, record=calls, models=models, listeners=[listener])
        if await extract(text, run, profile=profile) != extraction:
            raise RecordError(
                f"other claims come out of the text than {str(record.folder)!r} holds",
                hint="the code has changed since the run was recorded",
            )

    await align(record, item, attempt)
    await attempt(record, lambda event: None)


async def replay_claim(
    record: Record,
    item: int,
    *,
    settings: Mapping[str, Any] | None = None,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
) -> Verdict:
    """One claim of a recorded run again, perhaps with other settings.

    Args:
        record: open for replay.
        item: which claim, from 0.
        settings: of the method, instead of the recorded ones: what would the debate have come to?
        backend: renders prompts; the registered backend of the recorded name by default.
        listeners: called with every event.

    Raises:
        ReplayMiss: these settings ask something that was not recorded.
    """
    manifest = record.manifest
    claim, stand_in = manifest.claims[item], _stand_in(manifest, backend)

    async def attempt(calls: CallRecord, listener: Listener) -> None:
        await _replaying(manifest, stand_in, calls).verify(claim, item=item, listeners=[listener])

    await align(record, item, attempt)
    if settings is not None and item in record.chosen:
        raise ReplayMiss(
            "with other settings it may matter which of several recorded answers belongs to which question",
            where=str(record.folder),
            hint="the questions were asked concurrently and their words have changed since; run the claim again",
        )
    verifier = _replaying(manifest, stand_in, record, settings)
    return await verifier.verify(claim, item=item, listeners=listeners)


def _replaying(
    manifest: RunManifest, stand_in: Backend, calls: CallRecord, settings: Mapping[str, Any] | None = None
) -> Verifier:
    """A verifier of a recorded run whose answers come from a record alone."""
    config = config_of(manifest)
    verifier = Verifier(
        config if settings is None else config.updated(settings=settings),
        backend=stand_in,
        evidence={name: _RecordedTool(tool) for name, tool in manifest.tools.items()},
        actions={name: _RecordedAction(name, action) for name, action in manifest.actions.items()},
        calls=calls,
    )
    verifier.priced = manifest.priced
    return verifier


def config_of(manifest: RunManifest) -> RunConfig:
    """The configuration of a recorded run, without its backend: nothing is sent."""
    return RunConfig(
        method=manifest.method,
        profile=manifest.profile,
        settings=manifest.settings,
        models=manifest.models,
        seed=manifest.seed,
        offline=True,
    )


def _stand_in(manifest: RunManifest, backend: Backend | None) -> ReplayBackend:
    return ReplayBackend(backend or renderer(manifest), manifest.identity, Stability(*manifest.stability))


def renderer(manifest: RunManifest) -> Backend:
    """A backend that writes prompts as the recorded one did; it is never asked."""
    if manifest.backend not in ("chat", "transformers"):
        return backends[manifest.backend]()
    prompts = read_prompts(manifest.prompts)
    if manifest.backend == "transformers":
        return TransformersBackend(prompts=prompts)
    nowhere = Service(name="model", url="http://localhost")
    return ChatBackend(
        Transport(offline=True), nowhere, "recorded", prompts=prompts, form=manifest.response_format or "auto"
    )


class _RecordedTool:
    """A tool's name and revision; its answers are in the record."""

    def __init__(self, entry: ToolEntry) -> None:
        self.name, self.about, self.revision = entry.name, entry.about, entry.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay asked the tool {self.name!r}")


class _RecordedAction:
    """The description and schema of an agent's tool; its answers are in the record."""

    def __init__(self, name: str, entry: ActionEntry) -> None:
        self.name, self.about, self.revision, self.parameters = name, entry.about, entry.revision, entry.parameters

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")


def new_run_folder(home: Path) -> Path:
    """A folder for a new run, named by the moment it began."""
    moment = datetime.now(UTC)
    tag = hashlib.sha256(str(moment.timestamp()).encode()).hexdigest()[:6]
    return home / "runs" / f"{moment:%Y%m%d-%H%M%S}-{tag}"
