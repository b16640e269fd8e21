"""Fits a reader's temperature and the weights of the aggregation to a user's data.

The temperature minimises the log loss of single pairs; the weights are those of a softmax regression on the features of
:mod:`redargue.nli.aggregation`. Both are convex or one-dimensional, so no random numbers are involved.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.reader import Reader
from redargue.nli.reader_spec import OutputSide, side_named
from redargue.nli.reader_store import ReaderFit
from redargue.nli.session import Embedder, Entailment
from redargue.nli.user_reader import UserReader

LEAST_ROWS, LEAST_PER_LABEL = 60, 10
FOLDS = 5
PENALTY = 1.0  # on squared weights, except the intercepts
TEMPERATURES = (0.1, 10.0)
_NEVER = 20.0  # difference of scores that leaves a probability of e^-20
_NUMBERS: dict[str, OutputSide] = {"1": "supports", "0": "neither"}  # as in LLM-AggreFact

Floats64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class LabelledPair(NamedTuple):
    """A row of the data; ``evidence`` are separate passages."""

    claim: str
    evidence: tuple[str, ...]
    side: OutputSide


def read_pairs(path: Path) -> list[LabelledPair]:
    """The rows of a JSON-lines file with ``claim``, ``evidence`` (a text or several) and ``label``.

    Raises:
        UsageError: a row lacks a field, or its label names no side.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}", where="--data") from None
    return [_pair(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _pair(line: str, where: str) -> LabelledPair:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(f"not JSON: {line[:60]!r}", where=where) from None
    if not isinstance(row, dict):
        raise UsageError(f"expected an object, got {line[:60]!r}", where=where)
    if missing := [name for name in ("claim", "evidence", "label") if row.get(name) in (None, "", [])]:
        hint = 'write rows like {"claim": "…", "evidence": "…", "label": "SUPPORTS"}'
        raise UsageError(f"no field {missing[0]!r} in {line[:60]!r}", where=where, hint=hint)
    evidence = row["evidence"] if isinstance(row["evidence"], list) else [row["evidence"]]
    if not isinstance(row["claim"], str) or not all(isinstance(text, str) and text.strip() for text in evidence):
        raise UsageError(f"claim and evidence have to be texts, got {line[:60]!r}", where=where)
    label = str(row["label"]).strip()
    side = _NUMBERS.get(label) or side_named(label)
    if side is None:
        what = f"the label {label!r} says neither support nor refutation nor that neither is shown"
        hint = "such as SUPPORTS, REFUTES, NOT ENOUGH INFO; entailment, contradiction, neutral; 1, 0"
        raise UsageError(what, where=where, hint=hint)
    return LabelledPair(row["claim"], tuple(evidence), side)


def fit(reader: UserReader, pairs: Sequence[LabelledPair], embedder: Embedder, path: Path) -> ReaderFit:
    """Fits the reader's temperature and weights.

    Raises:
        UsageError: too few rows, or a label that the reader gives occurs too seldom.
    """
    classes = [side for side in Entailment._fields if side in reader.spec.outputs]
    truth, counts = _classes(pairs, classes)
    plain = UserReader(reader.spec, model=reader.model)
    temperature = _temperature(plain, pairs, truth, classes)
    features = _features(UserReader(reader.spec, temperature=temperature, model=reader.model), pairs, embedder)
    default = _scores(_features(plain, pairs, embedder), WEIGHTS, classes)
    weights = _weights(softmax_regression(features, truth, len(classes)), classes)
    return ReaderFit(
        reader=reader.spec.sha256,
        data=path.name,
        data_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        counts=counts,
        temperature=temperature,
        supports=weights.supports,
        refutes=weights.refutes,
        before=_quality(default, truth),
        after=_cross_validated(features, truth, classes, _folds(pairs)),
    )


def softmax_regression(features: Floats64, truth: Integers, classes: int) -> Floats64:
    """Weights of shape (classes - 1, features) against the last class, by Newton's method.

    Args:
        features: of shape (rows, features); the first is the intercept.
        truth: class of each row.
        classes: their number.
    """
    rows, width = features.shape
    free = classes - 1
    target = np.eye(classes)[truth][:, :free]
    penalty = np.tile(np.array([1e-3, *[PENALTY] * (width - 1)]), free)
    weights = np.zeros(free * width)

    def loss(values: Floats64) -> float:
        shares = _shares(features, values.reshape(free, width))
        return float(-np.log(shares[np.arange(rows), truth] + 1e-300).sum() + (penalty * values**2).sum() / 2)

    for _ in range(100):
        shares = _shares(features, weights.reshape(free, width))[:, :free]
        gradient = ((shares - target).T @ features).ravel() + penalty * weights
        curvature = shares[:, :, None] * (np.eye(free) - shares[:, None, :])
        hessian = np.einsum("ri,rab,rj->aibj", features, curvature, features, optimize=True)
        hessian = hessian.reshape(free * width, free * width) + np.diag(penalty)
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while size > 1e-6 and loss(weights - size * step) > loss(weights):
            size /= 2
        weights = weights - size * step
        if np.abs(step).max() < 1e-9:
            break
    return weights.reshape(free, width)


def _shares(features: Floats64, weights: Floats64) -> Floats64:
    scores = np.hstack([features @ weights.T, np.zeros((len(features), 1))])
    shares: Floats64 = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _classes(pairs: Sequence[LabelledPair], classes: Sequence[str]) -> tuple[Integers, dict[str, int]]:
    """The class of each row, and how often each occurs; a side that the reader does not return counts as the other."""
    other = next((side for side in classes if side != "supports"), "neither")
    names = [pair.side if pair.side in classes else other for pair in pairs]
    counts = {side: Counter(names)[side] for side in classes}
    claims = len({pair.claim for pair in pairs})
    if len(pairs) < LEAST_ROWS or min(counts.values()) < LEAST_PER_LABEL or claims < FOLDS:
        by_side = ", ".join(f"{count} {side}" for side, count in counts.items())
        raise UsageError(
            f"{len(pairs)} rows ({by_side}; different claims: {claims}) are too few to fit",
            where="--data",
            hint=f"at least {LEAST_ROWS} rows, {LEAST_PER_LABEL} of each label that the reader gives, {FOLDS} claims",
        )
    return np.array([classes.index(name) for name in names], np.int64), counts


def _temperature(reader: UserReader, pairs: Sequence[LabelledPair], truth: Integers, classes: Sequence[str]) -> float:
    """The temperature with the least log loss over single pairs, by golden-section search over its logarithm."""
    logits = reader.logits([(pair.claim, " ".join(pair.evidence)) for pair in pairs])

    def loss(power: float) -> float:
        read = [reader.entailment(windows, exp(power)) for windows in logits]
        shares = [getattr(entailment, classes[side]) for entailment, side in zip(read, truth, strict=True)]
        return -sum(log(max(share, 1e-6)) for share in shares)

    low, high, ratio = log(TEMPERATURES[0]), log(TEMPERATURES[1]), (5**0.5 - 1) / 2
    for _ in range(24):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    return round(exp((low + high) / 2), 4)


def _features(reader: UserReader, pairs: Sequence[LabelledPair], embedder: Embedder) -> Floats64:
    passages = Reader(embedder, reader)
    readings = [passages.read(pair.claim, tuple(Passage(text=text) for text in pair.evidence)) for pair in pairs]
    return np.array([reading.features for reading in readings], np.float64)


def _weights(fitted: Floats64, classes: Sequence[str]) -> Weights:
    """The aggregation's weights, whose reference is "neither", from weights against the last class."""
    rows = {side: np.zeros(fitted.shape[1]) for side in Entailment._fields}
    rows |= dict(zip(classes, fitted, strict=False))
    for side in rows.keys() - set(classes):
        rows[side][0] = -_NEVER
    supports, refutes = (rows[side] - rows["neither"] for side in ("supports", "refutes"))
    return Weights(*(tuple(round(float(value), 4) for value in row) for row in (supports, refutes)))


def _scores(features: Floats64, weights: Weights, classes: Sequence[str]) -> Floats64:
    """The probabilities of the classes, of shape (rows, classes)."""
    all_sides = _shares(features, np.array([weights.supports, weights.refutes]))
    shares = all_sides[:, [Entailment._fields.index(side) for side in classes]]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _folds(pairs: Sequence[LabelledPair]) -> Integers:
    """The fold of each row; the rows of a claim share one, so that no claim is both fitted and held out."""
    claims = {claim: place for place, claim in enumerate(dict.fromkeys(pair.claim for pair in pairs))}
    return np.array([claims[pair.claim] % FOLDS for pair in pairs], np.int64)


def _cross_validated(features: Floats64, truth: Integers, classes: Sequence[str], fold: Integers) -> dict[str, float]:
    shares = np.empty((len(truth), len(classes)))
    for held_out in range(FOLDS):
        train = fold != held_out
        weights = _weights(softmax_regression(features[train], truth[train], len(classes)), classes)
        shares[~train] = _scores(features[~train], weights, classes)
    return _quality(shares, truth)


def _quality(shares: Floats64, truth: Integers) -> dict[str, float]:
    loss = -np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-12)).mean()
    return {"log_loss": round(float(loss), 4), "accuracy": round(float((shares.argmax(axis=1) == truth).mean()), 4)}
