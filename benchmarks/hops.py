"""Second searches with names from the first: how often all of a claim's gold passages are retrieved.

FEVER's pool, claims with at least two gold passages. Three ways to spend as many passages: one search for twice as
many; a second search for what the first left open; the same with the names that the first brought in (the embedded
backend's rewritten query).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence

import numpy as np

from benchmarks import pool
from benchmarks.sets import SETS, corpus_of
from redargue.bench.datasets import fever
from redargue.bench.datasets.loading import load
from redargue.bench.statistics.bootstrap import interval_of
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, compose_answer, perform, words
from redargue.retrieval.corpus.base import Corpus
from redargue.retrieval.corpus.index import open_corpus
from redargue.tasks.query import OtherAnswer, Query, RewriteQuery

K = 3  # passages a search and tool


def main(arguments: list[str]) -> None:
    """Prints a line a way to search: all gold passages found, and at least one."""
    parser = argparse.ArgumentParser(prog="benchmarks hops", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--limit", type=int, default=400)
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    chosen, data = SETS["fever"], pool.data()
    gold = fever.qrels(data / "benchmarks/fever/qrels.jsonl.gz")
    loaded = load(chosen.dataset, data / chosen.path, half=given.half)
    asked = [example for example in loaded.examples if len(gold.get(example.id, ())) > 1][: given.limit]
    backend = EmbeddedBackend()
    whole: dict[str, list[int]] = {"once": [], "twice": [], "twice, with names": []}
    some: dict[str, list[int]] = {name: [] for name in whole}
    with open_corpus(corpus_of(chosen.corpus)) as corpus:
        for example in asked:
            claim = example.claim
            first = _search(corpus, claim.text, K)
            answer = compose_answer(claim, first, backend)
            task = RewriteQuery(
                claim=claim,
                tool="corpus",
                about="",
                others=(OtherAnswer(agent="reader", text=answer.text),),
                used=claim.text,
            )
            query = perform(task, backend)
            assert isinstance(query, Query)
            covered = {word.lower() for quote in answer.quotes for word in words(quote)}
            rest = " ".join(word for word in words(claim.text) if word.lower() not in covered)
            rankings = {
                "once": _search(corpus, claim.text, 2 * K),
                "twice": (*first, *_search(corpus, rest or claim.text, K)),
                "twice, with names": (*first, *_search(corpus, query.text or claim.text, K)),
            }
            for name, passages in rankings.items():
                documents = {passage.document for passage in passages}
                whole[name].append(int(gold[example.id] <= documents))
                some[name].append(int(bool(gold[example.id] & documents)))
    for name in whole:
        found_all, found_some = _share(whole[name]), _share(some[name])
        print(json.dumps({"way": name, "n": len(asked), "all": found_all, "some": found_some}), flush=True)


def _search(corpus: Corpus, query: str, k: int) -> tuple[Passage, ...]:
    return (*corpus.search(query, k), *corpus.search_keywords(query, k))


def _share(hits: Sequence[int]) -> list[float]:
    """The share with its 95 % bootstrap interval."""
    values = np.array(hits, float)
    bounds = interval_of(lambda places: float(values[places].mean()), len(values))
    return [round(number, 3) for number in (bounds.value, bounds.low, bounds.high) if number is not None]
