"""Labels against gold labels: accuracy, class F1, macro-F1, confusion, coverage, and the three rules for non-answers.

A predicted label of None is a non-answer: it equals nothing. How it counts changes published rankings (MERMAID's
released runs: .601, .378 or .804 for the same file), so ``three_rules`` gives all three and coverage beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from redargue.bench.metrics.base import Figure, known, mean, ratio, same_length, undefined
from redargue.claims import Frozen
from redargue.errors import UsageError

Said = Sequence[str | None]


class NonAnswers(StrEnum):
    """How an item without a predicted label counts."""

    WRONG = "wrong"
    DROPPED = "dropped"
    NEGATIVE = "negative"


class ClassScores(Frozen):
    """One class.

    Attributes:
        label: the class.
        support: items whose gold label it is.
        said: items for which it was predicted.
        hits: items where both hold.
        precision: undefined where it was never predicted.
        recall: undefined where it is nobody's gold label.
        f1: 2 hits / (support + said); 0 for a class without any (MERMAID's rule).
    """

    label: str
    support: int
    said: int
    hits: int
    precision: Figure
    recall: Figure
    f1: Figure


class Confusion(Frozen):
    """Counts by gold label (row) and predicted label (column).

    Attributes:
        labels: of rows and columns, in order.
        counts: one row a gold label.
        unanswered: items of each row without a predicted label.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unanswered: tuple[int, ...]

    @property
    def n(self) -> int:
        """All items."""
        return sum(map(sum, self.counts)) + sum(self.unanswered)


class RuleScores(Frozen):
    """What one rule for non-answers gives."""

    rule: NonAnswers
    accuracy: Figure
    macro_f1: Figure
    classes: tuple[ClassScores, ...] = ()


def _bare(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" \t\n*_`\"'.,:;!?()[]{}").casefold()


def exact_match(gold: Sequence[str], said: Said) -> Figure:
    """The share of answers whose text equals gold but for case, spaces and the punctuation around it.

    For free text; for labels use ``accuracy``.
    """
    same_length(gold=gold, said=said)
    pairs = zip(gold, said, strict=True)
    return mean("exact-match", (float(s is not None and _bare(g) == _bare(s)) for g, s in pairs))


def right(gold: Sequence[str], said: Said) -> tuple[bool, ...]:
    """For each item whether the predicted label is the gold label."""
    same_length(gold=gold, said=said)
    return tuple(g == s for g, s in zip(gold, said, strict=True))


def accuracy(gold: Sequence[str], said: Said) -> Figure:
    """The share of items whose predicted label is the gold label; a non-answer is wrong."""
    return mean("accuracy", map(float, right(gold, said)))


def coverage(said: Said) -> Figure:
    """The share of items with a predicted label."""
    return mean("coverage", (float(label is not None) for label in said))


def confusion(gold: Sequence[str], said: Said, *, labels: Sequence[str]) -> Confusion:
    """Counts by gold and predicted label.

    Raises:
        UsageError: a label that is not among ``labels``.
    """
    same_length(gold=gold, said=said)
    known(gold, among=labels, column="gold")
    known([label for label in said if label is not None], among=labels, column="predicted labels")
    place = {label: at for at, label in enumerate(labels)}
    counts = [[0] * len(labels) for _ in labels]
    unanswered = [0] * len(labels)
    for g, s in zip(gold, said, strict=True):
        if s is None:
            unanswered[place[g]] += 1
        else:
            counts[place[g]][place[s]] += 1
    return Confusion(labels=tuple(labels), counts=tuple(map(tuple, counts)), unanswered=tuple(unanswered))


def class_scores(matrix: Confusion) -> tuple[ClassScores, ...]:
    """Precision, recall and F1 of each class; a non-answer counts against its gold class's recall."""
    scores = []
    for at, label in enumerate(matrix.labels):
        hits = matrix.counts[at][at]
        support = sum(matrix.counts[at]) + matrix.unanswered[at]
        said = sum(row[at] for row in matrix.counts)
        both = support + said
        scores.append(
            ClassScores(
                label=label,
                support=support,
                said=said,
                hits=hits,
                precision=ratio("precision", hits, said, empty=f"{label!r} was never predicted"),
                recall=ratio("recall", hits, support, empty=f"no item's gold label is {label!r}"),
                f1=Figure(name="f1", value=2 * hits / both if both else 0.0, n=matrix.n),
            )
        )
    return tuple(scores)


def macro_f1(gold: Sequence[str], said: Said, *, labels: Sequence[str], over: Sequence[str] | None = None) -> Figure:
    """The unweighted mean of F1 over classes; a class that nobody has and nobody predicts counts 0.

    Args:
        gold: gold labels.
        said: predicted labels or None.
        labels: all labels that may stand there.
        over: those whose F1 is averaged; all of them if None.
    """
    matrix = confusion(gold, said, labels=labels)
    if not matrix.n:
        return undefined("macro-f1", "no items")
    averaged = set(labels if over is None else over)
    each = (score.f1.value or 0.0 for score in class_scores(matrix) if score.label in averaged)
    scores = mean("macro-f1", each, empty="no labels")
    return scores.model_copy(update={"n": matrix.n})


def under(
    rule: NonAnswers, gold: Sequence[str], said: Said, *, negative: str | None = None
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Gold and predicted labels as one rule sees them.

    Args:
        rule: the rule.
        gold: gold labels.
        said: predicted labels or None.
        negative: the label that ``NonAnswers.NEGATIVE`` puts in a non-answer's place.

    Raises:
        UsageError: that rule without a negative label.
    """
    same_length(gold=gold, said=said)
    if rule is NonAnswers.DROPPED:
        kept = [(g, s) for g, s in zip(gold, said, strict=True) if s is not None]
        return tuple(g for g, _ in kept), tuple(s for _, s in kept)
    if rule is NonAnswers.NEGATIVE:
        if negative is None:
            raise UsageError("no negative label to put in a non-answer's place", hint="give negative=…")
        return tuple(gold), tuple(negative if label is None else label for label in said)
    return tuple(gold), tuple(said)


def three_rules(
    gold: Sequence[str],
    said: Said,
    *,
    labels: Sequence[str],
    negative: str | None,
    over: Sequence[str] | None = None,
) -> tuple[RuleScores, ...]:
    """Accuracy and F1 under each rule: counted wrong, dropped, taken for the negative label.

    Args:
        gold: gold labels.
        said: predicted labels or None.
        labels: all labels that may stand there.
        negative: the label for the last rule, which is undefined without one.
        over: labels whose F1 is averaged; all of them if None.
    """
    rows = []
    for rule in NonAnswers:
        if rule is NonAnswers.NEGATIVE and negative is None:
            reason = "these labels have no negative one"
            blank = undefined("accuracy", reason), undefined("macro-f1", reason)
            rows.append(RuleScores(rule=rule, accuracy=blank[0], macro_f1=blank[1]))
            continue
        seen, answered = under(rule, gold, said, negative=negative)
        rows.append(
            RuleScores(
                rule=rule,
                accuracy=accuracy(seen, answered),
                macro_f1=macro_f1(seen, answered, labels=labels, over=over),
                classes=class_scores(confusion(seen, answered, labels=labels)),
            )
        )
    return tuple(rows)


class Binary(Frozen):
    """A two-class confusion matrix: true and false positives and negatives."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def accuracy(self) -> float:
        """The share of right items."""
        return (self.tp + self.tn) / (self.tp + self.fp + self.fn + self.tn)


def reconstruct(*, positives: int, negatives: int, precision: float, recall: float, digits: int = 4) -> Binary:
    """The counts behind a printed precision and recall.

    Args:
        positives: items whose gold label is the positive one.
        negatives: the others.
        precision: as printed, in [0, 1].
        recall: likewise.
        digits: decimals to which both were printed (a per cent with two decimals has four).

    Raises:
        UsageError: no whole counts give these figures; the print, the class balance or the labels are not as assumed.
    """
    tp = round(recall * positives)
    fp = round(tp / precision) - tp if precision else 0
    near = 0.51 * 10**-digits
    found = tp + fp and abs(tp / positives - recall) <= near and abs(tp / (tp + fp) - precision) <= near
    if not found or not 0 <= fp <= negatives:
        raise UsageError(
            f"no whole counts of {positives} positives and {negatives} negatives give "
            f"precision {precision} and recall {recall}",
            hint="check the class balance and which class is the positive one",
        )
    return Binary(tp=tp, fp=fp, fn=positives - tp, tn=negatives - fp)
