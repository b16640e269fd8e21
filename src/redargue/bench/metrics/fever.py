"""FEVER's metrics, as sheffieldnlp/fever-scorer@4801615 computes them.

The FEVER score is the share of claims with the right label and, unless the gold label is NOT ENOUGH INFO, one gold
group that lies whole among the first five predicted sentences. Evidence precision and recall are means over the
claims that have evidence: the share of a claim's predicted sentences that stand in any gold group (1 without a
prediction), and whether one group is covered. Where no claim has evidence this module says so; the script says
precision 1 and recall 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import Figure, harmonic, mean, same_length, undefined
from redargue.claims import Frozen

Element = tuple[str, str]
"""A document and which part of it, as ``GoldEvidence`` has them."""
Groups = Sequence[Sequence[Element]]
"""Gold groups of one claim: each alone is enough."""

NOT_ENOUGH = "NOT ENOUGH INFO"
LIMIT = 5


class EvidenceScores(Frozen):
    """Label and evidence together.

    Attributes:
        score: the data set's official score.
        accuracy: of the labels alone.
        precision: of the predicted evidence, a mean over claims.
        recall: likewise.
        f1: of the two means.
        items: for each claim whether it counts in ``score``; what intervals and paired tests are computed from.
    """

    score: Figure
    accuracy: Figure
    precision: Figure
    recall: Figure
    f1: Figure
    items: tuple[bool, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All of them, in the order of the official scripts' print."""
        return (self.score, self.accuracy, self.precision, self.recall, self.f1)


def covered(groups: Groups, predicted: Sequence[Element]) -> bool:
    """Whether one gold group lies whole among the predicted elements."""
    given = set(predicted)
    return any(given.issuperset(group) for group in groups)


def element_precision(groups: Groups, predicted: Sequence[Element]) -> float:
    """The share of predicted elements that stand in any gold group; 1 without a prediction."""
    gold = {element for group in groups for element in group}
    return sum(element in gold for element in predicted) / len(predicted) if predicted else 1.0


def joint(
    name: str,
    items: Sequence[bool],
    labels_right: Sequence[bool],
    evidence: Sequence[tuple[Groups, Sequence[Element]]],
) -> EvidenceScores:
    """Puts label and evidence together.

    Args:
        name: of the score.
        items: for each claim whether it counts in the score.
        labels_right: for each claim whether its label is right.
        evidence: gold groups and predicted elements of those claims whose evidence is measured.
    """
    empty = "no claim has gold evidence"
    precision = mean("evidence-precision", (element_precision(*each) for each in evidence), empty=empty)
    recall = mean("evidence-recall", (float(not each[0] or covered(*each)) for each in evidence), empty=empty)
    if precision.value is None or recall.value is None:
        f1 = undefined("evidence-f1", empty)
    else:
        f1 = Figure(name="evidence-f1", value=harmonic(precision.value, recall.value), n=precision.n)
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
        groups: gold groups of each claim; not read where the gold label is ``not_enough``.
        predicted: predicted (page, sentence) pairs of each claim, best first.
        not_enough: the label whose claims have no evidence.
        limit: only so many predicted sentences count; None for all.
    """
    same_length(gold=gold, said=said, groups=groups, predicted=predicted)
    cut = [each[:limit] for each in predicted]
    hits = [g == s for g, s in zip(gold, said, strict=True)]
    items = [
        hit and (label == not_enough or covered(group, given))
        for hit, label, group, given in zip(hits, gold, groups, cut, strict=True)
    ]
    measured = [(group, given) for label, group, given in zip(gold, groups, cut, strict=True) if label != not_enough]
    return joint("fever-score", items, hits, measured)
