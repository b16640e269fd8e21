"""What a paired comparison can see: the power of McNemar's exact test, and the smallest difference at this n."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evals.statistics.paired import McNemar

ALPHA = 0.05
POWER = 0.8
_SPREAD = 9  # standard deviations beyond which a binomial's tail is left out (less than 1e-18)


class Sight(Frozen):
    """What a comparison at this n can see.

    Attributes:
        n: items.
        discordant: share of items that exactly one method has right, taken as given.
        smallest: the smallest difference in accuracy that the test finds with that power; None where it finds none.
        undefined: why there is none.
        alpha: level of the test.
        power: chance to find it.
        observed: the difference that was measured; None where there is none.
        warning: one sentence for the table where the measured difference is smaller than what can be seen.
    """

    n: int
    discordant: float
    smallest: float | None
    undefined: str = ""
    alpha: float = ALPHA
    power: float = POWER
    observed: float | None = None
    warning: str = ""


@lru_cache(maxsize=32)
def _log_factorials(size: int) -> npt.NDArray[np.float64]:
    """Ln 0! … ln (size - 1)!; asked for in powers of two, so that few tables are made."""
    return np.array([math.lgamma(k + 1) for k in range(size)])


def _binomial(n: int, p: float) -> tuple[int, npt.NDArray[np.float64]]:
    """The first count whose chance matters, and the chances from there on."""
    if p <= 0 or p >= 1:
        return (0 if p <= 0 else n), np.ones(1)
    reach = _SPREAD * math.sqrt(n * p * (1 - p)) + _SPREAD
    low, high = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    k = np.arange(low, high + 1)
    logs = _log_factorials(1 << n.bit_length())
    chances = np.exp(logs[n] - logs[k] - logs[n - k] + k * math.log(p) + (n - k) * math.log1p(-p))
    return low, np.asarray(chances, dtype=np.float64)


@lru_cache(maxsize=65536)
def critical(discordant: int, alpha: float = ALPHA) -> int:
    """The greatest smaller count at which so many discordant items are significant; -1 where none is."""
    share, whole = alpha.as_integer_ratio()
    most = (share << discordant) // (2 * whole)  # of 2^discordant equally likely splits, on each side
    term = tail = 1
    k = 0
    while tail <= most and k <= discordant // 2:
        k += 1
        term = term * (discordant - k + 1) // k
        tail += term
    return k - 1


def mcnemar_power(n: int, first_only: float, second_only: float, *, alpha: float = ALPHA) -> float:
    """The chance that McNemar's exact test finds a difference, over all counts that may come out.

    Args:
        n: items.
        first_only: chance that only the first method has an item right.
        second_only: chance that only the second has.
        alpha: level of the test.
    """
    discordant = first_only + second_only
    if min(first_only, second_only) < 0 or discordant > 1 + 1e-12 or n < 0:
        raise UsageError(
            f"n={n}, chances {first_only} and {second_only}", hint="chances are at least 0 and at most 1 together"
        )
    if discordant <= 0 or not n:
        return 0.0
    start, chances = _binomial(n, min(1.0, discordant))
    found = 0.0
    for m, chance in enumerate(chances, start=start):
        limit = critical(m, alpha)
        if limit < 0:
            continue
        low, split = _binomial(m, first_only / discordant)
        counts = np.arange(low, low + len(split))
        found += float(chance) * float(split[(counts <= limit) | (counts >= m - limit)].sum())
    return min(1.0, found)


def smallest_difference(
    n: int, discordant: float, *, alpha: float = ALPHA, power: float = POWER, digits: int = 4
) -> float | None:
    """The smallest difference in accuracy that the test finds with this power, rounded up.

    Args:
        n: items.
        discordant: share of items that exactly one method has right.
        alpha: level of the test.
        power: chance to find it.
        digits: decimals.

    Returns:
        None where even the greatest difference (all discordant items on one side) is not found.
    """
    if not 0 <= discordant <= 1 or not 0 < power < 1:
        raise UsageError(f"discordant {discordant}, power {power}", hint="shares lie in [0, 1]")

    steps = float(10**digits)

    def finds(step: int) -> bool:
        gap = min(step / steps, discordant)
        return mcnemar_power(n, (discordant + gap) / 2, (discordant - gap) / 2, alpha=alpha) >= power

    low, high = 0, math.ceil(discordant * steps)
    if not finds(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return min(high / steps, discordant)


def sight(test: McNemar, *, alpha: float = ALPHA, power: float = POWER) -> Sight:
    """What the comparison behind a test could see, taking its share of discordant items as given."""
    if not test.n:
        return Sight(n=0, discordant=0.0, smallest=None, undefined="no items", alpha=alpha, power=power)
    share = test.discordant / test.n
    smallest = smallest_difference(test.n, share, alpha=alpha, power=power)
    observed = test.difference or 0.0
    reason = warning = ""
    if smallest is None:
        reason = f"only {test.discordant} of {test.n} claims tell the two apart"
    if critical(test.discordant, alpha=alpha) < 0:
        warning = f"O{reason[1:]}: however they fell, no difference could be told from chance. Take more claims."
    elif test.p_value > alpha:
        found = f"the smallest found with {power:.0%} power is {smallest:.1%}" if smallest else "none would be found"
        warning = f"No difference was found, which says little: with {test.n} claims {found}. Take more claims."
        warning = warning if smallest is None or abs(observed) < smallest else ""
    elif smallest is None or abs(observed) < smallest:
        warning = (
            f"Found, with luck: fewer than {power:.0%} of samples of {test.n} claims would show such a difference."
        )
    return Sight(
        n=test.n,
        discordant=share,
        smallest=smallest,
        undefined=reason,
        alpha=alpha,
        power=power,
        observed=observed,
        warning=warning,
    )
