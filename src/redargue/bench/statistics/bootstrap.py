"""Percentile bootstrap over items by scipy, as for Tool-MAD's Table IV (95 %).

Items are resampled by index, so that all values of an item (gold label, both methods' answers) are drawn together.
``draws`` is the number of samples, ``level`` the share of samples between the bounds, and ``over`` the labels whose F1
is averaged (None: all). A predicted label may be None (no answer).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import require_known_labels, same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Statistic = Callable[[Ints], Floats]  # item indices (samples, n) -> the score of each sample (samples,)

DRAWS = 2000
LEVEL = 0.95
_CELLS = 4_000_000  # indices in memory at a time


class Interval(Frozen):
    """A score of ``n`` items and its bootstrap interval; value and bounds are None if ``undefined`` gives a reason."""

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

    ``p_value`` is two-sided: twice the smaller share of samples on or beyond 0, each with one added, at most 1.
    """

    p_value: float | None


@dataclass(frozen=True)
class _Sampling:
    draws: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        if self.draws < 1 or not 0 < self.level < 1:
            what = f"{self.draws} draws at level {self.level}"
            raise UsageError(what, hint="at least one draw, and a level between 0 and 1")

    def bootstrap(self, statistic: Statistic | None, n: int, empty: str = "no items") -> tuple[dict[str, Any], Floats]:
        """Fields of an interval, and the samples; without a statistic, or items, the interval is undefined."""
        fields: dict[str, Any] = {"value": None, "low": None, "high": None, "n": n, **asdict(self)}
        if statistic is None or not n:
            return {**fields, "undefined": empty}, np.array([])
        value = float(statistic(np.arange(n)[None])[0])
        if n == 1:  # scipy refuses a single item; all its samples are the same
            return {**fields, "value": value, "low": value, "high": value}, np.full(self.draws, value)
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
        fields |= {"value": value, "low": float(bounds.low), "high": float(bounds.high)}
        return fields, result.bootstrap_distribution

    def interval(self, statistic: Statistic | None, n: int, empty: str = "no items") -> Interval:
        return Interval(**self.bootstrap(statistic, n, empty)[0])

    def difference(self, statistic: Statistic | None, n: int, empty: str = "no items") -> Difference:
        fields, samples = self.bootstrap(statistic, n, empty)
        tail = min(int(np.sum(samples <= 0)), int(np.sum(samples >= 0)))
        return Difference(**fields, p_value=min(1.0, 2 * (tail + 1) / (self.draws + 1)) if len(samples) else None)


def _mean_of(values: Floats) -> Statistic:
    return lambda items: np.asarray(values[items].mean(axis=1), dtype=np.float64)


def interval(scores: Sequence[float], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0) -> Interval:
    """The mean of per-item scores (for accuracy: whether each item is correct) and its interval."""
    values = np.asarray(scores, dtype=np.float64)
    return _Sampling(draws, level, seed).interval(_mean_of(values), len(values))


def interval_of(
    statistic: Callable[[Ints], float], n: int, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Any statistic of the items with given indices, defined for every sample, and its interval."""
    sampling = _Sampling(draws, level, seed)
    return sampling.interval(lambda samples: np.array([statistic(items) for items in samples]), n)


def _label_indices(answers: Sequence[str | None], labels: Sequence[str], column: str) -> Ints:
    """The index of each answer among the labels; for a non-answer, the number of labels."""
    require_known_labels([answer for answer in answers if answer is not None], among=labels, column=column)
    index = {label: at for at, label in enumerate(labels)}
    return np.array([len(labels) if answer is None else index[answer] for answer in answers], dtype=np.int64)


def _macro_f1(gold: Ints, predicted: Ints, k: int, averaged: list[int]) -> Floats:
    """Macro-F1 of each sample over the ``averaged`` of ``k`` classes; an empty class counts 0.

    Label indices have the shape (samples, n); that of a non-answer is ``k``.
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
    """Macro-F1 and its interval; a class missing from a sample counts 0 in it, as in the score itself."""
    same_length(gold=gold, said=said)
    score = _scorer(gold, labels, over)
    statistic = score and score(said, "predicted labels")
    return _Sampling(draws, level, seed).interval(statistic, len(gold), "no labels" if gold else "no items")


def _scorer(
    gold: Sequence[str], labels: Sequence[str], over: Sequence[str] | None
) -> Callable[[Sequence[str | None], str], Statistic] | None:
    """Makes the statistic of one method's predicted labels; None without items or averaged labels."""
    averaged = [at for at, label in enumerate(labels) if over is None or label in over]
    if not gold or not averaged:
        return None
    truth = _label_indices(gold, labels, "gold")

    def statistic(predicted: Sequence[str | None], column: str) -> Statistic:
        answers = _label_indices(predicted, labels, column)
        return lambda items: _macro_f1(truth[items], answers[items], len(labels), averaged)

    return statistic


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Difference:
    """The difference of the means of two methods' scores on the same items."""
    n = same_length(first=first, second=second)
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return _Sampling(draws, level, seed).difference(_mean_of(gaps), n)


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
    """The difference of two methods' macro-F1 on the same items."""
    same_length(gold=gold, first=first, second=second)
    sampling = _Sampling(draws, level, seed)
    score = _scorer(gold, labels, over)
    if score is None:
        return sampling.difference(None, len(gold), "no labels" if gold else "no items")
    one, other = score(first, "first"), score(second, "second")
    return sampling.difference(lambda items: one(items) - other(items), len(gold))
