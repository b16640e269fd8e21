"""The public functions that verify a claim or stream its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Unpack

from redargue.assembly import connect
from redargue.claims import Claim
from redargue.errors import UsageError
from redargue.events import Event
from redargue.parts import Parts, RunOptions, read_options
from redargue.spec import RunSpec
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


async def verify(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
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


async def _verify(claim: Claim, spec: RunSpec, parts: Parts, folder: Path | None, *listeners: Listener) -> Verdict:
    parts = await connect(spec, parts)
    with Verifier(spec, parts=parts, folder=folder, claims=[claim]) as verifier:
        return await verifier.verify(claim, listeners=listeners)


def verify_sync(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """:func:`verify` for synchronous code; raises UsageError inside an event loop, for example in a notebook."""
    if asyncio._get_running_loop() is not None:
        hint = "use await redargue.verify(…)"
        raise UsageError("verify_sync cannot run inside an event loop", hint=hint)
    return asyncio.run(verify(claim, spec=spec, folder=folder, **options))


@asynccontextmanager
async def watch(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
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
