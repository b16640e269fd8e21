"""Rankings: worked cases, and nDCG's equality with scikit-learn on frozen values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.metrics.evidence import hit_rate, ndcg, recall, reciprocal_rank

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "reference" / "statistics.json").read_text(encoding="utf-8")
)
RANKED = [["a", "b", "c"], ["x", "y"], ["q"]]
GOLD = [{"b", "c"}, {"z"}, set()]


@pytest.mark.parametrize("case", REFERENCE["retrieval"], ids=lambda case: f"k={case['k']}")
def test_ndcg_equals_scikit_learn(case: dict[str, Any]) -> None:
    rankings = [
        [str(at) for at in sorted(range(len(scores)), key=scores.__getitem__, reverse=True)]
        for scores in case["scores"]
    ]
    grades = [{str(at): float(grade) for at, grade in enumerate(row)} for row in case["grades"]]
    assert ndcg(rankings, grades, k=case["k"]).value == pytest.approx(case["ndcg"], abs=1e-9)


def test_rankings_worked_by_hand() -> None:
    assert hit_rate(RANKED, GOLD, k=1).value == 0.0
    assert hit_rate(RANKED, GOLD, k=2).value == 0.5
    assert recall(RANKED, GOLD, k=2).value == 0.25
    assert recall(RANKED, GOLD, k=3).value == 0.5
    assert reciprocal_rank(RANKED, GOLD).value == 0.25
    best = 1 + 1 / math.log2(3)
    found = ndcg(RANKED, [dict.fromkeys(each, 1.0) for each in GOLD], k=3)
    assert found.value == pytest.approx((1 / math.log2(3) + 1 / 2) / best / 2)
    assert found.n == 2  # the query without a relevant document is left out


def test_a_document_that_is_named_twice_counts_where_it_stands_first() -> None:
    assert recall([["a", "a", "b"]], [{"a", "b"}], k=2).value == 1.0
    assert ndcg([["a", "a"]], [{"a": 1.0}], k=2).value == 1.0


def test_without_relevant_documents_all_are_undefined() -> None:
    for figure in (hit_rate([["a"]], [set()], k=1), reciprocal_rank([], []), ndcg([["a"]], [{"a": 0.0}], k=5)):
        assert figure.undefined == "no query has a relevant document"
