"""Threads for what a request computes before it is answered, so that other requests do not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from redargue.concurrency import Busy

THREADS = 2  # they compute in Python: more would only take turns with the event loop
_T = TypeVar("_T")


class Pool:
    """A few threads, for which so many further calls may wait; others raise Busy."""

    def __init__(self, waiting: int, threads: int = THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._waiting, self._free = waiting, waiting + threads

    async def run(self, function: Callable[[], _T]) -> _T:
        if not self._free:
            raise Busy(f"{self._waiting} requests are waiting", hint="try again later")
        self._free -= 1
        done = self._threads.submit(function)
        loop = asyncio.get_running_loop()
        # Of a call that nobody awaits any more, the thread is busy all the same.
        done.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._release))
        return await asyncio.wrap_future(done)

    def _release(self) -> None:
        self._free += 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
