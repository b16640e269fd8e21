"""The threshold of answer relevance with a language model, fitted to questions that people wrote.

A language model writes questions in its own words; the embedded backend's threshold is fitted to questions that repeat
the claim. AVeriTeC's annotators wrote questions about each claim. An irrelevant answer is scored with up to three
questions of the claim that is nearest to its own, or of any other claim; each score is the mean cosine to the claim, as
in Tool-MAD. The least threshold is chosen, on even claims, that lets at most a fifth of the nearest claims' questions
pass. Questions of the claim itself are shown beside them: people ask about its background and parts, so that they score
lower than what a language model asks about an answer (.654 to .948 in ten recorded debates).

    python -m benchmarks relevance --half even
    python -m benchmarks relevance --half odd
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

from benchmarks import pool
from redargue.llm.chat import BUNDLED_STABILITY
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.session import shared

MOST_QUESTIONS = 3
MOST_PASSED = 0.2  # of the nearest claims' questions
THRESHOLDS = tuple(round(0.3 + 0.05 * step, 2) for step in range(13))


def main(arguments: list[str]) -> None:
    """Prints quantiles of the scores, and the share of them above each threshold."""
    parser = argparse.ArgumentParser(prog="benchmarks relevance", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="odd")
    parser.add_argument("--split", choices=("dev", "train"), default="train")
    given = parser.parse_args(arguments)
    claims = questions_of(pool.data() / "benchmarks" / "averitec" / f"{given.split}.json.gz", given.half)
    scored = scores(claims)
    for name, values in scored.items():
        quantiles = np.round(np.percentile(values, (5, 25, 50, 75, 95)), 3).tolist()
        print(json.dumps({"questions": name, "n": len(values), "5 25 50 75 95": quantiles}))
    rows = [
        (threshold, {name: share(values, threshold) for name, values in scored.items()}) for threshold in THRESHOLDS
    ]
    for threshold, passed in rows:
        print(json.dumps({"threshold": threshold, "passed": passed}))
    least = next(threshold for threshold, passed in rows if passed["nearest"] <= MOST_PASSED)
    widest = max(rows, key=lambda row: row[1]["own"] - row[1]["nearest"])[0]
    used = {"embedded": EmbeddedBackend.stability.relevance, "language model": BUNDLED_STABILITY.relevance}
    print(json.dumps({"half": given.half, "least": least, "widest difference": widest, "used": used}))


def questions_of(path: Path, half: str) -> dict[str, list[str]]:
    """The questions of each claim of one half that has any."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = json.load(file)
    claims = {row["claim"]: [item["question"] for item in row["questions"]][:MOST_QUESTIONS] for row in rows}
    return {claim: asked for claim, asked in claims.items() if asked and pool.is_even(claim) == (half == "even")}


def scores(claims: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """The mean cosine of each claim with questions: its own, the nearest claim's, and those of the next in order."""
    embedder = shared()
    vectors = np.array(embedder.encode(list(claims)))
    asked = [np.array(embedder.encode(questions)) for questions in claims.values()]
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -1.0)
    sources = {
        "own": np.arange(len(vectors)),
        "nearest": alike.argmax(axis=1),
        "any other": (np.arange(len(vectors)) + 1) % len(vectors),
    }
    return {
        name: np.array([(asked[other] @ vector).mean() for vector, other in zip(vectors, others, strict=True)])
        for name, others in sources.items()
    }


def share(values: np.ndarray, threshold: float) -> float:
    return round(float((values > threshold).mean()), 3)
