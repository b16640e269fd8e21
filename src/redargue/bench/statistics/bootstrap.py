"""Percentile bootstrap over items by scipy, as for Tool-MAD's Table IV (95 %).

Items are resampled by their index, so that everything about an item (its gold label, both methods' answers) is drawn
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import known, same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Statistic = Callable[[Ints], Floats]  # item indices (samples, n) -> the score of each sample (samples,)

DRAWS = 2000
LEVEL = 0.95
_CELLS = 4_000_000  # indices in memory at a time


class Interval(Frozen):
    """A score and its bootstrap interval.

    Attributes:
        value: the score of all items; None where it is undefined.
        low: lower bound; None where the score is undefined.
        high: upper bound.
        undefined: why there is no score; empty where there is one.
        level: share of samples between the bounds.
        draws: number of samples.
        n: items.
        seed: of the samples.
    """

    value: float | None
    low: float | None
    high: float | None
    undefined: str = ""
    level: float = LEVEL
    draws: int = DRAWS
    n: int
    seed: int = 0


class Difference(Interval):
    """A difference on the same items, first minus second.

    Attributes:
        p_value: two-sided: twice the smaller share of samples on or beyond 0, each with one added, at most 1.
    """

    p_value: float | None


class _Bootstrap(NamedTuple):
    value: float
    low: float
    high: float
    samples: Floats


class _Sampling(NamedTuple):
    draws: int
    level: float
    seed: int

    def bootstrap(self, statistic: Statistic, n: int) -> _Bootstrap:
        value = float(statistic(np.arange(n)[None])[0])
        if n == 1:  # scipy refuses a single item; all its samples are the same
            return _Bootstrap(value, value, value, np.full(self.draws, value))
        with bench_extra():
            from scipy import stats
        result = stats.bootstrap(
            (np.arange(n),),
            lambda items, axis: statistic(items),
            n_resamples=self.draws,
            batch=max(1, _CELLS // n),
            vectorized=True,
            confidence_level=self.level,
            method="percentile",
            rng=np.random.default_rng(self.seed),
        )
        bounds = result.confidence_interval
        return _Bootstrap(value, float(bounds.low), float(bounds.high), result.bootstrap_distribution)

    def interval(self, statistic: Statistic, n: int) -> Interval:
        found = self.bootstrap(statistic, n)
        return Interval(value=found.value, low=found.low, high=found.high, n=n, **self._asdict())

    def no_interval(self, reason: str, n: int) -> Interval:
        return Interval(value=None, low=None, high=None, undefined=reason, n=n, **self._asdict())

    def difference(self, statistic: Statistic, n: int) -> Difference:
        value, low, high, samples = self.bootstrap(statistic, n)
        tail = min(int(np.sum(samples <= 0)), int(np.sum(samples >= 0)))
        p_value = min(1.0, 2 * (tail + 1) / (self.draws + 1))
        return Difference(value=value, low=low, high=high, n=n, p_value=p_value, **self._asdict())

    def no_difference(self, reason: str, n: int) -> Difference:
        return Difference(value=None, low=None, high=None, undefined=reason, n=n, p_value=None, **self._asdict())


def _sampling(draws: int, level: float, seed: int) -> _Sampling:
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}", hint="at least one draw, and a level between 0 and 1")
    return _Sampling(draws, level, seed)


def _mean_of(values: Floats) -> Statistic:
    return lambda items: np.asarray(values[items].mean(axis=1), dtype=np.float64)


def interval(
    scores: Sequence[float] | Sequence[bool], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """The mean of per-item scores and its interval.

    Args:
        scores: of each item (for accuracy: whether it is right).
        draws: samples.
        level: share of samples between the bounds.
        seed: of the samples.
    """
    sampling = _sampling(draws, level, seed)
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return sampling.no_interval("no items", 0)
    return sampling.interval(_mean_of(values), len(values))


def interval_of(
    statistic: Callable[[Ints], float], n: int, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Any statistic and its interval.

    Args:
        statistic: the score of the items with these indices; must be defined for every sample.
        n: items.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the samples.
    """
    sampling = _sampling(draws, level, seed)
    if not n:
        return sampling.no_interval("no items", 0)
    return sampling.interval(lambda samples: np.array([statistic(items) for items in samples]), n)


def _label_indices(answers: Sequence[str | None], labels: Sequence[str], column: str) -> Ints:
    """Index of each answer among the labels; a non-answer gets the index after the last label."""
    known([answer for answer in answers if answer is not None], among=labels, column=column)
    index = {label: at for at, label in enumerate(labels)}
    return np.array([len(labels) if answer is None else index[answer] for answer in answers], dtype=np.int64)


def _averaged(labels: Sequence[str], over: Sequence[str] | None) -> list[int]:
    """Indices of the labels whose F1 is averaged."""
    return [at for at, label in enumerate(labels) if over is None or label in over]


def _macro_f1(gold: Ints, predicted: Ints, k: int, averaged: list[int]) -> Floats:
    """Macro-F1 of each sample; an empty class counts 0.

    Args:
        gold: indices of gold labels, (samples, n).
        predicted: indices of predicted labels, (samples, n), ``k`` for a non-answer.
        k: classes.
        averaged: indices of the classes whose F1 is averaged.
    """
    offsets = np.arange(len(gold))[:, None] * (k + 1)

    def class_counts(indices: Ints) -> Floats:
        counts = np.bincount((offsets + indices).ravel(), minlength=len(gold) * (k + 1))
        return counts.reshape(len(gold), k + 1)[:, :k].astype(np.float64)

    hits = class_counts(np.where(gold == predicted, gold, k))
    totals = class_counts(gold) + class_counts(predicted)
    return np.asarray((2 * hits / np.maximum(totals, 1))[:, averaged].mean(axis=1), dtype=np.float64)


def macro_f1_interval(
    gold: Sequence[str],
    said: Sequence[str | None],
    *,
    labels: Sequence[str],
    over: Sequence[str] | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> Interval:
    """Macro-F1 and its interval; a class that a sample lacks counts 0 in it, as in the score itself.

    Args:
        gold: gold labels.
        said: predicted labels or None.
        labels: all allowed labels.
        over: those whose F1 is averaged; all of them if None.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the samples.
    """
    sampling = _sampling(draws, level, seed)
    n = same_length(gold=gold, said=said)
    averaged = _averaged(labels, over)
    if not n or not averaged:
        return sampling.no_interval("no labels" if n else "no items", n)
    truth, answers = _label_indices(gold, labels, "gold"), _label_indices(said, labels, "predicted labels")
    return sampling.interval(lambda items: _macro_f1(truth[items], answers[items], len(labels), averaged), n)


def paired_difference(
    first: Sequence[float] | Sequence[bool],
    second: Sequence[float] | Sequence[bool],
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> Difference:
    """The difference of two means on the same items, drawn together.

    Args:
        first: one method's score of each item.
        second: the other's, of the same items in the same order.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the samples.
    """
    sampling = _sampling(draws, level, seed)
    n = same_length(first=first, second=second)
    if not n:
        return sampling.no_difference("no items", 0)
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return sampling.difference(_mean_of(gaps), n)


def macro_f1_difference(
    gold: Sequence[str],
    first: Sequence[str | None],
    second: Sequence[str | None],
    *,
    labels: Sequence[str],
    over: Sequence[str] | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> Difference:
    """The difference of two methods' macro-F1 on the same items, drawn together.

    Args:
        gold: gold labels.
        first: one method's predicted labels or None.
        second: the other's.
        labels: all allowed labels.
        over: those whose F1 is averaged; all of them if None.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the samples.
    """
    sampling = _sampling(draws, level, seed)
    n = same_length(gold=gold, first=first, second=second)
    averaged = _averaged(labels, over)
    if not n or not averaged:
        return sampling.no_difference("no labels" if n else "no items", n)
    truth = _label_indices(gold, labels, "gold")
    one, other = _label_indices(first, labels, "first"), _label_indices(second, labels, "second")

    def gap(items: Ints) -> Floats:
        expected = truth[items]
        return _macro_f1(expected, one[items], len(labels), averaged) - _macro_f1(
            expected, other[items], len(labels), averaged
        )

    return sampling.difference(gap, n)
