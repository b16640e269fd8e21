"""Percentile bootstrap over items, as for Tool-MAD's Table IV (95 %), of a score or a difference on the same items.

Draws are ``numpy.random.default_rng(seed).integers(0, n, (draws, n))``, so that for a mean the bounds equal
``scipy.stats.bootstrap(method="percentile")`` with the same generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evals.metrics.base import known, same_length

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DRAWS = 2000
LEVEL = 0.95
_CELLS = 4_000_000  # drawn places held at once


class Interval(Frozen):
    """A score and its bootstrap interval.

    Attributes:
        value: over all items as they are; None where there are none.
        low: lower bound; None where there are none.
        high: upper bound.
        undefined: why there is nothing; empty where there is.
        level: share of draws between the bounds.
        draws: how many samples were drawn.
        n: items.
        seed: of the draws.
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
        p_value: two-sided: twice the smaller share of draws on or beyond 0, each with one added, at most 1.
    """

    p_value: float | None


def drawn(n: int, *, draws: int = DRAWS, seed: int = 0) -> Iterator[Ints]:
    """Places of drawn items, several samples (rows of ``n``) at a time so that memory stays flat."""
    rng = np.random.default_rng(seed)
    rows = max(1, _CELLS // max(1, n))
    for start in range(0, draws, rows):
        yield rng.integers(0, n, (min(rows, draws - start), n))


def _bounds(samples: Floats, level: float) -> tuple[float, float]:
    low, high = np.percentile(samples, (50 * (1 - level), 50 * (1 + level)))
    return float(low), float(high)


def _interval(value: float, samples: Floats, *, n: int, level: float, draws: int, seed: int) -> Interval:
    low, high = _bounds(samples, level)
    return Interval(value=value, low=low, high=high, level=level, draws=draws, n=n, seed=seed)


def _difference(value: float, samples: Floats, *, n: int, level: float, draws: int, seed: int) -> Difference:
    low, high = _bounds(samples, level)
    tail = min(int(np.sum(samples <= 0)), int(np.sum(samples >= 0)))
    p_value = min(1.0, 2 * (tail + 1) / (draws + 1))
    return Difference(value=value, low=low, high=high, level=level, draws=draws, n=n, seed=seed, p_value=p_value)


def _checked(draws: int, level: float) -> None:
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}", hint="at least one draw, and a level between 0 and 1")


def interval(
    scores: Sequence[float] | Sequence[bool], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """The mean of per-item scores and its interval.

    Args:
        scores: of each item (for accuracy: whether it is right).
        draws: samples.
        level: share of samples between the bounds.
        seed: of the draws.
    """
    _checked(draws, level)
    values = np.asarray(scores, dtype=np.float64)
    n = len(values)
    if not n:
        return Interval(value=None, low=None, high=None, undefined="no items", level=level, draws=draws, n=0, seed=seed)
    samples = np.concatenate([values[at].mean(axis=1) for at in drawn(n, draws=draws, seed=seed)])
    return _interval(float(values.mean()), samples, n=n, level=level, draws=draws, seed=seed)


def interval_of(
    statistic: Callable[[Ints], float], n: int, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Any statistic and its interval.

    Args:
        statistic: the score of the items at these places; must be defined for every sample.
        n: items.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the draws.
    """
    _checked(draws, level)
    if not n:
        return Interval(value=None, low=None, high=None, undefined="no items", level=level, draws=draws, n=0, seed=seed)
    samples = np.array([statistic(row) for at in drawn(n, draws=draws, seed=seed) for row in at])
    return _interval(statistic(np.arange(n)), samples, n=n, level=level, draws=draws, seed=seed)


def _codes(labels: Sequence[str | None], among: Sequence[str], column: str) -> Ints:
    """Labels as numbers; a non-answer gets the number after the last label."""
    known([label for label in labels if label is not None], among=among, column=column)
    place = {label: at for at, label in enumerate(among)}
    return np.array([len(among) if label is None else place[label] for label in labels], dtype=np.int64)


def _places(labels: Sequence[str], over: Sequence[str] | None) -> list[int]:
    """Numbers of the labels whose F1 is averaged."""
    return [at for at, label in enumerate(labels) if over is None or label in over]


def _macro_f1(gold: Ints, said: Ints, k: int, over: list[int]) -> Floats:
    """Macro-F1 of each row of samples; an empty class counts 0.

    Args:
        gold: numbers of gold labels, (samples, n).
        said: numbers of predicted labels, (samples, n), ``k`` for a non-answer.
        k: classes.
        over: numbers of the classes whose F1 is averaged.
    """
    rows = np.arange(len(gold))[:, None] * (k + 1)

    def counted(codes: Ints) -> Floats:
        flat = np.bincount((rows + codes).ravel(), minlength=len(gold) * (k + 1))
        return flat.reshape(len(gold), k + 1)[:, :k].astype(np.float64)

    hits = counted(np.where(gold == said, gold, k))
    both = counted(gold) + counted(said)
    return np.asarray((2 * hits / np.maximum(both, 1))[:, over].mean(axis=1), dtype=np.float64)


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
        labels: all labels that may stand there.
        over: those whose F1 is averaged; all of them if None.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the draws.
    """
    _checked(draws, level)
    n = same_length(gold=gold, said=said)
    if not n or not _places(labels, over):
        reason = "no labels" if n else "no items"
        return Interval(value=None, low=None, high=None, undefined=reason, level=level, draws=draws, n=n, seed=seed)
    g, s = _codes(gold, labels, "gold"), _codes(said, labels, "predicted labels")

    def scored(at: Ints) -> Floats:
        return _macro_f1(g[at], s[at], len(labels), _places(labels, over))

    samples = np.concatenate([scored(at) for at in drawn(n, draws=draws, seed=seed)])
    return _interval(float(scored(np.arange(n)[None])[0]), samples, n=n, level=level, draws=draws, seed=seed)


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
        seed: of the draws.
    """
    _checked(draws, level)
    n = same_length(first=first, second=second)
    if not n:
        return Difference(
            value=None,
            low=None,
            high=None,
            undefined="no items",
            level=level,
            draws=draws,
            n=0,
            seed=seed,
            p_value=None,
        )
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    samples = np.concatenate([gaps[at].mean(axis=1) for at in drawn(n, draws=draws, seed=seed)])
    return _difference(float(gaps.mean()), samples, n=n, level=level, draws=draws, seed=seed)


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
        labels: all labels that may stand there.
        over: those whose F1 is averaged; all of them if None.
        draws: samples.
        level: share of samples between the bounds.
        seed: of the draws.
    """
    _checked(draws, level)
    n = same_length(gold=gold, first=first, second=second)
    if not n or not _places(labels, over):
        reason = "no labels" if n else "no items"
        return Difference(
            value=None, low=None, high=None, undefined=reason, level=level, draws=draws, n=n, seed=seed, p_value=None
        )
    g = _codes(gold, labels, "gold")
    a, b = _codes(first, labels, "first"), _codes(second, labels, "second")
    among = len(labels), _places(labels, over)

    def scored(at: Ints) -> Floats:
        return _macro_f1(g[at], a[at], *among) - _macro_f1(g[at], b[at], *among)

    samples = np.concatenate([scored(at) for at in drawn(n, draws=draws, seed=seed)])
    return _difference(float(scored(np.arange(n)[None])[0]), samples, n=n, level=level, draws=draws, seed=seed)
