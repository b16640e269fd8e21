"""Lets a task that is performed in a thread send requests in the event loop of its run.

The transport, its limits and the budget belong to that loop. The thread waits for each request,
which the task's account pays.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from redargue.errors import UsageError
from redargue.net.transport import Transport
from redargue.runs.budget import Account

Result = TypeVar("Result")
_THREADS = 64  # tasks that wait for requests


class LoopBridge:
    """The event loop and the account of one task."""

    def __init__(self, loop: asyncio.AbstractEventLoop, account: Account) -> None:
        self.account, self._loop = account, loop
        self._pending: set[Future[Any]] = set()
        self._cancelled = False

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine in the loop; called in the task's thread."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._pending.add(future)
        if self._cancelled:
            future.cancel()
        try:
            return future.result()
        finally:
            self._pending.discard(future)

    def cancel(self) -> None:
        self._cancelled = True
        for future in list(self._pending):
            future.cancel()


_bridge: contextvars.ContextVar[LoopBridge | None] = contextvars.ContextVar("bridge", default=None)


def current_bridge() -> LoopBridge:
    """The bridge of the task that this thread performs.

    Raises:
        UsageError: it performs none.
    """
    if bridge := _bridge.get():
        return bridge
    what = "a reader at an endpoint is asked only while a task is performed"
    raise UsageError(what, hint="use it in a check, a batch or a grounding")


async def in_thread(work: Callable[[], Result], account: Account) -> Result:
    """Runs work in a thread, from which requests are sent in this loop and paid by the account.

    The threads are not those of the loop, which it needs for the requests themselves. A
    cancellation cancels pending requests.
    """
    loop = asyncio.get_running_loop()
    bridge = LoopBridge(loop, account)
    context = contextvars.copy_context()
    context.run(_bridge.set, bridge)
    try:
        return await loop.run_in_executor(_threads(), context.run, work)
    except asyncio.CancelledError:
        bridge.cancel()
        raise


def run_alone(work: Callable[[], Result], transport: Transport) -> Result:
    """Runs work that sends requests where no event loop runs, without a budget."""

    async def run() -> Result:
        async with transport:
            return await in_thread(work, Account())

    return asyncio.run(run())


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="endpoint-reader")
