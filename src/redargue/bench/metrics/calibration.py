"""Calibration of confidences in [0, 1]: calibration error, Brier score, reliability, risk against coverage."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from redargue.bench.metrics.base import MetricValue, mean, ratio, same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

BINS = 10
_NOTHING = "no answer has a confidence"


class Bin(Frozen):
    """One bin of a reliability diagram: the mean of the confidences in (low, high], and the share that is correct.

    The first bin includes 0; an empty bin has no means.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class RiskPoint(Frozen):
    """One point of a risk–coverage curve.

    Attributes:
        threshold: lowest confidence of the kept answers.
        coverage: share of answers that are kept.
        risk: share of kept answers that are wrong.
    """

    threshold: float
    coverage: float
    risk: float


def _checked(confidence: Sequence[float], right: Sequence[bool]) -> None:
    same_length(confidence=confidence, right=right)
    for row, value in enumerate(confidence, start=1):
        if not 0 <= value <= 1:  # also true of NaN
            raise UsageError(f"confidence {value!r} is not in [0, 1]", where=f"item {row}")


def reliability(confidence: Sequence[float], right: Sequence[bool], *, bins: int = BINS) -> tuple[Bin, ...]:
    """Bins of equal width."""
    _checked(confidence, right)
    edges = [at / bins for at in range(bins + 1)]
    by_bin: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for value, hit in zip(confidence, right, strict=True):
        by_bin[max(0, bisect_left(edges, value) - 1)].append((value, hit))
    return tuple(
        Bin(
            low=edges[at],
            high=edges[at + 1],
            n=len(answers),
            confidence=fmean(value for value, _ in answers) if answers else None,
            accuracy=fmean(hit for _, hit in answers) if answers else None,
        )
        for at, answers in enumerate(by_bin)
    )


def calibration_error(confidence: Sequence[float], right: Sequence[bool]) -> MetricValue:
    """Expected calibration error (Guo et al. 2017): the mean gap of confidence and accuracy, weighted by bin size."""
    every = reliability(confidence, right)
    gaps = (bin_.n * abs((bin_.confidence or 0.0) - (bin_.accuracy or 0.0)) for bin_ in every)
    return ratio("calibration-error", math.fsum(gaps), len(confidence), empty=_NOTHING)


def brier(confidence: Sequence[float], right: Sequence[bool]) -> MetricValue:
    """Brier score: the mean squared distance between confidence and correctness."""
    _checked(confidence, right)
    pairs = zip(confidence, right, strict=True)
    return mean("brier", ((value - hit) ** 2 for value, hit in pairs), empty=_NOTHING)


def _ties(confidence: Sequence[float], right: Sequence[bool]) -> list[tuple[float, int, int]]:
    answers = Counter(confidence)
    errors = Counter(value for value, hit in zip(confidence, right, strict=True) if not hit)
    return [(value, answers[value], errors[value]) for value in sorted(answers, reverse=True)]


def risk_coverage(confidence: Sequence[float], right: Sequence[bool]) -> tuple[RiskPoint, ...]:
    """The curve from the most confident answers to all; one point per distinct confidence."""
    _checked(confidence, right)
    points, kept, wrong = [], 0, 0
    for value, n, errors in _ties(confidence, right):
        kept, wrong = kept + n, wrong + errors
        points.append(RiskPoint(threshold=value, coverage=kept / len(confidence), risk=wrong / kept))
    return tuple(points)


def aurc(confidence: Sequence[float], right: Sequence[bool]) -> MetricValue:
    """Area under the risk–coverage curve (Geifman et al. 2019): the mean risk over 1, 2, … n kept answers.

    Among answers of equal confidence, errors are assumed to be spread evenly.
    """
    _checked(confidence, right)
    risks, kept, wrong = [], 0, 0
    for _, n, errors in _ties(confidence, right):
        risks += [(wrong + errors * more / n) / (kept + more) for more in range(1, n + 1)]
        kept, wrong = kept + n, wrong + errors
    return ratio("aurc", math.fsum(risks), kept, empty=_NOTHING)
