"""Two methods on the same claims: which labels flipped, and McNemar's exact test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

Kind = Literal["gained", "lost", "changed"]


class Flip(Frozen):
    """One item on which two methods say different things.

    Attributes:
        item: its place, from 0.
        gold: its gold label; None where hidden.
        first: what the first method says; None for a non-answer.
        second: what the second says.
        kind: ``gained`` if only the second is right, ``lost`` if only the first is, ``changed`` if neither is.
    """

    item: int
    gold: str | None
    first: str | None
    second: str | None
    kind: Kind


class McNemar(Frozen):
    """McNemar's exact test.

    Attributes:
        both: items that both have right.
        first_only: items that only the first has right.
        second_only: items that only the second has right.
        neither: items that both have wrong.
        p_value: two-sided; 1 where the methods never differ.
    """

    both: int
    first_only: int
    second_only: int
    neither: int
    p_value: float

    @property
    def n(self) -> int:
        """All items."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def discordant(self) -> int:
        """Items that exactly one has right."""
        return self.first_only + self.second_only

    @property
    def difference(self) -> float | None:
        """Accuracy of the first minus that of the second; None without items."""
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
    """Whether two methods' accuracies on the same items differ by more than chance.

    Args:
        first: whether the first method has each item right; a non-answer is not right.
        second: the second's, of the same items in the same order.
    """
    same_length(first=first, second=second)
    pairs = [(bool(a), bool(b)) for a, b in zip(first, second, strict=True)]
    first_only, second_only = pairs.count((True, False)), pairs.count((False, True))
    return McNemar(
        both=pairs.count((True, True)),
        first_only=first_only,
        second_only=second_only,
        neither=pairs.count((False, False)),
        p_value=binomial_p(first_only, second_only),
    )


def flips(gold: Sequence[str | None], first: Sequence[str | None], second: Sequence[str | None]) -> tuple[Flip, ...]:
    """The items on which two methods say different things, in order."""
    same_length(gold=gold, first=first, second=second)
    found = []
    for item, (truth, a, b) in enumerate(zip(gold, first, second, strict=True)):
        if a != b:
            hit = truth is not None
            kind: Kind = "gained" if hit and b == truth else "lost" if hit and a == truth else "changed"
            found.append(Flip(item=item, gold=truth, first=a, second=b, kind=kind))
    return tuple(found)
