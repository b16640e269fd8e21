"""What the checking proxy adds to an answer's time: until the first token, and after the last one.

An upstream on loopback streams an answer of eight sentences about documents of some 4,000 tokens; the default reader
checks it. ``last`` is the time between the upstream's finish chunk and the client's, with the proxy in between, at a
usual pace of tokens and with all of them at once; ``first`` is the time until the first text: directly, and through the
proxy without and with a check. Unless ``--same`` is given, every answer has documents of its own: a number in each
sentence makes it another text, so that hardly any is encoded already. In milliseconds, median and 95th percentile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from redargue.service.keys import Keys
from redargue.service.proxy.routes import make_proxy, proxy_router
from redargue.service.proxy.settings import LONGEST_TIMEOUT, ProxySettings
from redargue.text.grounder import warm_up

ANSWERS = Path(__file__).parent / "chatbot_answers.jsonl"
ARTICLES = Path(str(files("redargue.retrieval.corpus") / "starter"))
SENTENCES, CHARACTERS, TOKEN = 8, 16_000, 4  # 4 characters a token, as in English
PACE = 50.0  # tokens a second

Send = Callable[[dict[str, Any]], Awaitable[None]]


class _Upstream:
    """Streams the answer that the request's last message quotes; ``ended`` is when its finish chunk was sent."""

    def __init__(self) -> None:
        self.pace, self.ended = PACE, 0.0

    async def __call__(self, scope: Mapping[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        raw = b""
        while (message := await receive())["type"] == "http.request":
            raw += message["body"]
            if not message.get("more_body"):
                break
        answer = json.loads(raw)["messages"][-1]["content"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for at in range(0, len(answer), TOKEN):
            await send(
                {"type": "http.response.body", "body": _chunk({"content": answer[at : at + TOKEN]}), "more_body": True}
            )
            if self.pace:
                await asyncio.sleep(1 / self.pace)
        self.ended = time.perf_counter()
        await send({"type": "http.response.body", "body": _chunk({}, "stop") + b"data: [DONE]\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n".encode()


@asynccontextmanager
async def _served(application: Any, lifespan: Any) -> AsyncIterator[str]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(application, interface="asgi3", lifespan=lifespan, log_config=None, log_level="critical")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started:  # noqa: ASYNC110  (uvicorn sets no event)
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


def main(arguments: list[str]) -> None:
    """Prints a line of JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks proxy", description=__doc__)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--same", action="store_true", help="the same documents for every answer")
    given = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(_run(given.answers, same=given.same))))


async def _run(count: int, *, same: bool) -> dict[str, object]:
    upstream = _Upstream()
    cases = _cases(count, same=same)
    await warm_up()
    async with _served(upstream, "off") as url:
        application = FastAPI()
        application.state.keys = Keys()
        settings = ProxySettings(upstream=f"{url}/v1", timeout_s=LONGEST_TIMEOUT)
        application.include_router(proxy_router(make_proxy(settings, key="")))
        async with _served(application, "on") as through, httpx2.AsyncClient(timeout=120) as client:
            await _one(client, through, upstream, "Bees fly.", "Bees are insects. They fly.")
            direct = [(await _one(client, url, upstream, answer, ""))[0] for answer, _ in cases]
            unread = [(await _one(client, through, upstream, answer, "", mode="off"))[0] for answer, _ in cases]
            paced = [await _one(client, through, upstream, answer, context) for answer, context in cases]
            upstream.pace = 0.0
            other = _cases(2 * count, same=same)[count:]
            together = [await _one(client, through, upstream, answer, context) for answer, context in other]
    return {
        "answers": count,
        "same documents": same,
        "claims": round(statistics.mean(row[2] for row in paced), 1),
        "load": os.getloadavg()[0],
        "first, directly": _figures(direct),
        "first, mode off": _figures(unread),
        "first, through the proxy": _figures([row[0] for row in paced]),
        f"last, at {PACE:g} tokens/s": _figures([row[1] for row in paced]),
        "last, all at once": _figures([row[1] for row in together]),
    }


def _cases(count: int, *, same: bool) -> list[tuple[str, str]]:
    """Answers of eight sentences, and documents: those of their sentences among articles on other things."""
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    articles = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(ARTICLES.rglob("*.md")))
    cases = []
    for number in range(count):
        chosen = [rows[(0 if same else 3 * number + at) % len(rows)] for at in range(3)]
        sentences = [sentence for row in chosen for sentence in row["sentences"]][:SENTENCES]
        start = 0 if same else (number * CHARACTERS) % max(1, len(articles) - CHARACTERS)
        own = "\n\n".join(row["context"] for row in chosen)
        context = f"{own}\n\n{articles[start : start + CHARACTERS - len(own)]}"
        answer = " ".join(sentences)
        cases.append(
            (answer, context) if same else (_numbered(answer, number), _numbered(context, number)[:CHARACTERS])
        )
    return cases


def _numbered(text: str, number: int) -> str:
    """The text with a number in each sentence, so that none of another answer is the same."""
    return re.sub(r"(?<=\w\w)([.!?])(?=\s|$)", rf" in part {number}\1", text)


async def _one(
    client: httpx2.AsyncClient, url: str, upstream: _Upstream, answer: str, context: str, *, mode: str = "annotate"
) -> tuple[float, float, int]:
    """Milliseconds until the first text and after the last, and the number of claims."""
    body: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": answer}]}
    if context:
        body["redargue"] = {"contexts": [context], "timeout_s": LONGEST_TIMEOUT}
    headers = {"x-redargue-mode": mode}
    began, first, claims = time.perf_counter(), 0.0, 0
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=headers) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choice = json.loads(line[6:])["choices"][0]
                first = first or time.perf_counter()
                if choice["finish_reason"]:
                    ended = time.perf_counter()
                    claims = len(choice["delta"].get("redargue", {}).get("claims", ()))
    return 1000 * (first - began), 1000 * (ended - upstream.ended), claims


def _figures(values: list[float]) -> dict[str, float]:
    last = statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return {"median": round(statistics.median(values), 1), "p95": round(last, 1)}
