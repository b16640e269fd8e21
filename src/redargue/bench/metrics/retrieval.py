"""Rankings against relevant documents, each a mean over queries that have a relevant document.

A document that a ranking names twice counts where it stands first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set

from redargue.bench.metrics.base import Figure, mean, same_length

Rankings = Sequence[Sequence[str]]
"""Document names of each query, best first."""

EMPTY = "no query has a relevant document"


def _queries(rankings: Rankings, relevant: Sequence[Set[str]]) -> Iterable[tuple[list[str], Set[str]]]:
    same_length(rankings=rankings, relevant=relevant)
    return [(list(dict.fromkeys(ranked)), gold) for ranked, gold in zip(rankings, relevant, strict=True) if gold]


def hit(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> Figure:
    """The share of queries with a relevant document among the first ``k``."""
    found = (float(not gold.isdisjoint(ranked[:k])) for ranked, gold in _queries(rankings, relevant))
    return mean(f"hit@{k}", found, empty=EMPTY)


def recall(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> Figure:
    """The share of a query's relevant documents among the first ``k``."""
    shares = (len(gold & set(ranked[:k])) / len(gold) for ranked, gold in _queries(rankings, relevant))
    return mean(f"recall@{k}", shares, empty=EMPTY)


def reciprocal_rank(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int | None = None) -> Figure:
    """One over the rank of the first relevant document, 0 where there is none among the first ``k`` (all if None)."""
    ranks = (
        next((1 / rank for rank, document in enumerate(ranked[:k], start=1) if document in gold), 0.0)
        for ranked, gold in _queries(rankings, relevant)
    )
    return mean("mrr" if k is None else f"mrr@{k}", ranks, empty=EMPTY)


def gain(documents: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """Discounted cumulative gain: each grade over log2(rank + 1)."""
    return math.fsum(
        grades.get(document, 0.0) / math.log2(rank + 1) for rank, document in enumerate(documents[:k], start=1)
    )


def ndcg(rankings: Rankings, grades: Sequence[Mapping[str, float]], *, k: int) -> Figure:
    """Discounted cumulative gain over that of the best order (Järvelin and Kekäläinen 2002, linear gain).

    Args:
        rankings: document names of each query, best first.
        grades: relevance of each query's documents, at least 0; one that is not named has 0.
        k: only the first so many count, here and in the best order.
    """
    positive = [{name: grade for name, grade in each.items() if grade > 0} for each in grades]
    by_query = zip(_queries(rankings, [set(each) for each in positive]), filter(None, positive), strict=True)
    shares = (
        gain(ranked, each, k=k) / gain(sorted(each, key=each.__getitem__, reverse=True), each, k=k)
        for (ranked, _), each in by_query
    )
    return mean(f"ndcg@{k}", shares, empty=EMPTY)
