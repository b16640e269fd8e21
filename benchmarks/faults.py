"""What a debate makes of bad services: damaged replies, busy endpoints, searches that fail, budgets that run out.

Tool-MAD, by default in the profile ``paper``: of its 10 requests a claim more meet a fault than of the two or
three of ``hardened``, and the random budgets are sized for them. 200 claims a row over real HTTP on loopback. Every
reply that is readable says SUPPORTS, so that any other label would be one that nobody gave. Requests are counted by
the server, and compared with a run in which nothing goes wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from benchmarks.load import claims
from benchmarks.speed import METHOD, PROFILE, served, verifier
from redargue.retrieval.tools.web import TavilyTool
from redargue.runs.budget import Budget, Price, Prices
from redargue.verdicts import Verdict
from support.loopback import LoopbackProcess

PRICE = Price(input=2.0, output=8.0)
MODELS = ("judge-model", "for-model", "against-model")
PRICES = Prices(models=dict.fromkeys((*MODELS, "loopback-embedding"), PRICE), searches={"tavily": 0.0, "google": 0.0})
EASY: dict[str, Any] = {"malformed": 0.0, "busy": 0.0, "statuses": {}, "hang_routes": []}
ROWS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "20 % of replies damaged": {"malformed": 0.2},
    "30 % answered 429 or 503, Retry-After 0.1": {"busy": 0.3, "retry_after": "0.1"},
    "both": {"malformed": 0.2, "busy": 0.3, "retry_after": "0.1"},
    "one search answers 404": {"statuses": {"tavily": 404}},
    "one search answers 432": {"statuses": {"tavily": 432}},
    "one search hangs (1 s allowed)": {"hang_routes": ["tavily"]},
}


def measure(server: LoopbackProcess, name: str, profile: str, count: int, least: int) -> dict[str, Any]:
    """One row."""
    server.set_behaviour(**EASY)
    server.set_behaviour(**ROWS[name], chat_ms=2)
    server.reset()
    began = time.perf_counter()
    with verifier(server.url, profile=profile) as bench:
        if "hang" in name:
            tool = bench.tools["tavily"]
            assert isinstance(tool, TavilyTool)
            tool.service = replace(tool.service, timeout=1.0)
        verdicts = asyncio.run(bench.verify_all(claims(count), concurrency=16))
    counts = server.counts()
    errors = Counter(verdict.error.type for verdict in verdicts if verdict.error)
    requests = counts.requests["chat"]
    return {
        "fault": name,
        "method": METHOD,
        "profile": profile,
        "claims": count,
        "with a label": sum(verdict.label is not None for verdict in verdicts),
        "typed errors": dict(errors),
        "neither or both": sum((verdict.label is None) == (verdict.error is None) for verdict in verdicts),
        "labels nobody gave": sum(verdict.label not in (None, "SUPPORTS") for verdict in verdicts),
        "NaN": sum(_nan(verdict) for verdict in verdicts),
        "undefined scores": sum(score.value is None for verdict in verdicts for score in verdict.scores),
        "gaps named": sum(bool(verdict.gaps) for verdict in verdicts),
        "chat requests": requests,
        "over the least": round(requests / least, 2) if least else 1.0,
        "counted by redargue": sum(verdict.usage.calls for verdict in verdicts),
        "seconds": round(time.perf_counter() - began, 1),
    }


def _nan(verdict: Verdict) -> int:
    return sum(score.value is not None and math.isnan(score.value) for score in verdict.scores)


def budgets(server: LoopbackProcess, profile: str, runs: int) -> dict[str, Any]:
    """Random budgets of each kind, 16 concurrent claims; what exceeded them, by the server's count."""
    chance = random.Random(5)
    server.set_behaviour(**EASY)
    server.set_behaviour(chat_ms=1, busy=0.05, retry_after="0", malformed=0.02)
    over: Counter[str] = Counter()
    used: list[float] = []
    for number in range(runs):
        kind = ("calls", "tokens", "usd")[number % 3]
        limit = {"calls": chance.randint(1, 200), "tokens": chance.randint(6_000, 90_000), "usd": 0.0}[kind]
        limit = chance.uniform(0.04, 0.4) if kind == "usd" else limit
        server.reset()
        options = {"budget": Budget(**{kind: limit}), "prices": PRICES}  # type: ignore[arg-type]
        with verifier(server.url, profile=profile, **options) as bench:
            asyncio.run(bench.verify_all(claims(16), concurrency=16))
        counts = server.counts()
        tokens = counts.prompt_tokens + counts.completion_tokens + counts.embedding_tokens
        usd = PRICE.of(counts.prompt_tokens + counts.embedding_tokens, counts.completion_tokens)
        spent = {"calls": counts.requests["chat"], "tokens": tokens, "usd": usd}[kind]
        over[kind] += spent > limit + 1e-9
        used.append(spent / limit)
    return {
        "budgets": runs,
        "method": METHOD,
        "profile": profile,
        "passed": dict(over),
        "used of the limit, mean": round(sum(used) / len(used), 3),
    }


def main(arguments: list[str]) -> None:
    """Prints a line a fault, then the budgets."""
    parser = argparse.ArgumentParser(prog="faults")
    parser.add_argument("--claims", type=int, default=200)
    parser.add_argument("--budgets", type=int, default=100)
    parser.add_argument("--profile", choices=("paper", "hardened"), default=PROFILE)
    options = parser.parse_args(arguments)
    with served("agreeing") as server:
        least = 0
        for name in ROWS:
            row = measure(server, name, options.profile, options.claims, least)
            least = least or row["chat requests"]
            print(json.dumps(row), flush=True)
        print(json.dumps(budgets(server, options.profile, options.budgets)), flush=True)
