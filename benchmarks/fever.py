"""Tool-MAD on the embedded backend over FEVER's pool: index cost, query time, accuracy, speed, memory.

The pool holds each claim's gold passages by construction; it is not all of Wikipedia.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import time
from collections import Counter
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.statistics import accuracy, interval, macro_f1
from redargue import Claim, Verdict, Verifier
from redargue.claims import FEVER
from redargue.retrieval.corpus.index import open_corpus

METHOD, PROFILE = "tool-mad", "hardened"


def main(arguments: list[str]) -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(prog="benchmarks fever", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of tool-mad")
    parser.add_argument("--profile", choices=("paper", "hardened"), default=PROFILE)
    given = parser.parse_args(arguments)
    settings = {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in given.set)}
    path, cost = pool.store()
    chosen = pool.claims(given.half, given.limit)
    figures: dict[str, Any] = {
        "method": METHOD,
        "profile": given.profile,
        "half": given.half,
        "settings": settings,
        "index": cost,
        "query_ms": query_times(str(path), chosen),
    }
    claims = [Claim(text=row["claim"]) for row in chosen]
    with Verifier(method=METHOD, profile=given.profile, store=path, settings=settings) as verifier:
        started = time.perf_counter()
        verdicts = asyncio.run(verifier.verify_all(claims, concurrency=given.concurrency))
        seconds = time.perf_counter() - started
    gold = [row["label"] for row in chosen]
    figures |= outcome(gold, verdicts)
    figures["claims_a_minute"] = round(60 * len(claims) / seconds, 1)
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(figures, indent=1))


def query_times(path: str, chosen: list[dict[str, Any]]) -> dict[str, float]:
    """Median milliseconds of a search, the first ten left out."""
    times: dict[str, list[float]] = {"search": [], "search_keywords": []}
    with open_corpus(path) as corpus:
        for row in chosen[:110]:
            for name, taken in times.items():
                started = time.perf_counter()
                getattr(corpus, name)(row["claim"], 3)
                taken.append(1000 * (time.perf_counter() - started))
    return {name: round(statistics.median(taken[10:] or taken), 2) for name, taken in times.items()}


def outcome(gold: list[str], verdicts: list[Verdict]) -> dict[str, Any]:
    """Accuracy and macro-F1 with 95 % intervals, who decided, what it cost."""
    said = [verdict.label or "" for verdict in verdicts]
    by = Counter(str(verdict.decided_by) for verdict in verdicts)
    right = [g == s for g, s in zip(gold, said, strict=True)]
    how = {
        name: round(float(np.mean([r for r, v in zip(right, verdicts, strict=True) if v.decided_by == name])), 3)
        for name in by
        if name != "None"
    }
    return {
        "claims": len(gold),
        "accuracy": interval(gold, said, FEVER.names, accuracy),
        "macro_f1": interval(gold, said, FEVER.names, macro_f1),
        "said": dict(Counter(said)),
        "decided_by": {name: round(count / len(gold), 3) for name, count in by.items()},
        "accuracy_by_decider": how,
        "rounds": dict(sorted(Counter(verdict.rounds for verdict in verdicts).items())),
        "errors": sum(verdict.error is not None for verdict in verdicts),
        "calls_a_claim": round(statistics.mean(verdict.usage.calls for verdict in verdicts), 1),
        "quotes_not_found": sum(not quote.found for verdict in verdicts for quote in verdict.quotes),
    }
