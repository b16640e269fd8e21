"""HoVer's metrics.

The repository (hover-nlp/hover@39b8469) has no script for the HoVer score; it is computed as in the paper (Jiang et al.
2020, §5): the correct label and at least one supporting sentence retrieved from every supporting document. A stricter
score (``all-facts``) also requires every supporting fact; ``every-document`` ignores the label.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import OfficialScores, mean, same_length
from redargue.bench.metrics.classification import correct_items
from redargue.bench.metrics.fever import Element


def hover(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    facts: Sequence[Sequence[Element]],
    predicted_evidence: Sequence[Sequence[Element]],
) -> OfficialScores:
    """Scores from labels and (title, sentence) pairs of each claim."""
    same_length(gold=gold, predicted=predicted, facts=facts, predicted_evidence=predicted_evidence)
    hits = correct_items(gold, predicted)
    missing = [set(needed).difference(elements) for needed, elements in zip(facts, predicted_evidence, strict=True)]
    documents = [
        {document for document, _ in needed} == {document for document, _ in set(needed) - lacking}
        for needed, lacking in zip(facts, missing, strict=True)
    ]
    items = tuple(hit and reached for hit, reached in zip(hits, documents, strict=True))
    all_facts = mean("all-facts", (hit and not lacking for hit, lacking in zip(hits, missing, strict=True)))
    figures = (mean("hover-score", items), mean("label-accuracy", hits), all_facts, mean("every-document", documents))
    return OfficialScores(figures=figures, items=items)
