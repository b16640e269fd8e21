"""Paired comparison of methods: flipped labels, McNemar's exact test, and Holm's correction for several tests.

Power of McNemar's exact test, and the smallest difference that it can detect with n items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

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


_Ints = npt.NDArray[np.int64]

ALPHA = 0.05
POWER = 0.8
_TAIL = 1e-13  # probability of the counts left out on each side


class PowerAnalysis(Frozen):
    """The differences that a comparison of ``n`` items can detect at significance level ``alpha``.

    Attributes:
        discordant: share of items that exactly one method labels correctly, taken as given.
        smallest: the smallest difference in accuracy detected with ``power``; None (and ``undefined``) if none is.
        warning: one sentence for the table if the observed difference is smaller than what can be detected.
    """

    n: int
    discordant: float
    smallest: float | None
    undefined: str = ""
    alpha: float = ALPHA
    power: float = POWER
    observed: float | None = None
    warning: str = ""


def critical_count(discordant: int, alpha: float = ALPHA) -> int:
    """The largest smaller count at which this many discordant items are significant; -1 if none is."""
    return int(_critical_counts(np.array([discordant]), alpha)[0])


def _critical_counts(discordant: _Ints, alpha: float) -> _Ints:
    with bench_extra():
        from scipy import stats
    counts = stats.binom.ppf(alpha / 2, discordant, 0.5)
    counts -= stats.binom.cdf(counts, discordant, 0.5) > alpha / 2
    return np.asarray(counts, dtype=np.int64)


def mcnemar_power(n: int, first_only: float, second_only: float, *, alpha: float = ALPHA) -> float:
    """The probability that McNemar's exact test of ``n`` items is significant.

    ``first_only`` and ``second_only`` are the probabilities that only that method labels an item correctly.
    """
    discordant = first_only + second_only
    if min(first_only, second_only) < 0 or discordant > 1 + 1e-12 or n < 0:
        what = f"n={n}, chances {first_only} and {second_only}"
        raise UsageError(what, hint="chances are at least 0 and at most 1 together")
    if discordant <= 0 or not n:
        return 0.0
    with bench_extra():
        from scipy import stats
    low, high = stats.binom.ppf((_TAIL, 1 - _TAIL), n, min(1.0, discordant))
    totals = np.arange(int(low), int(high) + 1)  # items that exactly one method labels correctly
    limits = _critical_counts(totals, alpha)
    share = first_only / discordant
    significant = stats.binom.cdf(limits, totals, share) + stats.binom.sf(totals - limits - 1, totals, share)
    chances = stats.binom.pmf(totals, n, min(1.0, discordant))
    return min(1.0, float(chances @ np.where(limits >= 0, significant, 0.0)))


def smallest_difference(n: int, discordant: float, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """The smallest difference in accuracy that the test detects with this power, rounded up to four decimals.

    ``discordant`` is the share of items that exactly one method labels correctly. None if even the largest difference
    (all discordant items on one side) is not detected.
    """
    if not 0 <= discordant <= 1 or not 0 < power < 1:
        raise UsageError(f"discordant {discordant}, power {power}", hint="shares lie in [0, 1]")
    steps = 10_000.0

    def detects(step: int) -> bool:
        gap = min(step / steps, discordant)
        return mcnemar_power(n, (discordant + gap) / 2, (discordant - gap) / 2, alpha=alpha) >= power

    low, high = 0, math.ceil(discordant * steps)
    if not detects(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return min(high / steps, discordant)


def power_analysis(test: McNemar, *, alpha: float = ALPHA, power: float = POWER) -> PowerAnalysis:
    """The power of the comparison behind a test, taking its share of discordant items as given."""
    if not test.n:
        return PowerAnalysis(n=0, discordant=0.0, smallest=None, undefined="no items", alpha=alpha, power=power)
    share = test.discordant / test.n
    smallest = smallest_difference(test.n, share, alpha=alpha, power=power)
    observed = test.difference or 0.0
    undetected = smallest is None or abs(observed) < smallest
    few = f"the methods differ in correctness on only {test.discordant} of {test.n} claims"
    warning = ""
    if critical_count(test.discordant, alpha=alpha) < 0:
        warning = f"No difference can be significant: {few}. Evaluate more claims."
    elif undetected and test.p_value > alpha:
        detected = f"only a difference of {smallest:.1%} or more is" if smallest else "no difference is"
        warning = (
            f"Not significant, but the test is weak: with {test.n} claims, {detected} detected with"
            f" {power:.0%} power. Evaluate more claims."
        )
    elif undetected:
        warning = (
            f"Significant, but fewer than {power:.0%} of samples of {test.n} claims would be, if this is the true"
            " difference."
        )
    return PowerAnalysis(
        n=test.n,
        discordant=share,
        smallest=smallest,
        undefined=few if smallest is None else "",
        alpha=alpha,
        power=power,
        observed=observed,
        warning=warning,
    )
