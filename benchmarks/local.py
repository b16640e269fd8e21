"""Any method with a real language model, however small: can its replies be read.

Any endpoint: ``REDARGUE_BASE_URL=… python -m benchmarks local --model NAME``. A model of 135 million parameters judges
nothing well; what is measured is plumbing: replies that could be read at first, after the one repair, never; debates
that end in a label. ``--method mermaid --response-format tools`` has it call functions. ``--keep FILE`` writes the raw
replies down, one JSON object a line. ``--method all --claims 1`` runs every method, and sums over all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from redargue.claims import Claim
from redargue.events import CallFailed, CallFinished, Event
from redargue.methods.base import methods
from redargue.verifier import Verifier

SETTINGS: dict[str, dict[str, Any]] = {
    "tool-mad": {"top_k": 2, "relevance_threshold": 0.99},  # so that no round is the last
    "mermaid": {"top_k": 2, "memory": "off"},
    "self-consistency": {"n": 3},
    "best-of-n": {"n": 3},
}
CLAIMS = Path(__file__).parent.parent / "examples" / "claims.jsonl"


def main(arguments: list[str]) -> None:
    """Prints a line a debate and the sums."""
    parser = argparse.ArgumentParser(prog="local")
    parser.add_argument("--model", default="")
    parser.add_argument("--claims", type=int, default=5)
    parser.add_argument("--method", action="append", choices=["all", *methods], help="tool-mad; repeat it")
    parser.add_argument("--rounds", type=int, default=2, help="of a debate")
    parser.add_argument("--response-format", default="auto")
    parser.add_argument("--profile", default="hardened")
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    if not options.model:
        print("local needs an endpoint: set REDARGUE_BASE_URL and give --model NAME")
        return
    rows = [json.loads(line) for line in CLAIMS.read_text(encoding="utf-8").splitlines()[: options.claims]]
    claims = [Claim(text=row["claim"]) for row in rows]
    events: list[Event] = []
    chosen = options.method or ["tool-mad"]
    chosen = list(methods) if "all" in chosen else chosen
    for method in chosen:
        events += _run(method, claims, options)
    if len(chosen) > 1:
        print(json.dumps(_sums(events)))
    if options.keep:
        options.keep.write_text("".join(json.dumps(reply) + "\n" for reply in _replies(events)), encoding="utf-8")


def _run(method: str, claims: list[Claim], options: argparse.Namespace) -> list[Event]:
    events: list[Event] = []
    settings = SETTINGS.get(method, {}) | ({"rounds": options.rounds} if method == "tool-mad" else {})
    with Verifier(
        method=method,
        model=options.model,
        profile=options.profile,
        store="starter",
        settings=settings,
        response_format=options.response_format,
        max_tokens=options.max_tokens,
        claims=claims,
    ) as verifier:
        for item, claim in enumerate(claims):
            began = time.perf_counter()
            verdict = asyncio.run(verifier.verify(claim, item=item, listeners=[events.append]))
            outcome = verdict.error.what if verdict.error else f"{verdict.label} by {verdict.decided_by}"
            row = {
                "method": method,
                "claim": claim.text,
                "outcome": outcome,
                "rounds": verdict.rounds,
                "calls": verdict.usage.calls,
            }
            print(json.dumps(row | {"seconds": round(time.perf_counter() - began)}), flush=True)
    print(json.dumps(_sums(events)), flush=True)
    return events


def _sums(events: list[Event]) -> dict[str, Any]:
    finished = [event for event in events if isinstance(event, CallFinished) and event.charge == "call"]
    failed = [event for event in events if isinstance(event, CallFailed) and event.error.type == "BadReply"]
    first = sum(len(event.outputs) - len(event.rejected) for event in finished)
    repaired = sum(len(event.rejected) for event in finished)
    asked = first + repaired + len(failed)
    return {
        "answers wanted": asked,
        "read at first": f"{first} ({first / asked:.1%})" if asked else "0",
        "read after one repair": repaired,
        "never": len(failed),
    }


def _replies(events: list[Event]) -> list[dict[str, str]]:
    """Every raw reply with its task; good ones with what was read."""
    kept = []
    for event in events:
        if isinstance(event, CallFinished) and event.charge == "call":
            kept += [{"task": event.task, "reply": output["text"]} for output in event.outputs]
            kept += [{"task": event.task, "reply": bad["raw"], "why": bad["why"]} for bad in event.rejected]
        elif isinstance(event, CallFailed) and event.raw:
            kept.append({"task": event.task, "reply": event.raw, "why": event.error.what})
    return kept
