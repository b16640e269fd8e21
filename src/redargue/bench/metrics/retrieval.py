"""Ranking metrics, each a mean over the queries that have a relevant document.

A repeated document counts at its first rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set

from redargue.bench.metrics.base import MetricValue, mean, same_length

Rankings = Sequence[Sequence[str]]
"""Document names of each query, best first."""

_EMPTY = "no query has a relevant document"


def _queries(rankings: Rankings, relevant: Sequence[Set[str]]) -> Iterable[tuple[list[str], Set[str]]]:
    same_length(rankings=rankings, relevant=relevant)
    return [(list(dict.fromkeys(ranked)), gold) for ranked, gold in zip(rankings, relevant, strict=True) if gold]


def hit_rate(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> MetricValue:
    """The share of queries with a relevant document among the first ``k``."""
    hits = (not gold.isdisjoint(ranked[:k]) for ranked, gold in _queries(rankings, relevant))
    return mean(f"hit@{k}", hits, empty=_EMPTY)


def recall(rankings: Rankings, relevant: Sequence[Set[str]], *, k: int) -> MetricValue:
    """The share of a query's relevant documents among the first ``k``."""
    shares = (len(gold & set(ranked[:k])) / len(gold) for ranked, gold in _queries(rankings, relevant))
    return mean(f"recall@{k}", shares, empty=_EMPTY)


def reciprocal_rank(rankings: Rankings, relevant: Sequence[Set[str]]) -> MetricValue:
    """One over the rank of the first relevant document; 0 without one."""
    ranks = (
        next((1 / rank for rank, document in enumerate(ranked, start=1) if document in gold), 0.0)
        for ranked, gold in _queries(rankings, relevant)
    )
    return mean("mrr", ranks, empty=_EMPTY)


def dcg(documents: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """Discounted cumulative gain: each grade over log2(rank + 1)."""
    return math.fsum(
        grades.get(document, 0.0) / math.log2(rank + 1) for rank, document in enumerate(documents[:k], start=1)
    )


def ndcg(rankings: Rankings, grades: Sequence[Mapping[str, float]], *, k: int) -> MetricValue:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002, linear gain) at rank ``k``.

    ``grades`` gives the relevance of each query's documents, at least 0; documents without a grade have 0.
    """
    positive = [{name: grade for name, grade in of_query.items() if grade > 0} for of_query in grades]
    by_query = zip(_queries(rankings, list(map(set, positive))), filter(None, positive), strict=True)
    shares = (
        dcg(ranked, of_query, k=k) / dcg(sorted(of_query, key=of_query.__getitem__, reverse=True), of_query, k=k)
        for (ranked, _), of_query in by_query
    )
    return mean(f"ndcg@{k}", shares, empty=_EMPTY)
