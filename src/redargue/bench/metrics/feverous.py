"""FEVEROUS's metrics, as Raldir/FEVEROUS@32b68ce computes them.

They are FEVER's with sentences and parts of tables as evidence, each with a limit; NOT ENOUGH INFO claims have gold
evidence too, which must be covered, and they count in precision and recall.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import same_length
from redargue.bench.metrics.fever import Element, EvidenceScores, Groups, covered, evidence_scores

SENTENCES = 5
CELLS = 25
_CELL_LIKE = ("cell_", "item_", "table_caption_", "header_cell_")


def limit_elements(
    predicted: Sequence[Element], *, sentences: int = SENTENCES, cells: int = CELLS
) -> tuple[Element, ...]:
    """The first elements in order: cells, items, captions and header cells share one limit, all others the other."""
    kept: list[Element] = []
    room = {True: cells, False: sentences}
    for element in predicted:
        kind = element[1].startswith(_CELL_LIKE)
        if room[kind] > 0:
            room[kind] -= 1
            kept.append(element)
    return tuple(kept)


def feverous(
    gold: Sequence[str],
    said: Sequence[str | None],
    groups: Sequence[Groups],
    predicted: Sequence[Sequence[Element]],
    *,
    sentences: int = SENTENCES,
    cells: int = CELLS,
) -> EvidenceScores:
    """FEVEROUS score, label accuracy, evidence precision, recall and F1; elements have names like ``cell_0_2_1``."""
    same_length(gold=gold, said=said, groups=groups, predicted=predicted)
    cut = [limit_elements(elements, sentences=sentences, cells=cells) for elements in predicted]
    hits = [g == s for g, s in zip(gold, said, strict=True)]
    items = [hit and covered(group, given) for hit, group, given in zip(hits, groups, cut, strict=True)]
    return evidence_scores("feverous-score", items, hits, list(zip(groups, cut, strict=True)))
