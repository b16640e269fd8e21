"""Threads for what a request computes before it is answered, and turns of checks that share the processor."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import count
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


class Turns:
    """Places for ``running`` computations at a time; of those that wait, the one with the lowest number is next.

    Computations that all share the processor all end late; in turns, the first ones end in time.
    Where ``most`` of them wait, further ones raise Busy.
    """

    def __init__(self, running: int, most: int | None = None) -> None:
        self._free, self._most, self._order = running, most, count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def take(self, number: int = 0) -> AsyncIterator[None]:
        if self._free:
            self._free -= 1
        else:
            await self._wait(number)
        try:
            yield
        finally:
            self._give()

    async def _wait(self, number: int) -> None:
        waiting = sum(not turn.done() for *_, turn in self._waiting)
        if self._most is not None and waiting >= self._most:
            raise Busy(f"{self._most} answers are waiting", hint="try again later")
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (number, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had been given its turn
                self._give()
            raise

    def _give(self) -> None:
        while self._waiting:
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
