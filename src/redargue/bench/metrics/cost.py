"""Cost of verdicts, per item and per correct verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redargue.bench.metrics.base import NO_ITEMS, MetricValue, ratio, same_length, undefined
from redargue.claims import Frozen
from redargue.verdicts import Usage, total_usage


class CostScores(Frozen):
    """Sums over items."""

    items: int
    correct: int | None  # items with the correct label; None without gold labels
    usage: Usage  # has ``usd`` only if every item has a price
    unpriced: int = 0
    seconds: float | None = None  # wall time summed over items; None if not measured
    peak_bytes: int | None = None  # peak memory of the process; None if not measured

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.completion_tokens

    def per_item(self) -> tuple[MetricValue, ...]:
        return self._per("item", self.items, NO_ITEMS)

    def per_correct(self) -> tuple[MetricValue, ...]:
        """Cost of all verdicts, correct or not, divided by the number of correct ones."""
        return self._per("correct", self.correct, "no verdict is correct")

    def _per(self, unit: str, count: int | None, empty: str) -> tuple[MetricValue, ...]:
        no_price = f"{self.unpriced} of {self.items} items have no price" if self.items else NO_ITEMS
        sums = {
            "calls": self.usage.calls,
            "tokens": self.tokens,
            "searches": self.usage.searches,
            "usd": self.usage.usd,
            "seconds": self.seconds,
        }
        values = []
        for name, total in sums.items():
            title = f"{name}-per-{unit}"
            if total is None:
                values.append(undefined(title, no_price if name == "usd" else "it was not measured", n=self.items))
            elif count is None:
                values.append(undefined(title, "no gold labels", n=self.items))
            else:
                values.append(ratio(title, total, count, n=self.items, empty=empty))
        return tuple(values)


def cost_scores(
    usages: Sequence[Usage],
    *,
    right: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    peak_bytes: int | None = None,
) -> CostScores:
    """Sums the cost of items; ``right``, ``seconds`` and ``peak_bytes`` are None if unknown."""
    for column in (right, seconds):
        if column is not None:
            same_length(usages=usages, column=column)
    prices = [usage.usd for usage in usages if usage.usd is not None]
    return CostScores(
        items=len(usages),
        correct=None if right is None else sum(right),
        usage=total_usage(usages),
        unpriced=len(usages) - len(prices),
        seconds=None if seconds is None else math.fsum(seconds),
        peak_bytes=peak_bytes,
    )
