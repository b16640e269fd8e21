"""Replays recorded runs from their records alone: no model, no tool, no network.

The module is not called ``replay``, because importing it would replace the public function ``redargue.replay``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from redargue.assembly import method_of, read_prompts
from redargue.backends.base import Backend, Stability, backends
from redargue.backends.replay import ReplayBackend
from redargue.errors import RecordError, ReplayMiss
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.llm.local import TransformersBackend
from redargue.methods.strangers import refuse_closed
from redargue.net.transport import Service, Transport
from redargue.parts import Parts
from redargue.retrieval.tools.base import Search
from redargue.run import Run
from redargue.runs.manifest import ActionEntry, RunManifest, ToolEntry, replayed_by
from redargue.runs.record import Record
from redargue.spec import RunSpec
from redargue.text.extract import extract, recorded
from redargue.text.verification import openings_of
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


async def replay(
    folder: Path | Record,
    *,
    backend: Backend | None = None,
    listeners: Sequence[Listener] = (),
    items: Iterable[int] | None = None,
) -> list[Verdict]:
    """Replays a recorded run; the verdicts equal the recorded ones except for times.

    Raises:
        RecordError: the folder does not contain a finished run.
        ReplayMiss: a call was not recorded.
    """
    record = folder if isinstance(folder, Record) else Record(folder, mode="replay")
    try:
        return await _replay(record, backend, listeners, items)
    except ReplayMiss as error:
        hint = replayed_by(record.manifest.redargue) or error.hint
        raise ReplayMiss(error.what, where=error.where or str(record.folder), hint=hint) from error


async def _replay(
    record: Record, backend: Backend | None, listeners: Sequence[Listener], items: Iterable[int] | None
) -> list[Verdict]:
    recorded, verdicts = record.verdicts(), []
    for item in range(len(record.manifest.claims)):
        if items is not None and item not in items:
            continue
        if item not in recorded:
            raise RecordError(
                f"claim {item + 1} of {str(record.folder)!r} was never finished",
                hint="the command that began the run resumes it, also where other workers have finished it",
            )
        if recorded[item].error:  # an error cannot be replayed
            verdicts.append(recorded[item])
        else:
            verdicts.append(await replay_claim(record, item, backend=backend, listeners=listeners))
    if record.manifest.text and items is None:
        await _replay_extraction(record, record.manifest.text, _replay_backend(record.manifest, backend))
    return verdicts


async def _replay_extraction(record: Record, source: Mapping[str, Any], backend: ReplayBackend) -> None:
    manifest = record.manifest
    try:
        (text, extraction), openings = recorded(source), openings_of(source)
    except (ValueError, AttributeError):
        raise RecordError(f"the run.json of {str(record.folder)!r} describes no text", hint="restore it") from None
    models = {**manifest.spec.models, **source.get("models", {})}
    method = method_of(spec_of(manifest))
    tools = {name: _RecordedTool(tool.name, tool) for name, tool in manifest.tools.items()}
    run = Run(backend, tools, item=len(manifest.claims), seed=manifest.spec.seed, record=record, models=models)
    again = await extract(text, run, profile=method.settings.profile, known=extraction)
    read = await method.read_ahead(manifest.claims, run) if openings else ()
    same_claims = again.agrees_with(extraction)
    if not same_claims or read != openings:
        what = "the reading of all claims yields answers" if same_claims else "the extraction yields claims"
        raise RecordError(
            f"{what} that differ from those in {str(record.folder)!r}",
            hint=replayed_by(manifest.redargue) or "the code has changed since the run was recorded",
        )


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
    verifier = _verifier(record, _replay_backend(manifest, backend), settings)
    return await verifier.verify(manifest.claims[item], item=item, listeners=listeners)


def _verifier(record: Record, backend: Backend, settings: Mapping[str, Any] | None) -> Verifier:
    manifest = record.manifest
    spec = spec_of(manifest)
    parts = Parts(
        backend=backend,
        evidence={name: _RecordedTool(tool.name, tool) for name, tool in manifest.tools.items()},
        actions={name: _RecordedTool(name, action) for name, action in manifest.actions.items()},
    )
    spec = spec if settings is None else spec.updated(settings=settings)
    return Verifier(spec, parts=parts, calls=record, text=manifest.text)


def require_no_files(manifest: RunManifest) -> None:
    """Raises UsageError for a run whose settings name a file: someone else may have written them."""
    hint = "a run records what such a file says; if the run is yours, run its claims again"
    refuse_closed(manifest.spec.method, manifest.spec.settings, hint=hint, where="run.json, settings")


def spec_of(manifest: RunManifest) -> RunSpec:
    """The spec of a recorded run, which anyone may have written: it sends nothing, and its settings name no file."""
    require_no_files(manifest)
    return manifest.spec.updated(offline=True)


def _replay_backend(manifest: RunManifest, backend: Backend | None) -> ReplayBackend:
    entry = manifest.backend
    inner = backend or renderer(manifest)
    stability = Stability(*entry.stability)
    return ReplayBackend(inner, entry.identity, stability, min_confidence=entry.threshold, priced=manifest.priced)


def renderer(manifest: RunManifest) -> Backend:
    """A backend that renders prompts as the recorded one did; it performs no task."""
    name = manifest.spec.backend
    if name not in ("chat", "transformers"):
        return backends[name]()
    prompts = read_prompts(manifest.prompts)
    if name == "transformers":
        return TransformersBackend(prompts=prompts)
    unused = Service(name="model", url="http://localhost")
    return ChatBackend(Transport(offline=True), unused, "recorded", prompts=prompts, form=manifest.spec.response_format)


class _RecordedTool:
    """The description of a search tool or an action; its answers are in the record."""

    def __init__(self, name: str, entry: ToolEntry | ActionEntry) -> None:
        self.name, self.about, self.revision = name, entry.about, entry.revision
        self.parameters = entry.parameters if isinstance(entry, ActionEntry) else {}

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")
