"""FEVER's metrics, as sheffieldnlp/fever-scorer@4801615 computes them.

The FEVER score is the share of claims with the correct label and, unless the gold label is NOT ENOUGH INFO, one whole
gold group among the first five predicted sentences. Evidence precision and recall are means over the claims that have
evidence: the share of predicted sentences that are in any gold group (1 without a prediction), and whether one group is
covered. If no claim has evidence, they are undefined; the script reports precision 1 and recall 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, f1_score, mean, same_length, undefined
from redargue.claims import Frozen

Element = tuple[str, str]
"""A document and its part, as in ``GoldEvidence``."""
Groups = Sequence[Sequence[Element]]
"""Gold groups of one claim, each sufficient."""

NOT_ENOUGH = "NOT ENOUGH INFO"
LIMIT = 5


class EvidenceScores(Frozen):
    """Scores of labels and evidence.

    Attributes:
        score: the data set's official score.
        precision: of the predicted evidence, a mean over claims.
        recall: likewise a mean over claims.
        f1: of the two means.
        items: for each claim, whether it counts in ``score``.
    """

    score: MetricValue
    accuracy: MetricValue
    precision: MetricValue
    recall: MetricValue
    f1: MetricValue
    items: tuple[bool, ...]

    @property
    def figures(self) -> tuple[MetricValue, ...]:
        return (self.score, self.accuracy, self.precision, self.recall, self.f1)


def covered(groups: Groups, predicted: Sequence[Element]) -> bool:
    """Whether the predicted elements include one whole gold group."""
    return any(set(predicted).issuperset(group) for group in groups)


def element_precision(groups: Groups, predicted: Sequence[Element]) -> float:
    """The share of predicted elements that are in any gold group; 1 without a prediction."""
    gold = {element for group in groups for element in group}
    return sum(element in gold for element in predicted) / len(predicted) if predicted else 1.0


def evidence_scores(
    name: str,
    items: Sequence[bool],
    labels_right: Sequence[bool],
    evidence: Sequence[tuple[Groups, Sequence[Element]]],
) -> EvidenceScores:
    """Scores from each claim's success, label correctness, and the evidence of the claims where it is measured."""
    empty = "no claim has gold evidence"
    precision = mean("evidence-precision", (element_precision(*claim) for claim in evidence), empty=empty)
    recall = mean("evidence-recall", (float(not claim[0] or covered(*claim)) for claim in evidence), empty=empty)
    if precision.value is None or recall.value is None:
        f1 = undefined("evidence-f1", empty)
    else:
        f1 = MetricValue(name="evidence-f1", value=f1_score(precision.value, recall.value), n=precision.n)
    return EvidenceScores(
        score=mean(name, map(float, items)),
        accuracy=mean("label-accuracy", map(float, labels_right)),
        precision=precision,
        recall=recall,
        f1=f1,
        items=tuple(items),
    )


def fever(
    gold: Sequence[str],
    said: Sequence[str | None],
    groups: Sequence[Groups],
    predicted: Sequence[Sequence[Element]],
    *,
    not_enough: str = NOT_ENOUGH,
    limit: int | None = LIMIT,
) -> EvidenceScores:
    """FEVER score, label accuracy, evidence precision, recall and F1.

    Args:
        gold: gold labels.
        said: predicted labels; None is wrong.
        groups: gold groups of each claim; ignored if the gold label is ``not_enough``.
        predicted: predicted (page, sentence) pairs of each claim, best first.
        not_enough: the label of claims without evidence.
        limit: number of predicted sentences that count; None for all.
    """
    same_length(gold=gold, said=said, groups=groups, predicted=predicted)
    cut = [elements[:limit] for elements in predicted]
    hits = [g == s for g, s in zip(gold, said, strict=True)]
    items = [
        hit and (label == not_enough or covered(group, given))
        for hit, label, group, given in zip(hits, gold, groups, cut, strict=True)
    ]
    measured = [(group, given) for label, group, given in zip(gold, groups, cut, strict=True) if label != not_enough]
    return evidence_scores("fever-score", items, hits, measured)
