"""The public functions that verify a claim, stream its events, or replay a recorded run.

A replay needs the record alone: no model, no tool, no network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Unpack

from redargue.assembly import Parts, RunOptions, connect, method_of, read_options, read_prompts
from redargue.backends import Backend, ReplayBackend, made_backend
from redargue.claims import Claim
from redargue.errors import RecordError, ReplayMiss, UsageError
from redargue.events import Event
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.llm.local import TransformersBackend
from redargue.methods.strangers import refuse_closed
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search
from redargue.run import Run
from redargue.runs.manifest import ActionEntry, RunManifest, ToolEntry, replayed_by
from redargue.runs.record import Record
from redargue.spec import RunSpec
from redargue.tasks.judge import openings_of
from redargue.text.extract import extract, recorded
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


async def replay(
    folder: str | Path | Record,
    *,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
) -> list[Verdict]:
    """Replays a recorded run; the verdicts equal the recorded ones except for times.

    Raises:
        RecordError: the folder does not contain a finished run.
        ReplayMiss: a call was not recorded.
    """
    record = folder if isinstance(folder, Record) else Record(folder, mode="replay")
    recorded, verdicts = record.verdicts(), []
    try:
        for item in range(len(record.manifest.claims)):
            verdict = recorded.get(item)
            if verdict is None:
                raise RecordError(
                    f"claim {item + 1} of {str(record.folder)!r} was never finished",
                    hint="the command that began the run resumes it, also where other workers have finished it",
                )
            if not verdict.error:  # which cannot be replayed
                verdict = await replay_claim(record, item, backend=backend, listeners=listeners)
            verdicts.append(verdict)
        if record.manifest.text:
            await _replay_extraction(record, record.manifest.text, backend)
    except ReplayMiss as error:
        hint = replayed_by(record.manifest.redargue) or error.hint
        raise ReplayMiss(error.what, where=error.where or str(record.folder), hint=hint) from error
    return verdicts


async def _replay_extraction(record: Record, source: Mapping[str, Any], backend: Backend | None) -> None:
    manifest, folder = record.manifest, str(record.folder)
    try:
        (text, extraction), openings = recorded(source), openings_of(source)
    except (ValueError, AttributeError):
        what = f"the run.json of {folder!r} describes no text"
        raise RecordError(what, hint="restore it") from None
    facts: dict[str, Any] = {"item": len(manifest.claims), "seed": manifest.spec.seed, "record": record}
    models = {**manifest.spec.models, **source.get("models", {})}
    method = method_of(spec_of(manifest))
    run = Run(_replay_backend(manifest, backend), _tools(manifest), models=models, **facts)
    again = await extract(text, run, profile=method.settings.profile, known=extraction)
    read = await method.read_ahead(manifest.claims, run) if openings else ()
    what = "" if again.agrees_with(extraction) else "the extraction yields claims"
    if not what and read != openings:
        what = "the reading of all claims yields answers"
    if what:
        changed = "the code has changed since the run was recorded"
        hint = replayed_by(manifest.redargue) or changed
        raise RecordError(f"{what} that differ from those in {folder!r}", hint=hint)


async def replay_claim(
    record: Record,
    item: int,
    *,
    settings: Mapping[str, Any] | None = None,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
) -> Verdict:
    """Replays one claim, optionally with other settings; ReplayMiss if they need a call that was not recorded."""
    manifest = record.manifest
    spec = spec_of(manifest)
    parts = Parts(
        backend=_replay_backend(manifest, backend),
        evidence=_tools(manifest),
        actions={name: _RecordedTool(name, action) for name, action in manifest.actions.items()},
    )
    spec = spec if settings is None else spec.updated(settings=settings)
    verifier = Verifier(spec, parts=parts, calls=record, text=manifest.text)
    return await verifier.verify(manifest.claims[item], item=item, listeners=listeners)


def _tools(manifest: RunManifest) -> dict[str, _RecordedTool]:
    return {name: _RecordedTool(tool.name, tool) for name, tool in manifest.tools.items()}


def require_no_files(manifest: RunManifest) -> None:
    """Raises UsageError for a run whose settings name a file: someone else may have written them."""
    spec = manifest.spec
    hint = "a run records what such a file says; if the run is yours, run its claims again"
    refuse_closed(spec.method, spec.settings, hint=hint, where="run.json, settings")


def spec_of(manifest: RunManifest) -> RunSpec:
    """The spec of a recorded run, which anyone may have written: it sends nothing, and its settings name no file."""
    require_no_files(manifest)
    return manifest.spec.updated(offline=True)


def _replay_backend(manifest: RunManifest, backend: Backend | None) -> ReplayBackend:
    return ReplayBackend(backend or renderer(manifest), manifest)


def renderer(manifest: RunManifest) -> Backend:
    """A backend that renders prompts as the recorded one did; it performs no task."""
    name = manifest.spec.backend
    if name not in ("chat", "transformers"):
        return made_backend(name)
    prompts = read_prompts(manifest.prompts)
    if name == "transformers":
        return TransformersBackend(prompts=prompts)
    unused = Transport(offline=True), Service(name="model", url="http://localhost"), "recorded"
    return ChatBackend(*unused, prompts=prompts, form=manifest.spec.response_format)


class _RecordedTool:
    """The description of a search tool or an action; its answers are in the record."""

    def __init__(self, name: str, entry: ToolEntry | ActionEntry) -> None:
        self.name, self.about, self.revision = name, entry.about, entry.revision
        self.parameters = entry.parameters if isinstance(entry, ActionEntry) else {}

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")


async def verify(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: str | Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """Verifies one claim; an error during the verification is returned as the verdict's ``error``.

    Args:
        folder: run folder; None records nothing.
        options: fields of :class:`~redargue.spec.RunSpec` and of ``Parts``, which take precedence over ``spec``.

    Raises:
        UsageError, CorpusError, RecordError: the verification could not start.
    """
    spec, parts = read_options(options, spec)
    return await _verify(spec.claim(claim), spec, parts, folder)


async def _verify(
    claim: Claim, spec: RunSpec, parts: Parts, folder: str | Path | None, *listeners: Listener
) -> Verdict:
    parts = await connect(spec, parts)
    with Verifier(spec, parts=parts, folder=folder, claims=[claim]) as verifier:
        return await verifier.verify(claim, listeners=listeners)


def verify_sync(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: str | Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """:func:`verify` for synchronous code; raises UsageError inside an event loop, for example in a notebook."""
    if asyncio._get_running_loop() is not None:
        hint = "use await redargue.verify(…)"
        raise UsageError("verify_sync cannot run inside an event loop", hint=hint)
    return asyncio.run(verify(claim, spec=spec, folder=folder, **options))


@asynccontextmanager
async def watch(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: str | Path | None = None, **options: Unpack[RunOptions]
) -> AsyncIterator[AsyncIterator[Event]]:
    """Streams the events of a verification; leaving the block cancels it.

    ``async with watch("…") as events: async for event in events: …``; the last event contains the verdict. Arguments
    and errors are those of :func:`verify`.
    """
    full, parts = read_options(options, spec)
    checked = full.claim(claim)
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def verify_into_queue() -> None:
        try:
            await _verify(checked, full, parts, folder, queue.put_nowait)
        finally:
            queue.put_nowait(None)

    async def events() -> AsyncIterator[Event]:
        while (event := await queue.get()) is not None:
            yield event
        await task  # raises the error that prevented the verification from starting

    task = asyncio.create_task(verify_into_queue())
    try:
        yield events()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
