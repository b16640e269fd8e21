"""What verdicts cost, and what a correct one costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redargue.bench.metrics.base import Figure, ratio, same_length, undefined
from redargue.claims import Frozen
from redargue.verdicts import Usage, total_usage


class Cost(Frozen):
    """Sums over items.

    Attributes:
        items: how many.
        correct: how many of them have a right label; None where no gold labels are known.
        usage: the sums, by agent, task, round and tool too; ``usd`` only where every item has a price.
        unpriced: items without a price.
        seconds: wall time, summed over items; None where it was not measured.
        peak_bytes: the greatest memory of the process; None where it was not measured.
    """

    items: int
    correct: int | None
    usage: Usage
    unpriced: int = 0
    seconds: float | None = None
    peak_bytes: int | None = None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.usage.prompt_tokens + self.usage.completion_tokens

    def _sums(self) -> dict[str, float | None]:
        return {
            "calls": self.usage.calls,
            "tokens": self.tokens,
            "searches": self.usage.searches,
            "usd": self.usage.usd,
            "seconds": self.seconds,
        }

    def _without(self, name: str) -> str:
        if name == "usd":
            return f"{self.unpriced} of {self.items} items have no price" if self.items else "no items"
        return "it was not measured"

    def per_item(self) -> tuple[Figure, ...]:
        """Calls, tokens, searches, dollars and seconds an item."""
        return tuple(
            undefined(f"{name}-per-item", self._without(name), n=self.items)
            if total is None
            else ratio(f"{name}-per-item", total, self.items)
            for name, total in self._sums().items()
        )

    def per_correct(self) -> tuple[Figure, ...]:
        """Calls, tokens, searches, dollars and seconds for each correct verdict; wrong ones cost, too."""
        figures = []
        for name, total in self._sums().items():
            title = f"{name}-per-correct"
            if total is None or self.correct is None:
                reason = self._without(name) if total is None else "no gold labels"
                figures.append(undefined(title, reason, n=self.items))
            else:
                figures.append(ratio(title, total, self.correct, n=self.items, empty="no verdict is correct"))
        return tuple(figures)


def cost(
    usages: Sequence[Usage],
    *,
    right: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    peak_bytes: int | None = None,
) -> Cost:
    """Sums what items cost.

    Args:
        usages: of each item.
        right: whether each item's label is right; None where no gold labels are known.
        seconds: each item's wall time; None where it was not measured.
        peak_bytes: the greatest memory of the process that ran them.
    """
    for columns in (right, seconds):
        if columns is not None:
            same_length(usages=usages, given=columns)
    prices = [usage.usd for usage in usages if usage.usd is not None]
    return Cost(
        items=len(usages),
        correct=None if right is None else sum(right),
        usage=total_usage(usages),
        unpriced=len(usages) - len(prices),
        seconds=None if seconds is None else math.fsum(seconds),
        peak_bytes=peak_bytes,
    )
