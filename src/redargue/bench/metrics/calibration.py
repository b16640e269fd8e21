"""Whether confidences mean what they say: calibration error, Brier score, reliability, risk against coverage."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from redargue.bench.metrics.base import Figure, mean, same_length, undefined
from redargue.claims import Frozen
from redargue.errors import UsageError

BINS = 10
NOTHING = "no answer has a confidence"


class Bin(Frozen):
    """One bin of a reliability diagram: confidences in (low, high]; the first holds 0 too.

    Attributes:
        low: lower edge.
        high: upper edge.
        n: answers in it.
        confidence: their mean confidence; None in an empty bin.
        accuracy: the share of them that is right; None in an empty bin.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


class Risk(Frozen):
    """One point of a risk–coverage curve: answer only where the confidence is at least ``threshold``.

    Attributes:
        threshold: the least confidence that is kept.
        coverage: the share of answers that are kept.
        risk: the share of kept answers that are wrong.
    """

    threshold: float
    coverage: float
    risk: float


def _checked(confidence: Sequence[float], right: Sequence[bool]) -> None:
    same_length(confidence=confidence, right=right)
    for row, value in enumerate(confidence, start=1):
        if not 0 <= value <= 1:  # NaN is not either
            raise UsageError(f"confidence {value!r} is not in [0, 1]", where=f"item {row}")


def reliability(confidence: Sequence[float], right: Sequence[bool], *, bins: int = BINS) -> tuple[Bin, ...]:
    """Bins of equal width.

    Args:
        confidence: of each answer, in [0, 1].
        right: whether it is right.
        bins: how many.
    """
    _checked(confidence, right)
    edges = [at / bins for at in range(bins + 1)]
    held: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for value, hit in zip(confidence, right, strict=True):
        held[max(0, bisect_left(edges, value) - 1)].append((value, hit))
    return tuple(
        Bin(
            low=edges[at],
            high=edges[at + 1],
            n=len(each),
            confidence=math.fsum(value for value, _ in each) / len(each) if each else None,
            accuracy=sum(hit for _, hit in each) / len(each) if each else None,
        )
        for at, each in enumerate(held)
    )


def calibration_error(confidence: Sequence[float], right: Sequence[bool], *, bins: int = BINS) -> Figure:
    """Expected calibration error (Guo et al. 2017): the mean gap of confidence and accuracy, weighted by bin size."""
    n = len(confidence)
    if not n:
        return undefined("calibration-error", NOTHING)
    gaps = (
        each.n * abs((each.confidence or 0.0) - (each.accuracy or 0.0))
        for each in reliability(confidence, right, bins=bins)
    )
    return Figure(name="calibration-error", value=math.fsum(gaps) / n, n=n)


def brier(confidence: Sequence[float], right: Sequence[bool]) -> Figure:
    """Brier score of "this answer is right": the mean squared distance of confidence and outcome."""
    _checked(confidence, right)
    pairs = zip(confidence, right, strict=True)
    return mean("brier", ((value - hit) ** 2 for value, hit in pairs), empty=NOTHING)


def _ties(confidence: Sequence[float], right: Sequence[bool]) -> list[tuple[float, int, int]]:
    """Each confidence, highest first, with how many answers have it and how many of these are wrong."""
    held: dict[float, tuple[int, int]] = {}
    for value, hit in zip(confidence, right, strict=True):
        n, wrong = held.get(value, (0, 0))
        held[value] = (n + 1, wrong + (not hit))
    return [(value, *held[value]) for value in sorted(held, reverse=True)]


def risk_coverage(confidence: Sequence[float], right: Sequence[bool]) -> tuple[Risk, ...]:
    """The curve, from the surest answers to all of them; one point a distinct confidence."""
    _checked(confidence, right)
    points, kept, wrong = [], 0, 0
    for value, n, errors in _ties(confidence, right):
        kept, wrong = kept + n, wrong + errors
        points.append(Risk(threshold=value, coverage=kept / len(confidence), risk=wrong / kept))
    return tuple(points)


def aurc(confidence: Sequence[float], right: Sequence[bool]) -> Figure:
    """Area under the risk–coverage curve (Geifman et al. 2019): the mean risk over 1, 2, … n kept answers.

    Answers of one confidence are in no order: among them errors are taken to be spread evenly.
    """
    _checked(confidence, right)
    if not confidence:
        return undefined("aurc", NOTHING)
    risks, kept, wrong = [], 0, 0
    for _, n, errors in _ties(confidence, right):
        risks += [(wrong + errors * more / n) / (kept + more) for more in range(1, n + 1)]
        kept, wrong = kept + n, wrong + errors
    return Figure(name="aurc", value=math.fsum(risks) / kept, n=kept)
