"""Accuracy, class F1, macro-F1, confusion, coverage, calibration, and three rules for non-answers.

A predicted label of None is a non-answer. How it counts changes published rankings (MERMAID's released runs: .601, .378
or .804 for the same file), so ``scores_by_rule`` computes all three. ``labels`` are all allowed labels, and ``over``
those whose F1 is averaged (None: all).

Calibration of confidences in [0, 1]: calibration error, Brier score, reliability, risk against coverage.

Responses (longer texts) are scored by their claims: ``response_accuracy`` asks whether all claims of a response
were labelled correctly, and ``factuality`` (FacTool, FELM) whether the response was correctly called factual, that is,
all its claims true. In all functions ``responses`` names the response of each claim.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import fmean
from typing import TypeVar

from redargue.bench.metrics import MetricValue, mean, ratio, require_known_labels, same_length, undefined
from redargue.claims import Frozen
from redargue.errors import UsageError

Predictions = Sequence[str | None]


class NonAnswers(StrEnum):
    """How an item without a predicted label counts."""

    WRONG = "wrong"
    DROPPED = "dropped"
    NEGATIVE = "negative"


class ClassScores(Frozen):
    """One class."""

    label: str
    support: int  # items with this gold label
    said: int  # items with this predicted label
    hits: int
    precision: MetricValue
    recall: MetricValue
    f1: MetricValue  # 2 hits / (support + said); 0 for a class without any (MERMAID's rule)


class Confusion(Frozen):
    """Counts by gold label (row) and predicted label (column), and non-answers by gold label."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unanswered: tuple[int, ...]

    @property
    def n(self) -> int:
        return sum(map(sum, self.counts)) + sum(self.unanswered)

    def support(self, at: int) -> int:
        """Items with a gold label."""
        return sum(self.counts[at]) + self.unanswered[at]

    def said(self, at: int) -> int:
        """Items with a predicted label."""
        return sum(row[at] for row in self.counts)


class RuleScores(Frozen):
    """Scores under one rule for non-answers."""

    rule: NonAnswers
    accuracy: MetricValue
    macro_f1: MetricValue
    classes: tuple[ClassScores, ...] = ()


def _bare(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" \t\n*_`\"'.,:;!?()[]{}").casefold()


def exact_match(gold: Sequence[str], predicted: Predictions) -> MetricValue:
    """The share of free-text answers that equal gold, ignoring case, spacing and surrounding punctuation."""
    same_length(gold=gold, predicted=predicted)
    pairs = zip(gold, predicted, strict=True)
    return mean("exact-match", (s is not None and _bare(g) == _bare(s) for g, s in pairs))


def correct_items(gold: Sequence[str], predicted: Predictions) -> tuple[bool, ...]:
    same_length(gold=gold, predicted=predicted)
    return tuple(g == s for g, s in zip(gold, predicted, strict=True))


def accuracy(gold: Sequence[str], predicted: Predictions) -> MetricValue:
    """The share of items with the correct label; a non-answer is wrong."""
    return mean("accuracy", correct_items(gold, predicted))


def coverage(predicted: Predictions) -> MetricValue:
    """The share of items with a predicted label."""
    return mean("coverage", (label is not None for label in predicted))


def confusion(gold: Sequence[str], predicted: Predictions, *, labels: Sequence[str]) -> Confusion:
    """Counts by gold and predicted label; refuses labels that are not among ``labels``."""
    same_length(gold=gold, predicted=predicted)
    require_known_labels(gold, among=labels, column="gold")
    require_known_labels([label for label in predicted if label is not None], among=labels, column="predicted labels")
    pairs = Counter(zip(gold, predicted, strict=True))
    return Confusion(
        labels=tuple(labels),
        counts=tuple(tuple(pairs[truth, label] for label in labels) for truth in labels),
        unanswered=tuple(pairs[truth, None] for truth in labels),
    )


def class_scores(matrix: Confusion) -> tuple[ClassScores, ...]:
    """Precision, recall and F1 of each class; a non-answer counts against its gold class's recall."""
    scores = []
    for at, label in enumerate(matrix.labels):
        hits, support, said = matrix.counts[at][at], matrix.support(at), matrix.said(at)
        precision = ratio("precision", hits, said, empty=f"{label!r} was never predicted")
        recall = ratio("recall", hits, support, empty=f"no item's gold label is {label!r}")
        f1 = MetricValue(name="f1", value=2 * hits / ((support + said) or 1), n=matrix.n)
        counts = {"support": support, "said": said, "hits": hits}
        scores.append(ClassScores(label=label, **counts, precision=precision, recall=recall, f1=f1))
    return tuple(scores)


def macro_f1(
    gold: Sequence[str], predicted: Predictions, *, labels: Sequence[str], over: Sequence[str] | None = None
) -> MetricValue:
    """The unweighted mean of F1 over classes; a class without gold or predicted items counts 0."""
    matrix = confusion(gold, predicted, labels=labels)
    if not matrix.n:
        return undefined("macro-f1", "no items")
    averaged = set(labels if over is None else over)
    f1s = (score.f1.value or 0.0 for score in class_scores(matrix) if score.label in averaged)
    return mean("macro-f1", f1s, empty="no labels").model_copy(update={"n": matrix.n})


def apply_rule(
    rule: NonAnswers, gold: Sequence[str], predicted: Predictions, *, negative: str | None = None
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Gold and predicted labels after one rule; ``negative`` replaces non-answers under ``NonAnswers.NEGATIVE``."""
    same_length(gold=gold, predicted=predicted)
    if rule is NonAnswers.DROPPED:
        answered = [(g, s) for g, s in zip(gold, predicted, strict=True) if s is not None]
        return tuple(g for g, _ in answered), tuple(s for _, s in answered)
    if rule is NonAnswers.NEGATIVE:
        if negative is None:
            raise UsageError("no negative label to replace non-answers", hint="give negative=…")
        return tuple(gold), tuple(negative if label is None else label for label in predicted)
    return tuple(gold), tuple(predicted)


def scores_by_rule(
    gold: Sequence[str],
    predicted: Predictions,
    *,
    labels: Sequence[str],
    negative: str | None,
    over: Sequence[str] | None = None,
) -> tuple[RuleScores, ...]:
    """Accuracy and F1 with non-answers counted wrong, dropped, and replaced by ``negative`` (undefined without it)."""

    def scores(rule: NonAnswers) -> RuleScores:
        if rule is NonAnswers.NEGATIVE and negative is None:
            reason = "these labels have no negative one"
            return RuleScores(rule=rule, accuracy=undefined("accuracy", reason), macro_f1=undefined("macro-f1", reason))
        truths, answers = apply_rule(rule, gold, predicted, negative=negative)
        return RuleScores(
            rule=rule,
            accuracy=accuracy(truths, answers),
            macro_f1=macro_f1(truths, answers, labels=labels, over=over),
            classes=class_scores(confusion(truths, answers, labels=labels)),
        )

    return tuple(map(scores, NonAnswers))


class Binary(Frozen):
    """A two-class confusion matrix: true and false positives and negatives."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def accuracy(self) -> float:
        return (self.tp + self.tn) / (self.tp + self.fp + self.fn + self.tn)


_BINS = 10
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
    """One point of a risk–coverage curve."""

    threshold: float  # lowest confidence of the kept answers
    coverage: float  # share of answers that are kept
    risk: float  # share of kept answers that are wrong


def _checked(confidence: Sequence[float], right: Sequence[bool]) -> None:
    same_length(confidence=confidence, right=right)
    for row, value in enumerate(confidence, start=1):
        if not 0 <= value <= 1:  # also true of NaN
            raise UsageError(f"confidence {value!r} is not in [0, 1]", where=f"item {row}")


def reliability(confidence: Sequence[float], right: Sequence[bool]) -> tuple[Bin, ...]:
    """Bins of equal width."""
    _checked(confidence, right)
    edges = [at / _BINS for at in range(_BINS + 1)]
    by_bin: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for value, hit in zip(confidence, right, strict=True):
        by_bin[max(0, bisect_left(edges, value) - 1)].append((value, hit))
    return tuple(
        Bin(
            low=low,
            high=high,
            n=len(answers),
            confidence=fmean(value for value, _ in answers) if answers else None,
            accuracy=fmean(hit for _, hit in answers) if answers else None,
        )
        for (low, high), answers in zip(pairwise(edges), by_bin, strict=True)
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


_T = TypeVar("_T")


class Factuality(Frozen):
    """Responses called factual against those that are; factual is the positive class."""

    counts: Binary  # responses by truth and call; a response without a call counts as an error
    accuracy: MetricValue
    precision: MetricValue
    recall: MetricValue
    f1: MetricValue
    coverage: MetricValue  # responses with a call: one false claim, or labels for all claims


def by_response(responses: Sequence[str], values: Sequence[_T]) -> dict[str, list[_T]]:
    """The values of each response's claims, responses in order of their first claim."""
    same_length(responses=responses, values=values)
    groups: dict[str, list[_T]] = {}
    for response, value in zip(responses, values, strict=True):
        groups.setdefault(response, []).append(value)
    return groups


def response_accuracy(responses: Sequence[str], right: Sequence[bool]) -> MetricValue:
    """The share of responses all of whose claims are ``right``."""
    groups = by_response(responses, right)
    return mean("response-accuracy", map(all, groups.values()), empty="no responses")


def response_call(claims: Sequence[bool | None]) -> bool | None:
    """The call of a response: false if any claim is, true if all are, otherwise None."""
    return False if False in claims else None if None in claims else True


def factuality(responses: Sequence[str], gold: Sequence[bool], predicted: Sequence[bool | None]) -> Factuality:
    """Response-level scores from each claim's truth and the label it got (None for a non-answer)."""
    same_length(responses=responses, gold=gold, predicted=predicted)
    truths = [all(claims) for claims in by_response(responses, gold).values()]
    calls = [response_call(claims) for claims in by_response(responses, predicted).values()]
    both = list(zip(truths, calls, strict=True))
    counts = Binary(
        tp=both.count((True, True)),
        fp=both.count((False, True)) + both.count((False, None)),
        fn=both.count((True, False)) + both.count((True, None)),
        tn=both.count((False, False)),
    )
    n, answered = len(truths), calls.count(True)
    f1 = 2 * counts.tp / (answered + sum(truths)) if answered + sum(truths) else 0.0
    empty = "no responses"
    return Factuality(
        counts=counts,
        accuracy=ratio("response-factuality-accuracy", counts.tp + counts.tn, n, empty=empty),
        precision=ratio("precision", counts.tp, answered, empty="no response was called factual"),
        recall=ratio("recall", counts.tp, sum(truths), empty="no response is factual"),
        f1=MetricValue(name="f1", value=f1, n=n),
        coverage=ratio("response-coverage", n - calls.count(None), n, empty=empty),
    )
