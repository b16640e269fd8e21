"""How long a trivial handler of an application takes while it checks fifty answers at a time (docs/embedding.md)."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

import redargue

AT_A_TIME = 50
_numbers = itertools.count(100, 100)


def texts() -> tuple[str, str]:
    """An answer of five sentences and a document of thirty paragraphs, other ones each time."""
    first = next(_numbers)
    paragraphs = [
        f"The bridge number {n} at Orvell was opened in {1800 + n}. It is {300 + n} metres long, with {n + 3} lanes."
        f" The council paid {first + n} pounds for it, and the engineer Mary Holt drew its plans in {1790 + n}."
        for n in range(first, first + 30)
    ]
    answer = (
        f"The bridge number {first + 7} at Orvell was opened in {1807 + first}. It is {312 + first} metres long."
        f" It carries {first + 9} lanes. Mary Holt drew its plans. The council paid {first + first} pounds for it."
    )
    return answer, "\n\n".join(paragraphs)


def application(direct: bool) -> Starlette:
    """With ``direct``, answers are checked in the application's own loop."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with redargue.Background(waiting=AT_A_TIME) as background:
            await background.run(redargue.warm_up())
            app.state.background = background
            yield

    async def answer(request: Request) -> JSONResponse:
        text, document = texts()
        check = redargue.ground(text, contexts=[document], method="single-reader")
        report = await (check if direct else request.app.state.background.run(check))
        return JSONResponse({"outcome": report.outcome})

    async def ping(request: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    return Starlette(routes=[Route("/ping", ping), Route("/answers", answer, methods=["POST"])], lifespan=lifespan)


async def _measured(url: str, seconds: float) -> dict[str, Any]:
    stop = asyncio.Event()
    answers: list[float] = []
    pings: list[float] = []

    async def ask(client: httpx2.AsyncClient) -> None:
        while not stop.is_set():
            began = time.perf_counter()
            (await client.post(f"{url}/answers")).raise_for_status()
            answers.append(time.perf_counter() - began)

    limits = httpx2.Limits(max_connections=AT_A_TIME)
    async with httpx2.AsyncClient(timeout=900, limits=limits) as client, httpx2.AsyncClient(timeout=900) as other:
        began = time.perf_counter()
        await client.post(f"{url}/answers")
        first = time.perf_counter() - began
        asking = [asyncio.create_task(ask(client)) for _ in range(AT_A_TIME)]
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            await other.get(f"{url}/ping")
            pings.append(time.perf_counter() - began)
            await asyncio.sleep(0.02)
        done = len(answers)
        stop.set()
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    pings.sort()
    shares = {name: round(1000 * pings[int(share * (len(pings) - 1))], 1) for name, share in _SHARES.items()}
    return {"first answer, ms": round(1000 * first), "answers": done, "other handler": len(pings), **shares}


_SHARES = {"p50, ms": 0.5, "p95, ms": 0.95, "p99, ms": 0.99, "slowest, ms": 1.0}


def main(arguments: list[str]) -> None:
    """Prints both ways; ``--serve`` is the application's process."""
    parser = argparse.ArgumentParser(prog="embedded")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--serve", type=int, default=0)
    parser.add_argument("--direct", action="store_true")
    options = parser.parse_args(arguments)
    if options.serve:
        uvicorn.run(application(options.direct), port=options.serve, log_level="error")
        return
    for way in ("direct", "background"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "benchmarks", "embedded", "--serve", str(port)]
        with subprocess.Popen(
            [*command, *(["--direct"] if way == "direct" else [])], stdout=subprocess.DEVNULL
        ) as server:
            try:
                while True:
                    try:
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    except OSError:
                        time.sleep(0.1)
                figures = asyncio.run(_measured(f"http://127.0.0.1:{port}", options.seconds))
            finally:
                server.kill()
        load = round(os.getloadavg()[0], 1)
        print(json.dumps({"answers in": way, **figures, "load of the machine": load}), flush=True)
