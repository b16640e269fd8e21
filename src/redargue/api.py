"""The library's front: verify claims, watch a debate, replay a run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.backends.base import Backend, Stability, backends
from redargue.backends.chat import ChatBackend
from redargue.backends.prompts import Prompts
from redargue.backends.replay import ReplayBackend
from redargue.backends.transformers import TransformersBackend
from redargue.claims import Claim
from redargue.errors import RecordError, ReplayMiss, UsageError
from redargue.events import Event
from redargue.evidence import Passage
from redargue.ledger.earlier import align
from redargue.ledger.record import CallRecord, Record
from redargue.run import Run
from redargue.texts.extract import extract, recorded
from redargue.tools.base import PerClaim, Search, Tool
from redargue.transport import Service, Transport
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


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
    for item in range(len(record.about["claims"])):
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
    if record.about.get("text") and items is None:
        await _take_apart_again(record, _stand_in(record.about, backend))
    return verdicts


async def _take_apart_again(record: Record, stand_in: ReplayBackend) -> None:
    """Takes the text of a run apart from its record.

    Raises:
        RecordError: other claims come out, or the text was damaged.
        ReplayMiss: something is asked that was not recorded.
    """
    about = record.about
    try:
        text, extraction = recorded(about["text"])
    except (ValueError, AttributeError):
        raise RecordError(f"the run.json of {str(record.folder)!r} describes no text", hint="restore it") from None
    models = {**about["models"], **about["text"].get("models", {})}
    item, profile = len(about["claims"]), about["settings"].get("profile", about["profile"])

    async def attempt(calls: CallRecord, listener: Listener) -> None:
        run = Run(stand_in, item=item, seed=about["seed"], record=calls, models=models, listeners=[listener])
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
    claim, stand_in = Claim.model_validate(record.about["claims"][item]), _stand_in(record.about, backend)

    async def attempt(calls: CallRecord, listener: Listener) -> None:
        await _replaying(record.about, stand_in, calls).verify(claim, item=item, listeners=[listener])

    await align(record, item, attempt)
    if settings is not None and item in record.chosen:
        raise ReplayMiss(
            "with other settings it may matter which of several recorded answers belongs to which question",
            where=str(record.folder),
            hint="the questions were asked concurrently and their words have changed since; run the claim again",
        )
    verifier = _replaying(record.about, stand_in, record, settings)
    return await verifier.verify(claim, item=item, listeners=listeners)


def _replaying(
    about: Mapping[str, Any], stand_in: Backend, calls: CallRecord, settings: Mapping[str, Any] | None = None
) -> Verifier:
    """A verifier of a recorded run whose answers come from a record alone."""
    evidence: dict[str, Tool | PerClaim] = {
        name: _RecordedTool(each["name"], each["about"], each["revision"]) for name, each in about["tools"].items()
    }
    verifier = Verifier(
        method=about["method"],
        profile=about["profile"],
        backend=stand_in,
        models=about["models"],
        evidence=evidence,
        actions={name: _RecordedAction(name, **each) for name, each in about.get("actions", {}).items()},
        seed=about["seed"],
        settings=about["settings"] if settings is None else settings,
        offline=True,
        calls=calls,
    )
    verifier.priced = about["priced"]
    return verifier


def _stand_in(about: Mapping[str, Any], backend: Backend | None) -> ReplayBackend:
    return ReplayBackend(backend or renderer(about), about["identity"], Stability(*about["stability"]))


def renderer(about: Mapping[str, Any]) -> Backend:
    """A backend that writes prompts as the recorded one did; it is never asked."""
    if about["backend"] not in ("chat", "transformers"):
        return backends[about["backend"]]()
    words = Prompts(about["prompts"]) if about["prompts"] else None
    if about["backend"] == "transformers":
        return TransformersBackend(prompts=words)
    nowhere = Service(name="model", url="http://localhost")
    return ChatBackend(Transport(offline=True), nowhere, "recorded", prompts=words, form=about["form"])


class _RecordedTool:
    """A tool's name and revision; its answers are in the record."""

    def __init__(self, name: str, about: str, revision: str) -> None:
        self.name, self.about, self.revision = name, about, revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay asked the tool {self.name!r}")


class _RecordedAction:
    """What is told of an agent's tool; its answers are in the record."""

    def __init__(self, name: str, about: str, revision: str, parameters: Mapping[str, Any]) -> None:
        self.name, self.about, self.revision, self.parameters = name, about, revision, parameters

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        raise RecordError(f"a replay called the tool {self.name!r}")


def new_run_folder(home: Path) -> Path:
    """A folder for a new run, named by the moment it began."""
    moment = datetime.now(UTC)
    tag = hashlib.sha256(str(moment.timestamp()).encode()).hexdigest()[:6]
    return home / "runs" / f"{moment:%Y%m%d-%H%M%S}-{tag}"
