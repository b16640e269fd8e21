"""The public functions that verify a claim or watch its debate."""

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
from redargue.parts import RunOptions, read_options
from redargue.spec import RunSpec
from redargue.verdicts import Verdict
from redargue.verifier import Verifier


async def verify(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """Verifies one claim; an error during the verification becomes the verdict's ``error``.

    Args:
        folder: run folder; None records nothing.
        options: fields of :class:`~redargue.spec.RunSpec` and its Parts, which win over ``spec``.

    Raises:
        UsageError, CorpusError, RecordError: the verification could not start.
    """
    spec, parts = read_options(options, spec)
    claim = spec.claim(claim)
    parts = await connect(spec, parts)
    with Verifier(spec, parts=parts, folder=folder, claims=[claim]) as verifier:
        return await verifier.verify(claim)


def verify_sync(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """:func:`verify` for code without an event loop; raises UsageError in one, such as a notebook's."""
    if asyncio._get_running_loop() is not None:
        raise UsageError("verify_sync cannot run inside an event loop", hint="use await redargue.verify(…)")
    return asyncio.run(verify(claim, spec=spec, folder=folder, **options))


@asynccontextmanager
async def watch(
    claim: str | Claim, *, spec: RunSpec | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> AsyncIterator[AsyncIterator[Event]]:
    """Streams the events of a verification; leaving the block cancels it.

    ``async with watch("…") as events: async for event in events: …``; the last event contains the verdict. Arguments
    and errors are those of :func:`verify`.
    """
    read, parts = read_options(options, spec)
    checked = read.claim(claim)
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def work() -> None:
        try:
            connected = await connect(read, parts)
            with Verifier(read, parts=connected, folder=folder, claims=[checked]) as verifier:
                await verifier.verify(checked, listeners=[queue.put_nowait])
        finally:
            queue.put_nowait(None)

    async def events() -> AsyncIterator[Event]:
        while (event := await queue.get()) is not None:
            yield event
        await task  # raises the error that kept the verification from starting

    task = asyncio.create_task(work())
    try:
        yield events()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
