"""Searches for the smallest set of items whose removal changes an outcome, with few trials."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import combinations
from typing import Literal

MAX_FOR_PAIRS = 12  # items up to which all pairs are tried

How = Literal["smallest", "minimal", "some", "none"]
"""Quality of a set: no smaller set works; no item can be restored; neither is known; no set was found."""

Flips = Callable[[frozenset[str]], Awaitable[bool]]


class MinimalSetSearch:
    """Tries single items, then removes items one by one until the outcome flips, and restores those not needed.

    Args:
        order: names of the items, the most likely first.
        flips: whether the outcome changes without these items.
    """

    def __init__(self, order: Sequence[str], flips: Flips) -> None:
        self._order, self._flips = tuple(order), flips
        self.best: frozenset[str] | None = None
        self.how: How = "none"

    async def run(self) -> None:
        """Sets ``best`` and ``how``; if ``flips`` raises, they are the result so far."""
        for name in self._order:
            if await self._try({name}, "smallest"):
                return
        if len(self._order) < 2:
            return
        await self._grow()
        await self._shrink()
        if self.best and len(self.best) == 2:
            self.how = "smallest"  # all single items were tried
        elif len(self._order) <= MAX_FOR_PAIRS:
            for pair in combinations(self._order, 2):
                if await self._try(set(pair), "smallest"):
                    return
            if self.best and len(self.best) == 3:
                self.how = "smallest"

    async def _try(self, removed: set[str], how: How) -> bool:
        if not await self._flips(frozenset(removed)):
            return False
        self.best, self.how = frozenset(removed), how
        return True

    async def _grow(self) -> None:
        await self._try(set(self._order), "some")  # if this does not flip, subsets rarely do
        for size in range(2, len(self._order)):
            if await self._try(set(self._order[:size]), "some"):
                return

    async def _shrink(self) -> None:
        """Restores single items until none of the set can be restored."""
        if not self.best:
            return
        restored = True
        while restored:
            restored = False
            for name in reversed([name for name in self._order if name in self.best]):
                restored |= len(self.best) > 1 and await self._try(set(self.best - {name}), "some")
        self.how = "minimal"
