"""Power of McNemar's exact test, and the smallest difference that it can detect with n items."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from redargue.bench.extra import bench_extra
from redargue.bench.statistics.paired import McNemar
from redargue.claims import Frozen
from redargue.errors import UsageError

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
