"""What the embedded backend comes to so far, on every data set at hand: debates, one round, one reader, retrieval.

``tool-mad`` with its defaults; the same with one round; one reader over all passages that the debate read, with the
same aggregator; one reader with one search; and how well the search alone finds the gold. FEVER and SciFact search a
corpus; elsewhere every method reads the same frozen passages. Even rows, since choices are still being made on them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks import pool
from benchmarks.sets import SETS, Set, corpus_of, taken
from redargue.bench import compare as comparison
from redargue.bench.datasets import fever, scifact
from redargue.bench.harness import Bench
from redargue.bench.metrics.retrieval import hit_rate, ndcg, reciprocal_rank
from redargue.bench.system import System
from redargue.reports.terminal import print_comparison
from redargue.retrieval.corpus.index import open_corpus
from redargue.spec import RunSpec

DEBATERS = "debaters=frozen+frozen-words"
SEARCHED = ("tool-mad", "tool-mad:rounds=1", "single-reader:tools=debated", "single-reader")
FROZEN = (
    f"tool-mad:{DEBATERS}",
    f"tool-mad:{DEBATERS},rounds=1",
    "single-reader:tools=debated",
    "single-reader:tools=frozen",
)


def main(arguments: list[str]) -> None:
    """Prints a table a data set; the same command again goes on where it stopped."""
    parser = argparse.ArgumentParser(prog="tables")
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--half", default="even")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for name in given.set or SETS:
        _one(name, given.limit, given.half)


def _one(name: str, limit: int, half: str) -> None:
    chosen = SETS[name]
    examples, sample = taken(chosen, half=half, limit=limit)
    store = corpus_of(chosen.corpus) if chosen.corpus else None
    systems = [System.parse(spec) for spec in (SEARCHED if chosen.corpus else FROZEN)]
    folder = pool.BUILD / "tables" / f"{name}-{half}-{limit}"
    # FEVER's pool has names of its own
    qrels = pool.data() / "benchmarks/fever/qrels.jsonl.gz" if name == "fever" else None
    spec = RunSpec(store=store, offline=True)
    bench = Bench(folder, examples, systems, sample=sample, spec=spec, qrels=qrels)
    began = time.perf_counter()
    for system in systems:
        asyncio.run(bench.run(system))
    result = comparison.compare(bench)
    comparison.write_results(result, folder)
    print(f"-- {name} ({time.perf_counter() - began:.0f} s)")
    print_comparison(result)
    if store:
        print(json.dumps(_retrieval(chosen, store, examples)), flush=True)


def _retrieval(chosen: Set, store: Path, examples: Any) -> dict[str, Any]:
    """The corpus tool's own search with the claim as it is, over the claims that have gold documents."""
    folder = pool.data() / "benchmarks" / chosen.dataset
    if chosen.dataset == "fever":
        relevant = fever.qrels(folder / "qrels.jsonl.gz")
    else:
        relevant = scifact.qrels(folder / "claims_dev.jsonl.gz")
    asked = [example for example in examples if relevant.get(example.id)]
    with open_corpus(store) as corpus:
        rankings = [[passage.document for passage in corpus.search(example.claim.text, 10)] for example in asked]
    gold = [relevant[example.id] for example in asked]
    figures = [hit_rate(rankings, gold, k=k) for k in (1, 3, 10)]
    figures += [
        reciprocal_rank(rankings, gold),
        ndcg(rankings, [dict.fromkeys(documents, 1.0) for documents in gold], k=10),
    ]
    return {"retrieval": len(asked)} | {figure.name: round(figure.value or 0, 3) for figure in figures}
