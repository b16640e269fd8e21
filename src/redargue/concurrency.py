"""Runs several coroutines concurrently, any of which may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from redargue.errors import RedargueError

_T = TypeVar("_T")


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
