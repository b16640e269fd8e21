"""FEVER's and FEVEROUS's metrics, as sheffieldnlp/fever-scorer@4801615 and Raldir/FEVEROUS@32b68ce compute them.

The score is the share of claims with the correct label and one whole gold group among the predicted elements that
count. Evidence precision and recall are means over the claims that have evidence: the share of predicted elements that
are in any gold group (1 without a prediction), and whether one group is covered. If no claim has evidence, they are
undefined; FEVER's script reports precision 1 and recall 0.

FEVER needs no evidence for NOT ENOUGH INFO claims and leaves them out of the means; FEVEROUS, whose elements are
sentences and parts of tables, needs and counts it for all claims.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, OfficialScores, f1_score, mean, same_length, undefined
from redargue.bench.metrics.classification import correct_items

Element = tuple[str, str]
"""A document and its part, as in ``GoldEvidence``."""
Groups = Sequence[Sequence[Element]]
"""Gold groups of one claim, each sufficient."""

NOT_ENOUGH = "NOT ENOUGH INFO"
LIMIT = 5
CELL_LIMIT = 25
_CELL_LIKE = ("cell_", "item_", "table_caption_", "header_cell_")


def _evidence_scores(
    name: str,
    gold: Sequence[str],
    predicted: Sequence[str | None],
    groups: Sequence[Groups],
    predicted_evidence: Sequence[Sequence[Element]],
    *,
    not_enough: str | None = None,
) -> OfficialScores:
    """Scores of labels and of evidence; F1 is that of the mean precision and the mean recall."""
    same_length(gold=gold, predicted=predicted, groups=groups, predicted_evidence=predicted_evidence)
    empty = "no claim has gold evidence"
    hits = correct_items(gold, predicted)
    covered = [
        any(set(elements).issuperset(group) for group in of_claim)
        for of_claim, elements in zip(groups, predicted_evidence, strict=True)
    ]
    items = tuple(hit and (label == not_enough or cover) for hit, label, cover in zip(hits, gold, covered, strict=True))
    precisions, recalls = [], []
    for label, of_claim, elements, cover in zip(gold, groups, predicted_evidence, covered, strict=True):
        if label != not_enough:
            relevant = {element for group in of_claim for element in group}
            precisions.append(sum(element in relevant for element in elements) / len(elements) if elements else 1.0)
            recalls.append(cover or not of_claim)
    precision = mean("evidence-precision", precisions, empty=empty)
    recall = mean("evidence-recall", recalls, empty=empty)
    if precision.value is None or recall.value is None:
        f1 = undefined("evidence-f1", empty)
    else:
        f1 = MetricValue(name="evidence-f1", value=f1_score(precision.value, recall.value), n=precision.n)
    return OfficialScores(
        figures=(mean(name, items), mean("label-accuracy", hits), precision, recall, f1),
        items=items,
    )


def fever(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    groups: Sequence[Groups],
    predicted_evidence: Sequence[Sequence[Element]],
    *,
    not_enough: str = NOT_ENOUGH,
    limit: int | None = LIMIT,
) -> OfficialScores:
    """FEVER score, label accuracy, evidence precision, recall and F1.

    ``predicted_evidence`` lists the (page, sentence) pairs of each claim, best first;
    ``limit`` of them count (None: all).
    """
    cut = [elements[:limit] for elements in predicted_evidence]
    return _evidence_scores("fever-score", gold, predicted, groups, cut, not_enough=not_enough)


def limit_elements(predicted_evidence: Sequence[Element]) -> tuple[Element, ...]:
    """The elements that FEVEROUS counts: the first 25 cells, items, captions and header cells, and 5 of all others."""
    counted: list[Element] = []
    room = {True: CELL_LIMIT, False: LIMIT}
    for element in predicted_evidence:
        is_cell = element[1].startswith(_CELL_LIKE)
        if room[is_cell] > 0:
            room[is_cell] -= 1
            counted.append(element)
    return tuple(counted)


def feverous(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    groups: Sequence[Groups],
    predicted_evidence: Sequence[Sequence[Element]],
) -> OfficialScores:
    """FEVEROUS score, label accuracy, evidence precision, recall and F1; elements have names like ``cell_0_2_1``."""
    return _evidence_scores("feverous-score", gold, predicted, groups, list(map(limit_elements, predicted_evidence)))
