"""Many claims at once over real HTTP: does the limiter keep the endpoint busy, does memory stay flat, and at what cost.

The debates are Tool-MAD's, by default in the profile ``paper``, in which they make most requests: 10 to 31 a claim.

First 16 claims at once against the slowest of them alone. Then 2,000 claims at 20 ms a call through 8 places: the
share of the time in which all places are taken, memory at a quarter of the way and at the end, calls a second; beside
it a bare httpx2 loop that sends the same number of requests of the same size through as many connections.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.speed import LATENCY, METHOD, PROFILE, served, verifier
from redargue.claims import Claim
from redargue.net.transport import Limiter, Rate, Transport

PLACES = 8


def claims(count: int) -> list[Claim]:
    """As many different claims."""
    return [Claim(text=f"The bridge at Orvell was opened in {year}.") for year in range(1000, 1000 + count)]


async def _at_once(url: str, profile: str) -> dict[str, Any]:
    with verifier(url, profile=profile) as bench:
        async with bench.transport:
            await bench.verify(claims(1)[0])
            alone = []
            for claim in claims(3):
                began = time.perf_counter()
                await bench.verify(claim)
                alone.append(time.perf_counter() - began)
            began = time.perf_counter()
            verdicts = await bench.verify_all(claims(16), concurrency=16)
            together = time.perf_counter() - began
    assert not any(verdict.error for verdict in verdicts)
    return {
        "method": METHOD,
        "profile": profile,
        "16 claims at once, s": round(together, 3),
        "slowest of three alone, s": round(max(alone), 3),
        "over": f"{together / max(alone) - 1:+.1%}",
    }


async def _many(url: str, profile: str, count: int) -> dict[str, Any]:
    transport = Transport(Limiter({"model": Rate(in_flight=PLACES)}))
    lane = transport.limiter.for_service("model")
    seen: list[bool] = []
    memory: list[float] = []
    done = 0

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.005)
            seen.append(lane.in_flight >= PLACES)

    with verifier(url, profile=profile, transport=transport) as bench:
        async with transport:
            await bench.verify(claims(1)[0])
            watching = asyncio.create_task(watch())
            began = time.perf_counter()
            async for _, verdict in bench.stream(claims(count), concurrency=2 * PLACES):
                assert verdict.error is None, verdict.error
                done += 1
                if done in (count // 4, count):
                    memory.append(_resident())
            seconds = time.perf_counter() - began
            watching.cancel()
    steady = seen[len(seen) // 50 : -len(seen) // 50]  # neither the first claims nor the last ones fill all places
    return {
        "method": METHOD,
        "profile": profile,
        "claims": count,
        "seconds": round(seconds, 1),
        "all places taken": f"{sum(steady) / len(steady):.1%} of the time",
        "resident MB at a quarter": memory[0],
        "and at the end": memory[1],
    }


async def _bare(url: str, count: int) -> float:
    body = {"model": "for-model", "messages": [{"role": "user", "content": "x" * 1500}], "temperature": 0}
    left = iter(range(count))

    async def worker(client: httpx2.AsyncClient) -> None:
        for _ in left:
            reply = await client.post(f"{url}/v1/chat/completions", json=body)
            reply.json()

    async with httpx2.AsyncClient() as client:
        began = time.perf_counter()
        await asyncio.gather(*(worker(client) for _ in range(PLACES)))
        return count / (time.perf_counter() - began)


def _resident() -> float:
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 1)


def main(arguments: list[str]) -> None:
    """Prints both."""
    parser = argparse.ArgumentParser(prog="load")
    parser.add_argument("--claims", type=int, default=2000)
    parser.add_argument("--profile", choices=("paper", "hardened"), default=PROFILE)
    options = parser.parse_args(arguments)
    with served("doubtful") as server:
        server.set_behaviour(**LATENCY)
        print(json.dumps(asyncio.run(_at_once(server.url, options.profile))), flush=True)
    with served("agreeing") as server:
        server.set_behaviour(chat_ms=20, search_ms=20, embedding_ms=20)
        figures = asyncio.run(_many(server.url, options.profile, options.claims))
        calls = server.counts().requests["chat"]
        server.reset()
        bare = asyncio.run(_bare(server.url, 4000))
        per_second = calls / figures["seconds"]
        figures |= {"calls": calls, "calls a second": round(per_second), "bare httpx2 loop": round(bare)}
        print(json.dumps(figures | {"share": f"{per_second / bare:.0%}"}), flush=True)
