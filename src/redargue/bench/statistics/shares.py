"""Shares with Wilson's interval (1927), and Cohen's kappa (1960)."""

from __future__ import annotations

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import MetricValue, ratio, undefined
from redargue.bench.metrics.classification import Confusion
from redargue.errors import UsageError

_LEVEL = 0.95


def wilson(name: str, count: int, n: int, *, level: float = _LEVEL) -> MetricValue:
    """The share of ``count`` of ``n``, with Wilson's score interval; raises UsageError for a count outside 0 to n."""
    if not 0 <= count <= n:
        raise UsageError(f"{count} of {n} is not a share", where=name)
    if not n:
        return ratio(name, 0, 0)
    with bench_extra():
        from scipy import stats
    bounds = stats.binomtest(count, n).proportion_ci(level, method="wilson")
    return MetricValue(name=name, value=count / n, n=n, low=float(bounds.low), high=float(bounds.high))


def cohen_kappa(matrix: Confusion) -> MetricValue:
    """Agreement above chance, in [-1, 1]; a non-answer agrees with nothing."""
    if not matrix.n:
        return undefined("kappa", "no items")
    agreed = sum(row[at] for at, row in enumerate(matrix.counts)) / matrix.n
    gold = [sum(row) + none for row, none in zip(matrix.counts, matrix.unanswered, strict=True)]
    said = [sum(column) for column in zip(*matrix.counts, strict=True)]
    chance = sum(one * other for one, other in zip(gold, said, strict=True)) / matrix.n**2
    if chance == 1:
        return undefined("kappa", "both give one label throughout, so chance alone makes them agree", n=matrix.n)
    return MetricValue(name="kappa", value=(agreed - chance) / (1 - chance), n=matrix.n)
