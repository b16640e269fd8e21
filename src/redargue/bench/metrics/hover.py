"""HoVer's metrics.

The repository (hover-nlp/hover@39b8469) has no script for the HoVer score; it is computed as in the paper (Jiang et al.
2020, §5): the correct label and at least one supporting sentence retrieved from every supporting document. A stricter
score also requires every supporting fact.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, mean, same_length
from redargue.bench.metrics.fever import Element
from redargue.claims import Frozen


class HoverScores(Frozen):
    """HoVer's figures.

    Attributes:
        all_facts: share of claims with the correct label and every supporting sentence.
        documents: share of claims with a supporting sentence of every supporting document, whatever the label.
        items: for each claim, whether it counts in ``score``.
    """

    score: MetricValue
    accuracy: MetricValue
    all_facts: MetricValue
    documents: MetricValue
    items: tuple[bool, ...]

    @property
    def figures(self) -> tuple[MetricValue, ...]:
        return (self.score, self.accuracy, self.all_facts, self.documents)


def covers_documents(facts: Sequence[Element], predicted: Sequence[Element]) -> bool:
    """Whether a supporting sentence of every supporting document was retrieved."""
    found = {document for document, _ in set(facts) & set(predicted)}
    return found == {document for document, _ in facts}


def hover(
    gold: Sequence[str],
    said: Sequence[str | None],
    facts: Sequence[Sequence[Element]],
    predicted: Sequence[Sequence[Element]],
) -> HoverScores:
    """HoVer score and label accuracy, from labels and (title, sentence) pairs of each claim."""
    same_length(gold=gold, said=said, facts=facts, predicted=predicted)
    hits = [g == s for g, s in zip(gold, said, strict=True)]
    found = [covers_documents(*pair) for pair in zip(facts, predicted, strict=True)]
    whole = [set(given).issuperset(fact) for fact, given in zip(facts, predicted, strict=True)]
    items = tuple(hit and reached for hit, reached in zip(hits, found, strict=True))
    return HoverScores(
        score=mean("hover-score", map(float, items)),
        accuracy=mean("label-accuracy", map(float, hits)),
        all_facts=mean("all-facts", (float(hit and full) for hit, full in zip(hits, whole, strict=True))),
        documents=mean("every-document", map(float, found)),
        items=items,
    )
