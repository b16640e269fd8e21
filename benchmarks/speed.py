"""How long whole debates take over real HTTP on loopback, against what their calls take one after another.

300 ms a call, 150 ms a search, 50 ms an embedding: the floors are the critical paths of Algorithm 1 (four calls and a
search a round), so the debates are Tool-MAD's in the profile ``paper``; ``hardened`` asks less. The server counts the
calls, and any other number than the expected one ends the benchmark. Then redargue's own cost, at no latency at all.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.methods.tool_mad import ToolMad
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.run import Run
from redargue.verifier import Verifier

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.debates import ShelfTool, answer, checked, script
from support.loopback import LoopbackProcess

LATENCY = {"chat_ms": 300, "search_ms": 150, "embedding_ms": 50}
METHOD, PROFILE = "tool-mad", "paper"
STILL = {"chat_ms": 0, "search_ms": 0, "embedding_ms": 0}
REPEATS = 3
CLAIM = Claim(text="The bridge at Orvell was opened in 1889.")


class Case(NamedTuple):
    """A course of debate: the server's script, its settings, the floor in seconds, the calls with n and without."""

    name: str
    script: str
    settings: dict[str, Any]
    floor: float
    calls: tuple[int, int]


CASES = (
    Case("one round", "agreeing", {"rounds": 1}, 1.35, (10, 14)),
    Case("three rounds, disagreeing, judge", "disagreeing", {}, 3.15, (31, 43)),
    Case("three rounds, agreeing under the thresholds, judge", "doubtful", {}, 4.35, (31, 43)),
)


@contextmanager
def served(name: str) -> Iterator[LoopbackProcess]:
    """The loopback server with one of ``support.scripts``."""
    with LoopbackProcess(f"support.scripts:{name}") as server:
        yield server


def addresses(url: str) -> dict[str, str]:
    """The environment in which a model and two search services are the loopback server, which no rate holds back."""
    return {
        "REDARGUE_BASE_URL": f"{url}/v1",
        "REDARGUE_API_KEY": "sk-loopback-1",
        "REDARGUE_TAVILY_URL": f"{url}/tavily",
        "TAVILY_API_KEY": "tvly-loopback-1",
        "REDARGUE_TAVILY_REQUESTS_PER_MINUTE": "1000000",
        "REDARGUE_SERPER_URL": f"{url}/serper",
        "SERPER_API_KEY": "serper-loopback-1",
    }


def verifier(url: str, *, profile: str, **options: Any) -> Verifier:
    """Tool-MAD with two debaters, each with its own model and search service, at the loopback server."""
    os.environ |= addresses(url)
    settings = {"debaters": ("tavily", "google"), **options.pop("settings", {})}
    return Verifier(
        method=METHOD,
        profile=profile,
        model="judge-model",
        models={"tavily": "for-model", "google": "against-model"},
        embedding_model="loopback-embedding",
        settings=settings,
        **options,
    )


def measure_floors() -> list[dict[str, Any]]:
    """Each course, with n samples in one request and without."""
    rows = []
    for case in CASES:
        with served(case.script) as server:
            for place, refused in enumerate(((), ("n",))):
                server.set_behaviour(**LATENCY, refuse=list(refused))
                seconds, calls = asyncio.run(_timed(server, case.settings))
                expected = case.calls[place]
                if calls != expected:
                    sys.exit(f"{case.name!r} took {calls} calls instead of {expected}: its floor does not hold")
                floor = case.floor
                rows.append(
                    {
                        "debate": case.name,
                        "method": METHOD,
                        "profile": PROFILE,
                        "n": "one request" if place == 0 else "three requests",
                        "seconds": round(seconds, 3),
                        "floor": floor,
                        "over": f"{seconds / floor - 1:+.1%}",
                        "calls": calls,
                    }
                )
    return rows


async def _timed(server: LoopbackProcess, settings: dict[str, Any]) -> tuple[float, int]:
    """The best of some debates, after a warm-up that opens connections and detects the endpoint."""
    with verifier(server.url, profile=PROFILE, settings=settings) as bench:
        best = 1e9
        async with bench.transport:
            verdict = await bench.verify(CLAIM)
            assert verdict.error is None, verdict.error
            for _ in range(REPEATS):
                server.reset()
                began = time.perf_counter()
                verdict = await bench.verify(CLAIM)
                best = min(best, time.perf_counter() - began)
                assert verdict.error is None, verdict.error
    return best, server.counts().requests["chat"]


def measure_own_cost() -> list[dict[str, Any]]:
    """The 31 calls with nothing to wait for."""
    rows = []
    parts = script(AnswerClaim=answer("SUPPORTS"), CheckStatements=checked(0, 0))
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}

    async def scripted() -> float:
        run = Run(ScriptedBackend(parts), tools)
        began = time.perf_counter()
        await ToolMad(ToolMadSettings(), CLAIM, run).verify()
        assert run.usage.calls == 31, run.usage
        return time.perf_counter() - began

    best = min(asyncio.run(scripted()) for _ in range(20))
    rows.append({"own cost of 31 calls": "scripted backend", "ms": round(1000 * best, 1), "limit": 30})
    with served("doubtful") as server:
        server.set_behaviour(**STILL)
        for stream in (False, True):
            seconds = asyncio.run(_many(server, stream))
            rows.append(
                {
                    "own cost of 31 calls": f"loopback HTTP{', streamed' * stream}",
                    "ms": round(1000 * seconds, 1),
                    "limit": 100,
                }
            )
    return rows


async def _many(server: LoopbackProcess, stream: bool) -> float:
    times = []
    with verifier(server.url, stream=stream, profile=PROFILE) as bench:
        async with bench.transport:
            for _ in range(12):
                began = time.perf_counter()
                verdict = await bench.verify(CLAIM)
                times.append(time.perf_counter() - began)
                assert verdict.usage.calls == 31, verdict.error
    return min(times[1:])


PEERS = (
    {"peer": "Tool-MAD's authors' program, its order of calls", "seconds": 18.1},
    {"peer": "ragas, both metrics of one answer", "seconds": 0.75},
    {"peer": "FIRE, one claim", "seconds": 1.23},
)


def main(arguments: list[str]) -> None:
    """Prints the floors and redargue's own cost; beside them what others take at the same latencies, as measured."""
    for row in (*measure_floors(), *measure_own_cost(), *PEERS):
        print(json.dumps(row), flush=True)
