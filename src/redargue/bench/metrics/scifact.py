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

SENTENCES = 3


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


class Level(Frozen):
    """Precision, recall and F1 at one level."""

    precision: MetricValue
    recall: MetricValue
    f1: MetricValue


class SciFactScores(Frozen):
    """The leaderboard's four levels."""

    abstract_label: Level
    abstract_rationale: Level
    sentence_selection: Level
    sentence_label: Level

    @property
    def figures(self) -> tuple[MetricValue, ...]:
        """F1 of the four levels."""
        return tuple(level.f1 for _, level in self)


def _level(name: str, correct: int, retrieved: int, relevant: int) -> Level:
    nothing = "nothing was predicted and nothing is gold"
    return Level(
        precision=ratio(f"{name}-precision", correct, retrieved, empty="nothing was predicted"),
        recall=ratio(f"{name}-recall", correct, relevant, empty="nothing is gold"),
        f1=ratio(f"{name}-f1", 2 * correct, retrieved + relevant, empty=nothing),  # 2PR / (P + R)
    )


def scifact(gold: Sequence[Sequence[GoldAbstract]], said: Sequence[Sequence[PredictedAbstract]]) -> SciFactScores:
    """F1 of abstracts and of sentences, from the gold and predicted abstracts of each claim."""
    same_length(gold=gold, said=said)
    right: Counter[str] = Counter()
    for claim, (gold_abstracts, said_abstracts) in enumerate(zip(gold, said, strict=True), start=1):
        for side in (gold_abstracts, said_abstracts):
            if len({abstract.document for abstract in side}) < len(side):
                raise UsageError("an abstract is listed twice", where=f"claim {claim}", hint="merge its sentences")
        by_document = {abstract.document: abstract for abstract in gold_abstracts}
        for abstract in said_abstracts:
            truth = by_document.get(abstract.document)
            if truth is None:
                continue
            whole = (rationale for rationale in truth.rationales if set(abstract.sentences).issuperset(rationale))
            sentences = len(set().union(*whole))
            right["selection"] += sentences
            if abstract.label == truth.label:
                first = set(abstract.sentences[:SENTENCES])
                right["label"] += 1
                right["rationale"] += any(first.issuperset(rationale) for rationale in truth.rationales)
                right["both"] += sentences
    abstracts = sum(map(len, said)), sum(map(len, gold))
    sentences_said = sum(len(abstract.sentences) for claim_said in said for abstract in claim_said)
    sentences_gold = sum(len(part) for claim_gold in gold for abstract in claim_gold for part in abstract.rationales)
    return SciFactScores(
        abstract_label=_level("abstract-label-only", right["label"], *abstracts),
        abstract_rationale=_level("abstract-rationalized", right["rationale"], *abstracts),
        sentence_selection=_level("sentence-selection", right["selection"], sentences_said, sentences_gold),
        sentence_label=_level("sentence-label", right["both"], sentences_said, sentences_gold),
    )
