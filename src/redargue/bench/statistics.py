"""Bootstrap intervals, shares, agreement, and paired comparison of methods.

The percentile bootstrap over items is scipy's, as for Tool-MAD's Table IV (95 %). Items are resampled by index, so that
all values of an item (gold label, both methods' answers) are drawn together. ``over`` are the labels whose F1 is
averaged (None: all); a predicted label may be None (no answer).

Shares have Wilson's interval (1927). Agreement is Cohen's kappa (1960), or that of one method's runs with different
seeds. Paired methods are compared by flipped labels, McNemar's exact test with its power, and Holm's correction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from redargue.bench import bench_extra
from redargue.bench.metrics import MetricValue, mean, ratio, require_known_labels, same_length, undefined
from redargue.bench.metrics.classification import Confusion
from redargue.claims import Frozen
from redargue.errors import UsageError

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
Statistic = Callable[[_Ints], _Floats]  # item indices (samples, n) -> the score of each sample (samples,)

DRAWS = 2000
_LEVEL = 0.95
_CELLS = 4_000_000  # indices in memory at a time


class Interval(Frozen):
    """A score of ``n`` items and its bootstrap interval; value and bounds are None if ``undefined`` gives a reason."""

    value: float | None
    low: float | None
    high: float | None
    undefined: str = ""
    level: float = _LEVEL
    draws: int = DRAWS
    n: int
    seed: int = 0


class PairedDifference(Interval):
    """A difference on the same items, first minus second.

    ``p_value`` is two-sided: twice the smaller share of samples on or beyond 0, each with one added, at most 1.
    """

    p_value: float | None


class Resampling(TypedDict, total=False):
    """Keywords of the functions: number of samples, share of them between the bounds, and their seed."""

    draws: int
    level: float
    seed: int


def _bootstrap(
    statistic: Statistic | None, n: int, *, draws: int = DRAWS, level: float = _LEVEL, seed: int = 0
) -> tuple[Interval, _Floats]:
    """The interval and the samples; without a statistic, or items, the interval is undefined."""
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}", hint="at least one draw, and a level between 0 and 1")
    empty = Interval(value=None, low=None, high=None, n=n, level=level, draws=draws, seed=seed)
    if statistic is None or not n:
        return empty.model_copy(update={"undefined": "no labels" if n else "no items"}), np.array([])
    value = float(statistic(np.arange(n)[None])[0])
    if n == 1:  # scipy refuses a single item; all its samples are the same
        return empty.model_copy(update={"value": value, "low": value, "high": value}), np.full(draws, value)
    with bench_extra():
        from scipy import stats
    result = stats.bootstrap(
        (np.arange(n),),
        lambda items, axis: statistic(items),
        n_resamples=draws,
        batch=max(1, _CELLS // n),
        vectorized=True,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    bounds = {"low": float(result.confidence_interval.low), "high": float(result.confidence_interval.high)}
    return empty.model_copy(update={"value": value, **bounds}), result.bootstrap_distribution


def _difference(statistic: Statistic | None, n: int, **resampling: Unpack[Resampling]) -> PairedDifference:
    bounds, samples = _bootstrap(statistic, n, **resampling)
    tail = min(int(np.sum(samples <= 0)), int(np.sum(samples >= 0)))
    p_value = min(1.0, 2 * (tail + 1) / (len(samples) + 1)) if len(samples) else None
    return PairedDifference(**bounds.model_dump(), p_value=p_value)


def _mean_of(scores: Sequence[float] | _Floats) -> Statistic:
    values = np.asarray(scores, dtype=np.float64)
    return lambda items: np.asarray(values[items].mean(axis=1), dtype=np.float64)


def interval(scores: Sequence[float], **resampling: Unpack[Resampling]) -> Interval:
    """The mean of per-item scores (for accuracy: whether each item is correct) and its interval."""
    return _bootstrap(_mean_of(scores), len(scores), **resampling)[0]


def interval_of(statistic: Callable[[_Ints], float], n: int, **resampling: Unpack[Resampling]) -> Interval:
    """Any statistic of the items with given indices, defined for every sample, and its interval."""
    return _bootstrap(lambda samples: np.array([statistic(items) for items in samples]), n, **resampling)[0]


def paired_difference(
    first: Sequence[float], second: Sequence[float], **resampling: Unpack[Resampling]
) -> PairedDifference:
    """The difference of the means of two methods' scores on the same items."""
    n = same_length(first=first, second=second)
    return _difference(_mean_of(np.subtract(first, second, dtype=np.float64)), n, **resampling)


def _label_indices(answers: Sequence[str | None], labels: Sequence[str], column: str) -> _Ints:
    require_known_labels([answer for answer in answers if answer is not None], among=labels, column=column)
    index = {label: at for at, label in enumerate(labels)}
    return np.array([len(labels) if answer is None else index[answer] for answer in answers], dtype=np.int64)


def _macro_f1(gold: _Ints, predicted: _Ints, k: int, averaged: list[int], empty: int) -> _Floats:
    """Macro-F1 of each sample over those of the ``averaged`` of ``k`` classes that it has, and ``empty`` ones of F1 0.

    Label indices have the shape (samples, n); that of a non-answer is ``k``.
    """
    offsets = np.arange(len(gold))[:, None] * (k + 1)

    def class_counts(indices: _Ints) -> _Floats:
        counts = np.bincount((offsets + indices).ravel(), minlength=len(gold) * (k + 1))
        return counts.reshape(len(gold), k + 1)[:, :k].astype(np.float64)

    hits = class_counts(np.where(gold == predicted, gold, k))
    totals = class_counts(gold) + class_counts(predicted)
    f1, has = (2 * hits / np.maximum(totals, 1))[:, averaged], totals[:, averaged] > 0
    return np.asarray(f1.sum(axis=1) / np.maximum(has.sum(axis=1) + empty, 1), dtype=np.float64)


def _macro_f1_statistic(
    gold: Sequence[str], predictions: dict[str, Sequence[str | None]], labels: Sequence[str], over: Sequence[str] | None
) -> Statistic | None:
    """The macro-F1 of one column of predicted labels, or the difference of two; None without averaged labels."""
    same_length(gold=gold, **predictions)
    averaged = [at for at, label in enumerate(labels) if over is None or label in over]
    if not averaged:
        return None
    truth = _label_indices(gold, labels, "gold")
    columns = []
    for name, column in predictions.items():
        indices = _label_indices(column, labels, name)
        columns.append((indices, len({*averaged} - {*truth.tolist(), *indices.tolist()})))

    def statistic(items: _Ints) -> _Floats:
        first, *second = (
            _macro_f1(truth[items], column[items], len(labels), averaged, empty) for column, empty in columns
        )
        return first - second[0] if second else first

    return statistic


def macro_f1_interval(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    *,
    labels: Sequence[str],
    over: Sequence[str] | None = None,
    **resampling: Unpack[Resampling],
) -> Interval:
    """Macro-F1 and its interval.

    A class that no item has, by gold or predicted label, counts 0, as in the score itself; one that only a sample lacks
    is left out of this sample's mean, so that a rare class does not lower the bounds.
    """
    statistic = _macro_f1_statistic(gold, {"predicted labels": predicted}, labels, over)
    return _bootstrap(statistic, len(gold), **resampling)[0]


def macro_f1_difference(
    gold: Sequence[str],
    first: Sequence[str | None],
    second: Sequence[str | None],
    *,
    labels: Sequence[str],
    over: Sequence[str] | None = None,
    **resampling: Unpack[Resampling],
) -> PairedDifference:
    """The difference of two methods' macro-F1 on the same items."""
    statistic = _macro_f1_statistic(gold, {"first": first, "second": second}, labels, over)
    return _difference(statistic, len(gold), **resampling)


def wilson(name: str, count: int, n: int) -> MetricValue:
    """The share of ``count`` of ``n``, with Wilson's score interval; raises UsageError for a count outside 0 to n."""
    if not 0 <= count <= n:
        raise UsageError(f"{count} of {n} is not a share", where=name)
    if not n:
        return ratio(name, 0, 0)
    with bench_extra():
        from scipy import stats
    bounds = stats.binomtest(count, n).proportion_ci(_LEVEL, method="wilson")
    return MetricValue(name=name, value=count / n, n=n, low=float(bounds.low), high=float(bounds.high))


def cohen_kappa(matrix: Confusion) -> MetricValue:
    """Agreement above chance, in [-1, 1]; a non-answer agrees with nothing."""
    if not matrix.n:
        return undefined("kappa", "no items")
    agreed = sum(row[at] for at, row in enumerate(matrix.counts)) / matrix.n
    chance = sum(matrix.support(at) * matrix.said(at) for at in range(len(matrix.labels))) / matrix.n**2
    if chance == 1:
        return undefined("kappa", "both give one label throughout, so chance alone makes them agree", n=matrix.n)
    return MetricValue(name="kappa", value=(agreed - chance) / (1 - chance), n=matrix.n)


class SeedAgreement(Frozen):
    """Agreement of runs; a non-answer is a separate category."""

    runs: int
    flipped: MetricValue  # share of items whose label is not the same in all runs
    items: tuple[int, ...]  # their indices, from 0
    agreement: MetricValue  # share of pairs of runs that agree, a mean over items
    kappa: MetricValue  # Fleiss' kappa


def seed_agreement(runs: Sequence[Sequence[str | None]]) -> SeedAgreement:
    """Flips and agreement of at least two runs over the same items in the same order."""
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} runs cannot be compared", hint="give at least two, of different seeds")
    n = same_length(**{f"run {at}": run for at, run in enumerate(runs, start=1)})
    k = len(runs)
    counts = [Counter(column) for column in zip(*runs, strict=True)]
    flipped = [len(count) > 1 for count in counts]
    pairs = [sum(votes * (votes - 1) for votes in count.values()) / (k * (k - 1)) for count in counts]
    agreement = mean("agreement", pairs)
    totals = Counter(label for run in runs for label in run)
    chance = sum((total / (n * k)) ** 2 for total in totals.values())
    if agreement.value is None:
        kappa = undefined("fleiss-kappa", agreement.undefined)
    elif len(totals) == 1:
        kappa = undefined("fleiss-kappa", "all runs say one label for all items", n=n)
    else:
        kappa = MetricValue(name="fleiss-kappa", value=(agreement.value - chance) / (1 - chance), n=n)
    items = tuple(at for at, flips in enumerate(flipped) if flips)
    return SeedAgreement(runs=k, flipped=mean("flipped", flipped), items=items, agreement=agreement, kappa=kappa)


ALPHA = 0.05
POWER = 0.8
_TAIL = 1e-13  # probability of the counts that are ignored at each end of a distribution

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
