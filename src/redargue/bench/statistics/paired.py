"""Paired comparison of methods: flipped labels, McNemar's exact test, and Holm's correction for several tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

_Kind = Literal["gained", "lost", "changed"]


class PairedFlip(Frozen):
    """One item whose labels differ between two methods; a non-answer is None.

    Attributes:
        item: index from 0.
        kind: ``gained`` if only the second is right, ``lost`` if only the first is, ``changed`` if neither is.
    """

    item: int
    gold: str | None
    first: str | None
    second: str | None
    kind: _Kind


class McNemar(Frozen):
    """McNemar's exact test: counts of items by which methods label them correctly, and the two-sided p-value."""

    both: int
    first_only: int
    second_only: int
    neither: int
    p_value: float

    @property
    def n(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def discordant(self) -> int:
        return self.first_only + self.second_only

    @property
    def difference(self) -> float | None:
        """Accuracy of the first method minus that of the second; None without items."""
        return (self.first_only - self.second_only) / self.n if self.n else None


def binomial_p(first: int, second: int) -> float:
    """Exact two-sided p-value of a split into two counts under even odds (scipy's binomtest); 1 where both are 0."""
    if min(first, second) < 0:
        raise UsageError(f"counts {first} and {second}", hint="counts are at least 0")
    if first == second:
        return 1.0
    with bench_extra():
        from scipy import stats
    return float(stats.binomtest(min(first, second), first + second).pvalue)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Whether two methods' accuracies on the same items differ by more than chance; given each item's correctness."""
    same_length(first=first, second=second)
    pairs = Counter(zip(map(bool, first), map(bool, second), strict=True))
    return McNemar(
        both=pairs[True, True],
        first_only=pairs[True, False],
        second_only=pairs[False, True],
        neither=pairs[False, False],
        p_value=binomial_p(pairs[True, False], pairs[False, True]),
    )


def flips(
    gold: Sequence[str | None], first: Sequence[str | None], second: Sequence[str | None]
) -> tuple[PairedFlip, ...]:
    same_length(gold=gold, first=first, second=second)
    changed = []
    for item, (truth, a, b) in enumerate(zip(gold, first, second, strict=True)):
        if a != b:
            kind: _Kind = "changed" if truth not in (a, b) or truth is None else "gained" if b == truth else "lost"
            changed.append(PairedFlip(item=item, gold=truth, first=a, second=b, kind=kind))
    return tuple(changed)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's (1979) adjusted p-values, in the order given: reject where they are at most alpha."""
    for at, value in enumerate(p_values, start=1):
        if not 0 <= value <= 1:  # NaN is not either
            raise UsageError(f"p-value {value!r} is not in [0, 1]", where=f"test {at}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[at] * (len(p_values) - rank)))
        adjusted[at] = largest
    return tuple(adjusted)
