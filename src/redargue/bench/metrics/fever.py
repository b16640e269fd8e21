"""The metrics of FEVER, FEVEROUS, HoVer and SciFact.

FEVER and FEVEROUS, as sheffieldnlp/fever-scorer@4801615 and Raldir/FEVEROUS@32b68ce compute them: the score is the
share of claims with the correct label and one whole gold group among the predicted elements that count. Evidence
precision and recall are means over the claims that have evidence: the share of predicted elements that are in any gold
group (1 without a prediction), and whether one group is covered. If no claim has evidence, they are undefined; FEVER's
script reports precision 1 and recall 0. FEVER requires no evidence for NOT ENOUGH INFO claims and leaves them out of
the means; FEVEROUS, whose elements are sentences and parts of tables, requires and counts it for all claims.

HoVer, as in the paper (Jiang et al. 2020, §5), because the repository (hover-nlp/hover@39b8469) has no script for it:
the score requires the correct label, and a retrieved supporting sentence from every supporting document. ``all-facts``
requires the label and every supporting fact; ``every-document`` ignores the label.

SciFact, as allenai/scifact@68b98a5 and its leaderboard's allenai/scifact-evaluator compute them: a predicted abstract
is correct if it is gold with that label (label only), and if its first three predicted sentences also include one whole
gold rationale (label and rationale). A predicted sentence is correct if it belongs to a gold rationale that was
predicted whole (selection), and if the abstract's label is also correct (selection and label). Counts are summed over
all claims before precision, recall and F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, OfficialScores, f1_score, mean, ratio, same_length, undefined
from redargue.bench.metrics.classification import Predictions, correct_items
from redargue.claims import Frozen
from redargue.errors import UsageError

Element = tuple[str, str]
"""A document and its part, as in ``GoldEvidence``."""
Groups = Sequence[Sequence[Element]]
"""Gold groups of one claim, each sufficient."""
Found = Sequence[Sequence[Element]]
"""The predicted elements of each claim, best first."""

NOT_ENOUGH = "NOT ENOUGH INFO"
_LIMIT, _CELL_LIMIT = 5, 25
_CELL_LIKE = ("cell_", "item_", "table_caption_", "header_cell_")


def _evidence_scores(
    name: str, gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found, not_enough: str = ""
) -> OfficialScores:
    """Scores of labels and evidence; F1 is computed from the mean precision and the mean recall."""
    same_length(gold=gold, predicted=predicted, groups=groups, predicted_evidence=found)
    empty = "no claim has gold evidence"
    hits = correct_items(gold, predicted)
    items, precisions, recalls = [], [], []
    for hit, label, of_claim, elements in zip(hits, gold, groups, found, strict=True):
        covered = any(set(elements).issuperset(group) for group in of_claim)
        items.append(hit and (label == not_enough or covered))
        if label != not_enough:
            relevant = {element for group in of_claim for element in group}
            precisions.append(sum(element in relevant for element in elements) / len(elements) if elements else 1.0)
            recalls.append(covered or not of_claim)
    precision = mean("evidence-precision", precisions, empty=empty)
    recall = mean("evidence-recall", recalls, empty=empty)
    f1 = undefined("evidence-f1", empty)
    if precision.value is not None and recall.value is not None:
        f1 = MetricValue(name="evidence-f1", value=f1_score(precision.value, recall.value), n=precision.n)
    figures = (mean(name, items), mean("label-accuracy", hits), precision, recall, f1)
    return OfficialScores(figures=figures, items=tuple(items))


def fever(
    gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found, not_enough: str = NOT_ENOUGH
) -> OfficialScores:
    """FEVER score, label accuracy, evidence precision, recall and F1; the first five (page, sentence) pairs count."""
    cut = [elements[:_LIMIT] for elements in found]
    return _evidence_scores("fever-score", gold, predicted, groups, cut, not_enough)


def limit_elements(found: Sequence[Element]) -> tuple[Element, ...]:
    """The elements that FEVEROUS counts: the first 25 cells, items, captions and header cells, and 5 of all others."""
    counted: list[Element] = []
    room = {True: _CELL_LIMIT, False: _LIMIT}
    for element in found:
        is_cell = element[1].startswith(_CELL_LIKE)
        if room[is_cell] > 0:
            room[is_cell] -= 1
            counted.append(element)
    return tuple(counted)


def feverous(gold: Sequence[str], predicted: Predictions, groups: Sequence[Groups], found: Found) -> OfficialScores:
    """FEVEROUS score, label accuracy, evidence precision, recall and F1; elements have names like ``cell_0_2_1``."""
    return _evidence_scores("feverous-score", gold, predicted, groups, list(map(limit_elements, found)))


def hover(gold: Sequence[str], predicted: Predictions, facts: Found, found: Found) -> OfficialScores:
    """HoVer score, label accuracy and scores of evidence; evidence consists of (title, sentence) pairs."""
    same_length(gold=gold, predicted=predicted, facts=facts, predicted_evidence=found)
    hits = correct_items(gold, predicted)
    missing = [set(needed).difference(elements) for needed, elements in zip(facts, found, strict=True)]
    documents = [
        {document for document, _ in needed} == {document for document, _ in set(needed) - lacking}
        for needed, lacking in zip(facts, missing, strict=True)
    ]
    items = tuple(hit and reached for hit, reached in zip(hits, documents, strict=True))
    all_facts = mean("all-facts", (hit and not lacking for hit, lacking in zip(hits, missing, strict=True)))
    figures = (mean("hover-score", items), mean("label-accuracy", hits), all_facts, mean("every-document", documents))
    return OfficialScores(figures=figures, items=items)


_MOST_RATIONALE_SENTENCES = 3


class GoldAbstract(Frozen):
    """A gold abstract of one claim, with its label and rationales, each sufficient."""

    document: str
    label: str
    rationales: tuple[tuple[str, ...], ...]


class PredictedAbstract(Frozen):
    """A predicted abstract of one claim; abstracts that say nothing about the claim are omitted."""

    document: str
    label: str
    sentences: tuple[str, ...] = ()


def scifact(
    gold: Sequence[Sequence[GoldAbstract]], predicted: Sequence[Sequence[PredictedAbstract]]
) -> dict[str, MetricValue]:
    """The 12 metrics by name, from the gold and predicted abstracts of each claim."""
    same_length(gold=gold, predicted=predicted)
    right: Counter[str] = Counter()
    for claim, (gold_abstracts, predicted_abstracts) in enumerate(zip(gold, predicted, strict=True), start=1):
        for side in (gold_abstracts, predicted_abstracts):
            if len({abstract.document for abstract in side}) < len(side):
                raise UsageError("an abstract is listed twice", where=f"claim {claim}", hint="merge its sentences")
        by_document = {abstract.document: abstract for abstract in gold_abstracts}
        for abstract in predicted_abstracts:
            truth = by_document.get(abstract.document)
            if truth is None:
                continue
            whole = (rationale for rationale in truth.rationales if set(abstract.sentences).issuperset(rationale))
            covered = len(set().union(*whole))
            right["selection"] += covered
            if abstract.label == truth.label:
                first = set(abstract.sentences[:_MOST_RATIONALE_SENTENCES])
                right["label"] += 1
                right["rationale"] += any(first.issuperset(rationale) for rationale in truth.rationales)
                right["both"] += covered
    abstracts = sum(map(len, predicted)), sum(map(len, gold))
    sentences = (
        sum(len(abstract.sentences) for of_claim in predicted for abstract in of_claim),
        sum(len(part) for of_claim in gold for abstract in of_claim for part in abstract.rationales),
    )
    nothing = "nothing was predicted and nothing is gold"
    figures = []
    for name, correct, retrieved, relevant in (
        ("abstract-label-only", right["label"], *abstracts),
        ("abstract-rationalized", right["rationale"], *abstracts),
        ("sentence-selection", right["selection"], *sentences),
        ("sentence-label", right["both"], *sentences),
    ):
        figures += [
            ratio(f"{name}-precision", correct, retrieved, empty="nothing was predicted"),
            ratio(f"{name}-recall", correct, relevant, empty="nothing is gold"),
            ratio(f"{name}-f1", 2 * correct, retrieved + relevant, empty=nothing),  # 2PR / (P + R)
        ]
    return {figure.name: figure for figure in figures}
