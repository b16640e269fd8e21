"""Chooses the weights with which the embedded backend turns windows into a verdict, on even rows of FEVER and SciFact.

The passages are those that both tools find for the claim itself; the FEVER claims that ``fever`` reports are left out.
Prints what to write into ``backends/weighing.py``, and what it comes to by five-fold cross-validation.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.sets import SETS, corpus_of
from benchmarks.statistics import accuracy, macro_f1
from redargue.bench.datasets.loading import load
from redargue.claims import FEVER
from redargue.nli.aggregation import WEIGHTS
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.reader import Reading
from redargue.retrieval.corpus.index import open_corpus

CODES = {name: code for code, name in enumerate(FEVER.names)}
SCIFACT = {"SUPPORT": 0, "CONTRADICT": 1, "NOT ENOUGH INFO": 2}
FOLDS = 5


def main(arguments: list[str]) -> None:
    """Prints the fitted weights and their cross-validated scores beside the present ones."""
    parser = argparse.ArgumentParser(prog="benchmarks reading", description=__doc__)
    parser.add_argument("--limit", type=int, default=700)
    parser.add_argument("--penalty", type=float, default=3.0)
    given = parser.parse_args(arguments)
    rows = pool.claims("even", pool.REPORTED + given.limit)[pool.REPORTED :]
    fever = _features([row["claim"] for row in rows], pool.store()[0])
    gold = np.array([CODES[row["label"]] for row in rows])
    papers = load("scifact", pool.data() / SETS["scifact"].path, half="even").examples
    science = _features([each.claim.text for each in papers], corpus_of("scifact"))
    labels = np.array([SCIFACT[each.gold or ""] for each in papers])
    every = np.concatenate([fever, science]), np.concatenate([gold, labels])
    weight = np.concatenate([np.full(len(gold), 1.0), np.full(len(labels), len(gold) / len(labels) / 2)])
    said = _cross_validated(*every, weight, given.penalty)
    for name, part in (("fever", slice(0, len(gold))), ("scifact", slice(len(gold), None))):
        truth = every[1][part]
        present = _said(every[0][part], np.array(WEIGHTS))
        print(json.dumps({name: len(truth), "present": _scores(truth, present), "fitted": _scores(truth, said[part])}))
    weights = fit(*every, weight, given.penalty)
    for name, row in zip(("supports", "refutes"), weights.round(3).tolist(), strict=True):
        print(f"{name} = {tuple(row)}")


def fit(x: Any, y: Any, weight: Any, penalty: float) -> Any:
    """Weights of a softmax over two decided answers and a third at zero, by Newton's method: (2, features)."""
    d = x.shape[1]
    found = np.zeros(2 * d)
    truth = np.stack([y == 0, y == 1], 1).astype(float)
    ridge = np.tile(np.r_[0.0, np.full(d - 1, penalty)], 2)
    for _ in range(50):
        p = _softmax(x, found.reshape(2, d))[:, :2]
        slope = (x[:, None, :] * ((p - truth) * weight[:, None])[:, :, None]).sum(0).ravel() + ridge * found
        spread = np.einsum("ni,ij->nij", p, np.eye(2)) - p[:, :, None] * p[:, None, :]
        curve = np.einsum("nij,nk,nl->ikjl", spread * weight[:, None, None], x, x).reshape(2 * d, 2 * d)
        step = np.linalg.solve(curve + np.diag(ridge + 1e-6), slope)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    return found.reshape(2, d)


def _softmax(x: Any, weights: Any) -> Any:
    scores = np.concatenate([x @ weights.T, np.zeros((len(x), 1))], 1)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def _said(x: Any, weights: Any) -> Any:
    return _softmax(x, weights).argmax(1)


def _cross_validated(x: Any, y: Any, weight: Any, penalty: float) -> Any:
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    said = np.zeros(len(y), int)
    for each in range(FOLDS):
        kept = fold != each
        said[~kept] = _said(x[~kept], fit(x[kept], y[kept], weight[kept], penalty))
    return said


def _scores(gold: Any, said: Any) -> dict[str, float]:
    return {"accuracy": round(accuracy(gold, said), 4), "macro_f1": round(macro_f1(gold, said), 4)}


def _features(claims: list[str], store: Path) -> Any:
    return np.array([reading.features for reading in read(claims, store)])


def read(claims: list[str], store: Path) -> list[Reading]:
    """One reading a claim, over the passages of both tools."""
    reader = EmbeddedBackend().reader
    with open_corpus(store) as corpus:
        return [reader.read(claim, (*corpus.search(claim, 3), *corpus.search_keywords(claim, 3))) for claim in claims]
