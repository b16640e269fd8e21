"""SciFact's metrics, as allenai/scifact@68b98a5 and its leaderboard's allenai/scifact-evaluator compute them.

Abstract level: a predicted abstract is correct if it is gold with that label (label only), and if in addition its first
three predicted sentences include one whole gold rationale (label and rationale). Sentence level: a predicted sentence
is correct if it belongs to a gold rationale that was predicted whole (selection), and if in addition the abstract's
label is correct (selection and label). Counts are summed over all claims before precision, recall and F1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, ratio, same_length
from redargue.claims import Frozen
from redargue.errors import UsageError

_SENTENCES = 3


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
                first = set(abstract.sentences[:_SENTENCES])
                right["label"] += 1
                right["rationale"] += any(first.issuperset(rationale) for rationale in truth.rationales)
                right["both"] += covered
    abstracts = sum(map(len, predicted)), sum(map(len, gold))
    sentences = (
        sum(len(abstract.sentences) for of_claim in predicted for abstract in of_claim),
        sum(len(part) for of_claim in gold for abstract in of_claim for part in abstract.rationales),
    )
    figures = []
    for name, correct, retrieved, relevant in (
        ("abstract-label-only", right["label"], *abstracts),
        ("abstract-rationalized", right["rationale"], *abstracts),
        ("sentence-selection", right["selection"], *sentences),
        ("sentence-label", right["both"], *sentences),
    ):
        nothing = "nothing was predicted and nothing is gold"
        figures += [
            ratio(f"{name}-precision", correct, retrieved, empty="nothing was predicted"),
            ratio(f"{name}-recall", correct, relevant, empty="nothing is gold"),
            ratio(f"{name}-f1", 2 * correct, retrieved + relevant, empty=nothing),  # 2PR / (P + R)
        ]
    return {figure.name: figure for figure in figures}
