"""Time limits that run out on an event of the test, so that no test depends on how fast the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest


def run_out(monkeypatch: pytest.MonkeyPatch, module: ModuleType, *ready: Callable[[], Awaitable[object]]) -> None:
    """The next time limits that ``module`` sets, one for each of ``ready``, run out as soon as that one returns.

    Time limits after those run out by the clock again.
    """
    left, tasks = list(ready), set[asyncio.Task[None]]()

    async def expire(limit: asyncio.Timeout, until: Callable[[], Awaitable[object]]) -> None:
        await until()
        limit.reschedule(asyncio.get_running_loop().time())

    class Asyncio:
        """The module asyncio, except for its time limits."""

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio, name)

        @staticmethod
        def timeout(seconds: float | None) -> asyncio.Timeout:
            if not left:
                return asyncio.timeout(seconds)
            limit = asyncio.timeout(None)
            tasks.add(asyncio.create_task(expire(limit, left.pop(0))))
            return limit

    monkeypatch.setattr(module, "asyncio", Asyncio())
