"""Whether ``redargue fit`` keeps its target: random splits of labelled verdicts, one half to fit, the other to judge.

Verdicts are the single reader's with the embedded backend, of odd rows of four data sets, two of them over a corpus;
they are read once and kept in ``build/bench``, so that splits cost nothing. A split exceeds the target if more than
that share of the other half's decided verdicts is wrong. That half is a sample too, in which a true share at the target
exceeds it every second time: a fit that keeps its promise may exceed in more than one split in ten. Printed for each
set and target: splits that decide anything, splits that exceed, the share decided of all verdicts judged, and the share
of the decided that is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks import pool
from benchmarks.sets import SETS, corpus_of, taken
from redargue import Verifier
from redargue.bench.commands.cascade import fit_of_verdicts
from redargue.bench.datasets import Example
from redargue.bench.judge import JudgedItem
from redargue.claims import LabelSet
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.methods.cascade.fit import early_stops
from redargue.nli.backend import EmbeddedBackend
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools.corpus import FixedPassages

NAMES = ("fever", "scifact", "feverous", "halueval-qa")
TARGETS = (0.05, 0.1, 0.2, 0.3, 0.4)
READ = 10  # passages of a claim


def main(arguments: list[str]) -> None:
    """Prints a line for each set and target."""
    parser = argparse.ArgumentParser(prog="benchmarks guarantee", description=__doc__)
    parser.add_argument("--limit", type=int, default=400, help="claims of a set")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--set", action="append", choices=list(SETS))
    given = parser.parse_args(arguments)
    for name in given.set or NAMES:
        items, labels = readings(name, given.limit)
        for target in TARGETS:
            print(json.dumps({"set": name, "claims": len(items)} | splits(items, labels, target, given.splits)))


def readings(name: str, limit: int) -> tuple[list[JudgedItem], LabelSet]:
    """The verdicts with their gold labels, from a file where they were read before."""
    examples = [each for each in taken(SETS[name], limit=limit, half="odd")[0] if each.gold]
    labels = examples[0].claim.labels
    path = Path(pool.BUILD, f"guarantee-{name}-{limit}.json")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shelf = FixedPassages(_evidence(name, examples), encoder=EmbeddedBackend().embedder)
        settings = {"top_k": READ}
        with Verifier(method="single-reader", settings=settings, evidence={"corpus": shelf}, offline=True) as verifier:
            verdicts = asyncio.run(verifier.verify_all([each.claim for each in examples]))
        read = [
            (verdict.label and verdict.label.casefold(), str(each.gold).casefold(), verdict.confidence)
            for verdict, each in zip(verdicts, examples, strict=True)
        ]
        path.write_text(json.dumps(read), encoding="utf-8")
    return [JudgedItem(said, gold, confidence=sure) for said, gold, sure in json.loads(path.read_text("utf-8"))], labels


def _evidence(name: str, examples: Sequence[Example]) -> list[tuple[Passage, ...]]:
    """The passages of each claim: the set's own, or those of its corpus."""
    if not SETS[name].corpus:
        return [each.passages for each in examples]
    with open_corpus(corpus_of(SETS[name].corpus)) as corpus:
        return [corpus.search(each.claim.text, READ) for each in examples]


def splits(items: Sequence[JudgedItem], labels: LabelSet, target: float, count: int) -> dict[str, float | int | None]:
    """What ``count`` random halves come to."""
    decides = exceeds = decided = wrong = judged = 0
    for seed in range(count):
        order = random.Random(seed).sample(range(len(items)), len(items))
        half = [[items[at] for at in part] for part in (order[::2], order[1::2])]
        judged += len(half[1])
        try:
            fits = [fit_of_verdicts(part, labels) for part in half]
        except UsageError:  # no verdict of a half decides its claim
            continue
        fitted = fits[0].at_risk(target).thresholds
        early, errors = early_stops(fits[1].rows, fitted)
        decides += fitted[0] is not None
        exceeds += errors > target * early
        decided, wrong = decided + early, wrong + errors
    return {
        "target": target,
        "splits that decide": decides,
        "exceed": exceeds,
        "share decided": round(decided / judged, 3),
        "error of decided": round(wrong / decided, 3) if decided else None,
    }
