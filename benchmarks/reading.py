"""Chooses the weights of the embedded backend's reading on even rows of FEVER's paper_test.

The passages are those that both tools find for the claim itself; the claims that ``fever`` reports are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.statistics import accuracy, macro_f1
from redargue.backends.embedded import EmbeddedBackend
from redargue.backends.reading import Reading, Weights
from redargue.claims import FEVER, Meaning
from redargue.corpus.index import open_corpus

CODES = {name: code for code, name in enumerate(FEVER.names)}


def main(arguments: list[str]) -> None:
    """Prints the ten best weights by accuracy over all passages, and the present ones."""
    parser = argparse.ArgumentParser(prog="benchmarks reading", description=__doc__)
    parser.add_argument("--limit", type=int, default=500)
    given = parser.parse_args(arguments)
    chosen = pool.claims("even", pool.REPORTED + given.limit)[pool.REPORTED :]
    readings = read(chosen)
    gold = np.array([CODES[row["label"]] for row in chosen])
    table = []
    steps = np.arange(0.2, 0.96, 0.05)
    for far, near in itertools.product((0.0, 0.2, 0.3, 0.4, 0.5), (0.4, 0.5, 0.6, 0.7, 0.8)):
        if far < near:
            sides = strengths(readings, Weights(far, near))
            table += [
                score(sides, gold, Weights(far, near, *map(float, pair))) for pair in itertools.product(steps, steps)
            ]
    table.sort(key=lambda row: (-row["accuracy"], -row["macro_f1"]))
    for row in table[:10]:
        print(json.dumps(row))
    print(json.dumps({"present": score(strengths(readings, Weights()), gold, Weights())}))


def read(chosen: list[dict[str, Any]]) -> list[Reading]:
    """One reading a claim, over the passages of both tools."""
    reader = EmbeddedBackend().reader
    path, _ = pool.store()
    with open_corpus(path) as corpus:
        return [
            reader.read(row["claim"], (*corpus.search(row["claim"], 3), *corpus.search_keywords(row["claim"], 3)))
            for row in chosen
        ]


def strengths(readings: list[Reading], weights: Weights) -> Any:
    """The strongest window on each side of each reading: an array of shape (2, readings)."""
    sides = (Meaning.SUPPORTED, Meaning.REFUTED)
    return np.array([[reading.strongest(side, weights) for reading in readings] for side in sides])


def score(sides: Any, gold: Any, weights: Weights) -> dict[str, Any]:
    """Accuracy and macro-F1 of these weights, by the rule of ``Reading.label``."""
    support, refute = sides[0] / weights.support, sides[1] / weights.refute
    said = np.where(
        np.maximum(support, refute) <= 1,
        CODES["NOT ENOUGH INFO"],
        np.where(support >= refute, CODES["SUPPORTS"], CODES["REFUTES"]),
    )
    rounded = {name: round(value, 3) for name, value in weights._asdict().items()}
    return {**rounded, "accuracy": round(accuracy(gold, said), 4), "macro_f1": round(macro_f1(gold, said), 4)}
