"""The public functions that verify a claim or watch its debate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Unpack

from redargue.assembly import connect
from redargue.claims import Claim
from redargue.config import RunConfig, RunOptions, read_options
from redargue.errors import UsageError
from redargue.events import Event
from redargue.verdicts import Verdict
from redargue.verifier import Verifier


async def verify(
    claim: str | Claim, *, config: RunConfig | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """Verifies one claim; an error during the verification becomes the verdict's ``error``.

    Args:
        folder: run folder; None records nothing.
        options: fields of :class:`~redargue.config.RunConfig` and its Components, which win over ``config``.

    Raises:
        UsageError, CorpusError, RecordError: the verification could not start.
    """
    config, components = read_options(options, config)
    claim = config.claim(claim)
    components = await connect(config, components)
    with Verifier(config, components=components, folder=folder, claims=[claim]) as verifier:
        return await verifier.verify(claim)


def verify_sync(
    claim: str | Claim, *, config: RunConfig | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> Verdict:
    """:func:`verify` for code without an event loop; raises UsageError in one, such as a notebook's."""
    if asyncio._get_running_loop() is not None:
        raise UsageError("verify_sync cannot run inside an event loop", hint="use await redargue.verify(…)")
    return asyncio.run(verify(claim, config=config, folder=folder, **options))


@asynccontextmanager
async def watch(
    claim: str | Claim, *, config: RunConfig | None = None, folder: Path | None = None, **options: Unpack[RunOptions]
) -> AsyncIterator[AsyncIterator[Event]]:
    """Streams the events of a verification; leaving the block cancels it.

    ``async with watch("…") as events: async for event in events: …``; the last event contains the verdict. Arguments
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
        await task  # raises the error that kept the verification from starting

    task = asyncio.create_task(work())
    try:
        yield events()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
