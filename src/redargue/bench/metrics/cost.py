"""Cost of verdicts, per item and per correct verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, ratio, same_length, undefined
from redargue.claims import Frozen
from redargue.verdicts import Usage, total_usage


class Cost(Frozen):
    """Sums over items.

    Attributes:
        correct: items with the correct label; None without gold labels.
        usage: by agent, task, round and tool too; ``usd`` only if every item has a price.
        seconds: wall time summed over items; None if not measured.
        peak_bytes: peak memory of the process; None if not measured.
    """

    items: int
    correct: int | None
    usage: Usage
    unpriced: int = 0
    seconds: float | None = None
    peak_bytes: int | None = None

    @property
    def tokens(self) -> int:
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

    def per_item(self) -> tuple[MetricValue, ...]:
        return self._per("item", self.items)

    def per_correct(self) -> tuple[MetricValue, ...]:
        """Cost of all verdicts, correct or not, divided by the number of correct ones."""
        return self._per("correct", self.correct)

    def _per(self, unit: str, count: int | None) -> tuple[MetricValue, ...]:
        values = []
        for name, total in self._sums().items():
            title = f"{name}-per-{unit}"
            if total is None or count is None:
                reason = self._without(name) if total is None else "no gold labels"
                values.append(undefined(title, reason, n=self.items))
            else:
                empty = "no verdict is correct" if unit == "correct" else "no items"
                values.append(ratio(title, total, count, n=self.items, empty=empty))
        return tuple(values)


def cost(
    usages: Sequence[Usage],
    *,
    right: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    peak_bytes: int | None = None,
) -> Cost:
    """Sums the cost of items; ``right``, ``seconds`` and ``peak_bytes`` are None if unknown."""
    for column in (right, seconds):
        if column is not None:
            same_length(usages=usages, column=column)
    prices = [usage.usd for usage in usages if usage.usd is not None]
    return Cost(
        items=len(usages),
        correct=None if right is None else sum(right),
        usage=total_usage(usages),
        unpriced=len(usages) - len(prices),
        seconds=None if seconds is None else math.fsum(seconds),
        peak_bytes=peak_bytes,
    )
