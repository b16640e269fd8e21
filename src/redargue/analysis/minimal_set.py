"""The smallest set of things without which an outcome is another, found with few trials."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations
from typing import Literal

PAIRS = 12  # things up to which every pair is tried

How = Literal["smallest", "minimal", "some", "none"]
"""What is known of the set: none smaller would do; none of it can be put back; neither yet; there is no set."""

Flips = Callable[[frozenset[str]], Awaitable[bool]]


class Finder:
    """Looks for a small set whose removal flips an outcome.

    Single things first; then it takes away one more and one more until the outcome flips, and puts back what is not
    needed; of few things every pair is tried, too.

    Args:
        order: the things' names, the likeliest first.
        flips: whether the outcome is another without these.
    """

    def __init__(self, order: Sequence[str], flips: Flips) -> None:
        self._order, self._flips = tuple(order), flips
        self.best: frozenset[str] | None = None
        self.how: How = "none"

    async def find(self) -> None:
        """Sets ``best`` and ``how``, also as far as it came where ``flips`` raises."""
        for each in self._order:
            if await self._found({each}, "smallest"):
                return
        if len(self._order) < 2:
            return
        await self._grow()
        await self._shrink()
        if self.best and len(self.best) == 2:
            self.how = "smallest"  # every single thing was tried
        elif len(self._order) <= PAIRS:
            for pair in combinations(self._order, 2):
                if await self._found(set(pair), "smallest"):
                    return
            if self.best and len(self.best) == 3:
                self.how = "smallest"

    async def _found(self, removed: set[str], how: How) -> bool:
        if not await self._flips(frozenset(removed)):
            return False
        self.best, self.how = frozenset(removed), how
        return True

    async def _grow(self) -> None:
        """All things first: where that flips nothing, less of them seldom does."""
        await self._found(set(self._order), "some")
        for size in range(2, len(self._order)):
            if await self._found(set(self._order[:size]), "some"):
                return

    async def _shrink(self) -> None:
        """Until no thing of the set can be put back alone."""
        if not self.best:
            return
        again = True
        while again:
            again = False
            for each in reversed([name for name in self._order if name in self.best]):
                again |= len(self.best) > 1 and await self._found(set(self.best - {each}), "some")
        self.how = "minimal"
