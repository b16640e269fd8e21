"""FEVEROUS's metrics, as Raldir/FEVEROUS@32b68ce computes them.

As FEVER's, but the evidence is sentences and parts of tables, with a limit for each; NOT ENOUGH INFO claims have gold
evidence too, so they need it covered like any other, and they count in precision and recall.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.metrics.base import same_length
from redargue.bench.metrics.fever import Element, EvidenceScores, Groups, covered, joint

SENTENCES = 5
CELLS = 25
_CELL_LIKE = ("cell_", "item_", "table_caption_", "header_cell_")


def within(predicted: Sequence[Element], *, sentences: int = SENTENCES, cells: int = CELLS) -> tuple[Element, ...]:
    """The first so many sentences and the first so many cells, in order.

    Cells, items, table captions and header cells share one limit; all else (sentences, titles, sections) the other.
    """
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
    """FEVEROUS score, label accuracy, evidence precision, recall and F1.

    Args:
        gold: gold labels.
        said: predicted labels; None is wrong.
        groups: gold groups of each claim, elements as the data set names them (``("Aveley F.C.", "cell_0_2_1")``).
        predicted: predicted elements of each claim, best first.
        sentences: only so many predicted sentences count.
        cells: only so many predicted cells count.
    """
    same_length(gold=gold, said=said, groups=groups, predicted=predicted)
    cut = [within(each, sentences=sentences, cells=cells) for each in predicted]
    hits = [g == s for g, s in zip(gold, said, strict=True)]
    items = [hit and covered(group, given) for hit, group, given in zip(hits, groups, cut, strict=True)]
    return joint("feverous-score", items, hits, list(zip(groups, cut, strict=True)))
