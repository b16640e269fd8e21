"""Requests that a debate does not repeat, and prompt prefixes that a provider could read from its cache.

Over HTTP on loopback, counted by the server; ``tool-mad``, ``hardened``, with ``keep_unchanged`` off and on. The debate
of 31 calls, whose debaters rewrite their queries each round or keep them; ten debates that agree on "not enough" with
scores above the thresholds, and ten below them; 100 claims, of which a third agree, a third agree below the thresholds
and a third disagree. Prefixes as OpenAI counts them (prompts of 1,024 tokens and more, steps of 128), also with three
documents of 4,500 characters, and as a server with blocks of 16 tokens does; four characters count as a token.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.net.transport import Service, Transport
from redargue.verifier import Verifier

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.debates import ShelfTool
from support.loopback import Loopback
from support.scripts import agreeing, disagreeing, doubtful

MODELS = {"corpus": "for-model", "keywords": "against-model"}


def keeping(course: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The course of a debate whose debaters keep their queries."""

    def script(ask: Any) -> Any:
        said = course(ask)
        return {"keep": True, "query": ""} if isinstance(said, dict) and "keep" in said else said

    return script


def undecided(course: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The course of a debate in which every answer is "not enough", which a question generator calls noncommittal."""

    def script(ask: Any) -> Any:
        said = course(ask)
        if not isinstance(said, dict):
            return said
        changed = {"label": "NOT ENOUGH INFO", "noncommittal": 1}
        return said | {name: value for name, value in changed.items() if name in said}

    return script


def mixed(ask: Any) -> Any:
    """The claim's number decides who agrees."""
    number = re.search(r"bridge number (\d+)", ask.system + ask.user)
    return (agreeing, keeping(doubtful), keeping(disagreeing))[int(number[1]) % 3 if number else 0](ask)


LONG = tuple(
    Passage(
        title=f"Orvell, part {part}",
        text=" ".join(
            f"Entry {part}.{at}: the bridge at Orvell was measured again, and {at * part + 7} rivets were replaced."
            for at in range(50)
        ),
    )
    for part in range(1, 4)
)
COURSES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "31 calls, new queries": (disagreeing, 1),
    "31 calls, kept queries": (keeping(disagreeing), 1),
    "ten agreed not-enough debates": (undecided(agreeing), 10),
    "ten not-enough debates below the thresholds, new queries": (undecided(doubtful), 10),
    "ten not-enough debates below the thresholds, kept queries": (undecided(keeping(doubtful)), 10),
    "100 claims": (mixed, 100),
}


def main(arguments: list[str]) -> None:
    """Prints a JSON line a course and setting."""
    os.environ.setdefault("REDARGUE_MODEL_REQUESTS_PER_MINUTE", "1000000")
    for name, (course, count) in COURSES.items():
        for keep in (False, True):
            print(
                json.dumps({"course": name, "keep_unchanged": keep} | asyncio.run(_held(course, count, keep))),
                flush=True,
            )
    for name in ("31 calls, new queries", "31 calls, kept queries"):
        for keep in (False, True):
            facts = asyncio.run(_held(COURSES[name][0], 1, keep, LONG))
            print(json.dumps({"course": f"{name}, long documents", "keep_unchanged": keep} | facts), flush=True)


async def _held(
    course: Callable[[Any], Any], count: int, keep: bool, passages: tuple[Passage, ...] = ()
) -> dict[str, Any]:
    claims = [Claim(text=f"The bridge number {at} at Orvell was opened in 1889.") for at in range(count)]
    with Loopback(course) as server:
        service = Service(name="model", url=f"{server.url}/v1")
        backend = ChatBackend(Transport(), service, "judge", embedding_model="loopback-embedding")
        options: dict[str, Any] = {"settings": {"keep_unchanged": keep}, "models": MODELS}
        evidence = {name: ShelfTool(name, *passages) for name in ("corpus", "keywords")}
        with Verifier(backend=backend, evidence=evidence, **options) as verifier:
            verdicts = await verifier.verify_all(claims, concurrency=4)
        prompts = [(body["model"], _text(body)) for body in map(_body, server.requests) if "messages" in body]
        requests = server.counts.requests["chat"]
    errors = [verdict.error.what for verdict in verdicts if verdict.error]
    labels = sorted({str(verdict.label) for verdict in verdicts})
    prefix = {"prefix_openai": _share(prompts, 1024, 128), "prefix_blocks_of_16": _share(prompts, 16, 16)}
    return {"requests": requests, "labels": labels, "errors": len(errors), **prefix}


def _body(request: Any) -> dict[str, Any]:
    return request.body if isinstance(request.body, dict) else {}


def _text(body: dict[str, Any]) -> str:
    return "\0".join(f"{message['role']}\0{message['content']}" for message in body["messages"])


def _share(prompts: Iterable[tuple[str, str]], least: int, step: int) -> float:
    """The share of prompt tokens in a prefix of an earlier prompt to the same model."""
    earlier: dict[str, list[str]] = defaultdict(list)
    cached = total = 0
    for model, prompt in prompts:
        total += len(prompt) // 4
        longest = max((_shared(prompt, other) // 4 for other in earlier[model]), default=0)
        cached += longest // step * step if longest >= least else 0
        earlier[model].append(prompt)
    return round(cached / total, 3) if total else 0.0


def _shared(first: str, second: str) -> int:
    """The number of characters with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
