"""Evaluates gradient-boosted decision trees that ``training/lexical_trees.py`` fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from redargue.nli.arrays import read_arrays


class Trees:
    """Boosted trees of several classes, evaluated together.

    Args:
        path: an ``.npz`` file with an array of each node field, tree after tree: ``feature`` (-1 at a leaf),
            ``threshold``, ``left``, ``right`` (places in the arrays), ``value``; ``roots`` of shape (rounds, classes);
            ``baseline`` of shape (classes,).
    """

    def __init__(self, path: Path) -> None:
        arrays = read_arrays(path, "feature threshold value left right roots baseline depth".split())
        self._feature, self._threshold, self._value = arrays["feature"], arrays["threshold"], arrays["value"]
        self._children = np.stack([arrays["right"], arrays["left"]])
        self._roots, self._baseline = arrays["roots"], arrays["baseline"]
        self._depth = int(arrays["depth"])

    def scores(self, features: Sequence[float]) -> tuple[float, ...]:
        """The log odds of each class, up to a constant."""
        values = np.asarray(features, np.float64)
        nodes = self._roots.ravel()
        for _ in range(self._depth):
            feature = self._feature[nodes]
            below = (values[feature] <= self._threshold[nodes]).astype(np.intp)
            nodes = np.where(feature < 0, nodes, self._children[below, nodes])
        sums = self._value[nodes].reshape(self._roots.shape).sum(0) + self._baseline
        return tuple(float(score) for score in sums)
