"""One embedded reader over what search finds, without a debate: open FEVER and SciFact, frozen evidence, HaluEval QA.

Each claim is searched once with each tool (three passages by meaning and words, three by words), and all is read
together. FEVER's pool holds its gold passages by construction and is not all of Wikipedia; ``--distractors`` adds
43,000 other passages to it. On the frozen sets, which have two labels, one threshold is chosen by five-fold
cross-validation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.sets import SETS, corpus_of
from benchmarks.statistics import accuracy, interval, macro_f1
from redargue.bench.datasets import Example, load
from redargue.bench.metrics.evidence import hit_rate
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.reader import Reading
from redargue.nli.session import Embedder
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools import Search
from redargue.retrieval.tools.corpus import CorpusTool, FixedPassages, RerankedTool

FROZEN = ("snapshot-factool-qa", "snapshot-bingcheck", "snapshot-factcheck-bench")
K = 3


def main(arguments: list[str]) -> None:
    """Prints a line a set."""
    parser = argparse.ArgumentParser(prog="benchmarks reader", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--distractors", action="store_true")
    parser.add_argument("--min-confidence", type=float, metavar="SHARE", help="decide from here, whatever the source")
    parser.add_argument("--set", action="append", choices=("fever", "scifact", "halueval-qa", *FROZEN))
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for name in given.set or ("fever", "scifact", "halueval-qa", *FROZEN):
        chosen, data = SETS[name], pool.data()
        loaded = load(chosen.dataset, data / chosen.path, half=given.half, limit=given.limit, options=chosen.options)
        examples = [example for example in loaded.examples if example.gold]
        store = _distracted() if given.distractors and name == "fever" else None
        passages = _searched(examples, store or corpus_of(chosen.corpus)) if chosen.corpus else frozen(examples)
        reader = EmbeddedBackend(least=given.min_confidence).reader
        readings = [
            reader.read(example.claim.text, evidence) for example, evidence in zip(examples, passages, strict=True)
        ]
        line: dict[str, Any] = {"set": name, "half": given.half, "n": len(examples)} | _scored(examples, readings)
        if name in FROZEN:
            line |= _with_threshold(examples, readings)
        if name == "scifact":
            for reranked in (False, True):
                line |= _hits(examples, corpus_of("scifact"), reranked=reranked)
        print(json.dumps(line), flush=True)


def _searched(examples: Sequence[Example], store: Path) -> list[tuple[Passage, ...]]:
    with open_corpus(store) as corpus:
        texts = [example.claim.text for example in examples]
        return [(*corpus.search(text, K), *corpus.search_keywords(text, K)) for text in texts]


def frozen(examples: Sequence[Example]) -> list[tuple[Passage, ...]]:
    """The nearest of each claim's own passages."""
    evidence = FixedPassages([example.passages for example in examples], encoder=Embedder())

    async def search() -> list[tuple[Passage, ...]]:
        return [
            await evidence.for_claim(at).search(example.claim.text, 2 * K, search=Search())
            for at, example in enumerate(examples)
        ]

    return asyncio.run(search())


def _scored(examples: Sequence[Example], readings: Sequence[Reading]) -> dict[str, Any]:
    gold = [example.gold or "" for example in examples]
    said = [reading.label(example.claim.labels) or "" for example, reading in zip(examples, readings, strict=True)]
    names = [name for name in examples[0].claim.labels.names if name in gold]
    sure = [
        reading.confidence(example.claim.labels, label or None)
        for example, reading, label in zip(examples, readings, said, strict=True)
    ]
    known = [(value, own == label) for value, own, label in zip(sure, gold, said, strict=True) if value is not None]
    bins = np.array([min(9, int(10 * value)) for value, _ in known])
    gaps = [
        abs(np.mean([known[i][0] - known[i][1] for i in np.flatnonzero(bins == number)])) * np.mean(bins == number)
        for number in np.unique(bins)
    ]
    return {
        "accuracy": interval(gold, said, names, accuracy),
        "macro_f1": interval(gold, said, names, macro_f1),
        "answered": round(sum(map(bool, said)) / len(said), 3),
        "calibration_error": round(float(sum(gaps)), 3) if known else None,
    }


def _with_threshold(examples: Sequence[Example], readings: Sequence[Reading]) -> dict[str, Any]:
    """Macro-F1 with one threshold on the log odds of support, chosen on four fifths and used on the fifth."""
    labels = examples[0].claim.labels
    true, false = labels.named(Meaning.SUPPORTED) or "", labels.named(Meaning.REFUTED) or ""
    supports = np.clip([reading.probabilities().supports for reading in readings], 1e-9, 1 - 1e-9)
    odds = np.log(supports / (1 - supports))
    gold = np.array([example.gold == true for example in examples]).astype(int)
    fold = np.random.default_rng(0).permutation(len(gold)) % 5
    said = np.zeros(len(gold), int)
    for part in range(5):
        kept = fold != part
        steps = np.unique(odds[kept])
        best = max(steps, key=lambda step: macro_f1(gold[kept], (odds[kept] >= step).astype(int)))
        said[~kept] = odds[~kept] >= best
    named = {True: true, False: false}
    truth, answers = ([named[bool(value)] for value in side] for side in (gold, said))
    return {"macro_f1, one threshold": interval(truth, answers, [true, false], macro_f1)}


def _hits(examples: Sequence[Example], store: Path, *, reranked: bool) -> dict[str, float]:
    """Of claims with gold evidence, how often its abstract is found with the claim as query."""
    asked = [example for example in examples if example.evidence]
    gold = [frozenset(part.document for group in example.evidence for part in group) for example in asked]
    with open_corpus(store) as corpus:
        tool = RerankedTool(corpus) if reranked else CorpusTool(corpus)
        rankings = [
            [passage.document for passage in asyncio.run(tool.search(example.claim.text, 10, search=Search()))]
            for example in asked
        ]
    scores = (hit_rate(rankings, gold, k=k) for k in (1, 3, 10))
    return {f"{tool.name}, {score.name}": round(score.value or 0, 3) for score in scores}


def _distracted() -> Path:
    """FEVER's pool among 43,000 other passages of Wikipedia, indexed once."""
    path = pool.BUILD / "fever-distracted.db"
    if not path.exists():
        folder = pool.data() / "corpora"
        files = [pool.data() / "benchmarks/fever/corpus.jsonl.gz", *sorted(folder.glob("*.jsonl.gz"))]
        beside = path.with_suffix(".part.db")
        for file in files:
            command = [sys.executable, "-m", "redargue.cli.app", "corpus", "add", str(file), "--store", str(beside)]
            subprocess.run(command, check=True)
        beside.rename(path)
    return path
