"""Several things at once, of which one may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from redargue.errors import RedargueError

T = TypeVar("T")


async def together(asks: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All at once; where one fails the others are stopped, and have stopped, before its error is raised as it is."""
    work = [asyncio.ensure_future(each) for each in asks]
    try:
        return list(await asyncio.gather(*work))
    finally:
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to raise for a group of agents of which several failed: redargue's own first."""
    flat: list[BaseException] = []
    stack: list[BaseException] = [group]
    while stack:
        error = stack.pop(0)
        stack = [*error.exceptions, *stack] if isinstance(error, BaseExceptionGroup) else stack
        if not isinstance(error, BaseExceptionGroup):
            flat.append(error)
    return next((each for each in flat if isinstance(each, RedargueError)), flat[0])
