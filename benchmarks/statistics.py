"""Accuracy, macro-F1 and their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from redargue.bench.statistics import interval_of

Codes = npt.NDArray[np.int64]


def accuracy(gold: Codes, said: Codes) -> float:
    """The share of equal labels."""
    return float(np.mean(gold == said))


def macro_f1(gold: Codes, said: Codes) -> float:
    """The unweighted mean of F1 over the labels that stand in ``gold``."""
    scores = []
    for label in np.unique(gold):
        hit = np.sum((gold == label) & (said == label))
        scores.append(2 * hit / max(1, np.sum(gold == label) + np.sum(said == label)))
    return float(np.mean(scores))


def interval(
    gold: Sequence[str], said: Sequence[str], labels: Sequence[str], score: Callable[[Codes, Codes], float]
) -> list[float]:
    """The score and its 95 % percentile bootstrap interval over rows; an answer outside ``labels`` is wrong."""
    codes = {name: code for code, name in enumerate(labels)}
    pairs = np.array([[codes[g], codes.get(s, -1)] for g, s in zip(gold, said, strict=True)])
    bounds = interval_of(lambda places: score(*pairs[places].T), len(pairs))
    return [round(value, 3) for value in (bounds.value, bounds.low, bounds.high) if value is not None]


def balanced_accuracy(gold: Codes, said: Codes) -> float:
    """The mean, over the labels in ``gold``, of the share of their rows that are labelled so."""
    return float(np.mean([np.mean(said[gold == label] == label) for label in np.unique(gold)]))


def area_under_curve(above: npt.ArrayLike, below: npt.ArrayLike) -> float | None:
    """The probability that a score of the first kind is higher than one of the second; ties count half.

    None if there is none of one kind.
    """
    first, second = np.asarray(above, float), np.asarray(below, float)
    if not len(first) or not len(second):
        return None
    ties = first[:, None] == second
    return round(float(np.mean((first[:, None] > second) + ties / 2)), 3)
