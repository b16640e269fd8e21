"""An answer of twenty claims against its document: calls, seconds and verdicts, in one pass and claim by claim.

    python -m benchmarks one_pass

The model is the loopback service, which takes 300 ms a request and is right: it supports a claim that the document
states, quoting it, and refutes one of another hall, quoting the sentence on the same lamp. So the figures say what a
method costs, not how well a model reads.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import time
from typing import Any

from benchmarks import markdown
from benchmarks.speed import addresses
from redargue import ground
from support.loopback import Ask, Behaviour, Loopback
from support.scripts import plain_fences

METHODS = ("one-pass", "single-reader", "pair", "tool-mad")
CLAIMS = 20
HEADER = ("method", "claims of 20 that are wrong", "found", "calls", "seconds", "seconds / call")
_LAMP = "Lamp {lamp} of the old station hangs in hall {hall}."
DOCUMENT = " ".join(_LAMP.format(lamp=lamp, hall=lamp + 40) for lamp in range(1, 31))


def answer(wrong: int) -> str:
    """Twenty sentences of the document, ``wrong`` of which name another hall."""
    halls = [lamp + (70 if lamp <= wrong else 40) for lamp in range(1, CLAIMS + 1)]
    return " ".join(_LAMP.format(lamp=lamp, hall=hall) for lamp, hall in enumerate(halls, 1))


def reader(ask: Ask) -> dict[str, Any] | None:
    """What a model says that reads each claim rightly."""
    user = plain_fences(ask.user)
    if ask.role == "ExtractClaims":
        found = re.findall(r"\[(\d+)\] (.+)", user)
        return {"claims": [{"sentence": int(number), "claim": text} for number, text in found]}
    if ask.role in ("ReadClaims", "DoubtClaims"):
        found = re.findall(r"(?m)^\[(\d+)\] (Lamp.+)$", user.rpartition("Claims:")[2])
        return {
            "readings": [
                {"claim": int(number), "document": 1, "comparison": "", **_read(text)} for number, text in found
            ]
        }
    claim = re.search(r"Claim: *(?:<data>)?\s*(Lamp[^<\n]+)", user)
    if ask.role in ("AnswerClaim", "DoubtClaim", "JudgeDebate") and claim:
        return {"reasoning": "", **_read(claim[1].strip())}
    if ask.role in ("WriteQuery", "RewriteQuery") and claim:
        return {"keep": False, "query": claim[1].strip()}
    return None


def _read(claim: str) -> dict[str, Any]:
    lamp = int(re.findall(r"\d+", claim)[0])
    stated = _LAMP.format(lamp=lamp, hall=lamp + 40)
    return {"quotes": [stated], "label": "SUPPORTS" if stated == claim else "REFUTES"}


def main(arguments: list[str]) -> None:
    """Prints a row for each method and share of wrong claims."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks one_pass", description=__doc__)
    parser.parse_args(arguments)
    rows = []
    with Loopback(reader, behaviour=Behaviour(chat_ms=300)) as server:
        os.environ |= addresses(server.url)
        asyncio.run(_grounded("one-pass", 0))  # loads the models
        for wrong in (0, 2, 5):
            for method in METHODS:
                found, calls, seconds = asyncio.run(_grounded(method, wrong))
                rows.append((method, wrong, found, calls, f"{seconds:.1f}", f"{seconds / calls:.2f}"))
    print(markdown.table(HEADER, rows))


async def _grounded(method: str, wrong: int) -> tuple[int, int, float]:
    """Refuted claims, calls and seconds of an answer."""
    began = time.perf_counter()
    report = await ground(answer(wrong), contexts=[DOCUMENT], method=method, model="loopback")
    seconds = time.perf_counter() - began
    if failed := [each.verdict.error for each in report.claims if each.verdict.error]:
        raise SystemExit(f"{method}: {failed[0].what}")
    return sum(each.verdict.label == "REFUTES" for each in report.claims), report.usage.calls, seconds
