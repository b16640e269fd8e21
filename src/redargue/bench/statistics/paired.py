"""Paired comparison of methods: flipped labels, McNemar's exact test and its power, and Holm's correction."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

ALPHA = 0.05
POWER = 0.8
_TAIL = 1e-13  # probability of the counts that are ignored at each end of a distribution

_Ints = npt.NDArray[np.int64]
_Kind = Literal["gained", "lost", "changed"]


class PairedFlip(Frozen):
    """One item whose labels differ between two methods; a non-answer is None."""

    item: int  # index from 0
    gold: str | None
    first: str | None
    second: str | None
    kind: _Kind  # gained: only the second is right, lost: only the first, changed: neither


class McNemar(Frozen):
    """McNemar's exact test: how many items which of two methods labels correctly, and the two-sided p-value."""

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
    """The exact two-sided p-value of two counts under even odds (scipy's ``binomtest``); 1 if both are 0."""
    if min(first, second) < 0:
        raise UsageError(f"counts {first} and {second}", hint="counts are at least 0")
    if first == second:
        return 1.0
    with bench_extra():
        from scipy import stats
    return float(stats.binomtest(min(first, second), first + second).pvalue)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Tests whether the accuracies of two methods differ by more than chance, from the correctness of each item."""
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
    return tuple(
        PairedFlip(item=item, gold=truth, first=label, second=other, kind=_kind(truth, label, other))
        for item, (truth, label, other) in enumerate(zip(gold, first, second, strict=True))
        if label != other
    )


def _kind(gold: str | None, first: str | None, second: str | None) -> _Kind:
    if gold is None or gold not in (first, second):
        return "changed"
    return "gained" if second == gold else "lost"


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's (1979) adjusted p-values, in the order given; those of at most alpha are significant."""
    for test, value in enumerate(p_values, start=1):
        if not 0 <= value <= 1:  # also refuses NaN
            raise UsageError(f"p-value {value!r} is not in [0, 1]", where=f"test {test}")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        adjusted[index] = largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
    return tuple(adjusted)


class PowerAnalysis(Frozen):
    """The differences in accuracy that a comparison of ``n`` items can detect at significance level ``alpha``."""

    n: int
    discordant: float  # share of items that exactly one method labels correctly
    smallest: float | None  # that is detected with ``power``; None if even the largest is not
    undefined: str = ""
    alpha: float = ALPHA
    power: float = POWER
    observed: float | None = None
    warning: str = ""  # if the observed difference is smaller than what can be detected


def critical_counts(discordant: Sequence[int] | _Ints) -> _Ints:
    """The largest value of the smaller count at which the test is significant; -1 if it never is."""
    with bench_extra():
        from scipy import stats
    counts = stats.binom.ppf(ALPHA / 2, discordant, 0.5)
    counts -= stats.binom.cdf(counts, discordant, 0.5) > ALPHA / 2
    return np.asarray(counts, dtype=np.int64)


def mcnemar_power(n: int, first_only: float, second_only: float) -> float:
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
    critical = critical_counts(totals)
    share = first_only / discordant
    significant = stats.binom.cdf(critical, totals, share) + stats.binom.sf(totals - critical - 1, totals, share)
    probabilities = stats.binom.pmf(totals, n, min(1.0, discordant))
    return min(1.0, float(probabilities @ np.where(critical >= 0, significant, 0.0)))


def smallest_difference(n: int, discordant: float) -> float | None:
    """The smallest difference in accuracy that the test detects with ``POWER``, rounded up to four decimals.

    ``discordant`` is the share of items that exactly one method labels correctly. None if even the
    largest difference (all discordant items on one side) is not detected.
    """
    if not 0 <= discordant <= 1:
        raise UsageError(f"discordant {discordant}", hint="shares lie in [0, 1]")
    steps = 10_000

    def detects(step: int) -> bool:
        difference = min(step / steps, discordant)
        return mcnemar_power(n, (discordant + difference) / 2, (discordant - difference) / 2) >= POWER

    most = math.ceil(discordant * steps)
    if not detects(most):
        return None
    return min(bisect_left(range(most), True, key=detects) / steps, discordant)


def power_analysis(test: McNemar) -> PowerAnalysis:
    """The power of a test, given its share of discordant items."""
    if not test.n:
        return PowerAnalysis(n=0, discordant=0.0, smallest=None, undefined="no items")
    share = test.discordant / test.n
    smallest = smallest_difference(test.n, share)
    observed = test.difference or 0.0
    undetected = smallest is None or abs(observed) < smallest
    few = f"the methods differ in correctness on only {test.discordant} of {test.n} claims"
    warning = ""
    if critical_counts([test.discordant])[0] < 0:
        warning = f"No difference can be significant: {few}. Evaluate more claims."
    elif undetected and test.p_value > ALPHA:
        detected = f"only a difference of {smallest:.1%} or more is" if smallest else "no difference is"
        weak = f"with {test.n} claims, {detected} detected with {POWER:.0%} power"
        warning = f"Not significant, but the test is weak: {weak}. Evaluate more claims."
    elif undetected:
        fewer = f"fewer than {POWER:.0%} of samples of {test.n} claims would be"
        warning = f"Significant, but {fewer}, if this is the true difference."
    return PowerAnalysis(
        n=test.n,
        discordant=share,
        smallest=smallest,
        undefined=few if smallest is None else "",
        observed=observed,
        warning=warning,
    )
