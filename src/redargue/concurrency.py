"""Runs several coroutines concurrently, any of which may fail, and runs them beside an application's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore, Thread
from typing import Any, Self, TypeVar

from redargue.errors import RedargueError, UsageError
from redargue.sanitize import shortened

_T = TypeVar("_T")


class Busy(RedargueError):
    """No further check may wait; ``retry_after`` is in seconds; ``draining``: the service is stopping."""

    exit_code, retry_after = 5, 5

    def __init__(self, what: str, *, draining: bool = False, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.draining = draining


async def gather_or_cancel(coroutines: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """The results in order; if one fails, the others are cancelled and have ended before its error is raised."""
    coroutines = list(coroutines)
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        if unfinished := [task for task in tasks if not task.done()]:
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)


def first_error(error: BaseException) -> BaseException:
    """The error to raise for a group of failed agents: the first of redargue's own, else the first of all."""
    while isinstance(error, BaseExceptionGroup):
        error = (error.subgroup(RedargueError) or error).exceptions[0]
    return error


class Background:
    """An event loop in a thread of its own, for checks in an application whose event loop must not wait for them.

    Readings compute in a few further threads, which are not those of ``asyncio.to_thread`` in the application.

    Args:
        running: checks at a time.
        waiting: checks that may wait; any further one raises Busy.
        threads: for readings; more would compete with the application's event loop.

    Raises:
        UsageError: a number is too small, or is not a whole number.

    Example:
        >>> async with redargue.Background() as background:
        ...     report = await background.run(redargue.ground(answer, contexts=documents))
    """

    def __init__(self, *, running: int = 4, waiting: int = 100, threads: int = 2) -> None:
        for name, value in (("running", running), ("waiting", waiting), ("threads", threads)):
            least = int(name != "waiting")
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                hint = f"give a whole number from {least} on"
                raise UsageError(f"{name}={value!r} of a Background", hint=hint)
        self._places, self._waiting = BoundedSemaphore(running + waiting), waiting
        self._threads = threads
        self._slots = asyncio.Semaphore(running)
        self._closing = asyncio.Event()
        self._closed = False
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = Thread(target=self._serve, name="redargue", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:  # which at its end cancels what still runs
            executor = ThreadPoolExecutor(self._threads, thread_name_prefix="redargue")
            runner.get_loop().set_default_executor(executor)
            self._started.set_result(runner.get_loop())
            runner.run(self._closing.wait())

    async def run(self, check: Coroutine[Any, Any, _T]) -> _T:
        """The result of a check, such as ``redargue.ground(…)``; cancelling this cancels the check.

        Raises:
            Busy: no further check may wait.
            UsageError: it is not a check, or the background was closed.
        """
        where = "Background.run"
        if not isinstance(check, Coroutine):
            hint = "call run(redargue.ground(answer, contexts=documents)), without await inside"
            raise UsageError(f"{shortened(repr(check))} is not a check", where=where, hint=hint)
        if self._closed or not self._thread.is_alive():
            check.close()
            raise UsageError("the background was closed", where=where, hint="make a new one")
        if not self._places.acquire(blocking=False):
            check.close()
            raise Busy(f"{self._waiting} checks are waiting", hint="try again later")
        done = asyncio.run_coroutine_threadsafe(self._one(check), self._started.result())
        done.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(done)

    async def _one(self, check: Coroutine[Any, Any, _T]) -> _T:
        try:
            async with self._slots:
                return await check
        finally:
            check.close()  # cancelled before it began

    async def close(self) -> None:
        """Cancels what still runs."""
        self._closed = True
        if self._thread.is_alive():
            self._started.result().call_soon_threadsafe(self._closing.set)
            await asyncio.to_thread(self._thread.join)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
