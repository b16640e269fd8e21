"""How long MERMAID and dual-position debate take over real HTTP on loopback, against their critical paths.

300 ms a call, 150 ms a search. A cold claim of MERMAID decomposes, searches once and answers (three calls, one search);
one whose evidence an earlier claim left decomposes and answers (two calls); the memory is on the disk. A dual-position
debate of two rounds with three referees: queries and a search, then two times rebuttal, summary, judgement.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

from benchmarks.speed import LATENCY, REPEATS, addresses, served
from redargue.claims import TWO, Claim
from redargue.memory.base import MemorySettings
from redargue.memory.memory import open_memory
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.verifier import Verifier

COLD, WARM = 1.05, 0.6  # seconds: three calls and a search, two calls
DEBATE = 2.25  # a call and a search, two rounds three calls deep


def main(arguments: list[str]) -> None:
    """Prints seconds, floors and calls of a cold claim and of one that the memory answers."""
    with served("agreeing") as server, tempfile.TemporaryDirectory() as folder:
        os.environ |= addresses(server.url)
        server.set_behaviour(**LATENCY)
        best, calls = asyncio.run(_best(Path(folder)))
    for name, floor in (("cold", COLD), ("remembered", WARM), ("dual-position", DEBATE)):
        line = {"claim": name, "seconds": round(best[name], 3), "floor": floor, "calls": calls[name]}
        print(json.dumps(line | {"above": f"{100 * (best[name] / floor - 1):.1f} %"}))


async def _best(folder: Path) -> tuple[dict[str, float], dict[str, int]]:
    """The best of some pairs, after one in which connections are made and models loaded."""
    best = dict.fromkeys(("cold", "remembered", "dual-position"), float("inf"))
    calls: dict[str, int] = {}
    async with Transport(limiter()) as transport:
        for repeat in range(REPEATS + 1):
            for name in best:
                timed = _debate(transport) if name == "dual-position" else _verify(folder / f"{repeat}.db", transport)
                seconds, calls[name] = await timed
                if repeat:
                    best[name] = min(best[name], seconds)
    return best, calls


async def _verify(path: Path, transport: Transport) -> tuple[float, int]:
    claim = Claim(text="The bridge at Orvell was opened in 1889.", labels=TWO)
    settings = {"tools": ("tavily",)}
    with (
        open_memory(path, settings=MemorySettings(by="both")) as memory,
        Verifier(
            method="mermaid", model="for-model", settings=settings, memory=memory, transport=transport
        ) as verifier,
    ):
        began = time.perf_counter()
        verdict = await verifier.verify(claim)
        seconds = time.perf_counter() - began
    if verdict.error:
        raise SystemExit(verdict.error.what)
    return seconds, verdict.usage.calls


async def _debate(transport: Transport) -> tuple[float, int]:
    claim = Claim(text="The bridge at Orvell was opened in 1889.", labels=TWO)
    settings = {"tools": ("tavily",), "min_rounds": 2, "max_rounds": 2}
    with Verifier(method="dual-position", model="for-model", settings=settings, transport=transport) as verifier:
        began = time.perf_counter()
        verdict = await verifier.verify(claim)
        seconds = time.perf_counter() - began
    if verdict.error:
        raise SystemExit(verdict.error.what)
    return seconds, verdict.usage.calls
