"""Every method's calls, depth and wall time, and ``docs/methods.md``, which is written from the methods themselves.

Over real HTTP on loopback: 300 ms a call, 150 ms a search, 50 ms an embedding. A method's floor is what its longest
path takes in the dry run, of three (low, likely, high), that makes as many calls as were counted.
``python -m benchmarks methods`` measures and writes, ``--only NAME`` one method, ``--write`` writes without measuring.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.speed import LATENCY, REPEATS, addresses, served
from redargue.claims import TWO, Claim
from redargue.methods.base import ConfiguredMethod, Deviation, Method, configure, methods
from redargue.methods.dry_run import Costs, costs
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.spec import RunSpec
from redargue.verifier import Verifier

CLAIM = Claim(text="The bridge at Orvell was opened in 1889.", labels=TWO)
FIGURES = Path(__file__).parent / "methods.json"
PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
AT_ONCE = 16
PEERS = {  # of the same server, with the authors' own programs
    "fire": "FIRE's program: 2 searches, 3 calls; claims one after another",
    "factool": "FacTool's program: 3 calls deep",
    "safe": "SAFE's program: 8 calls deep, always 5 searches",
    "factcheck-gpt": "Loki, its successor: 16 calls",
}


def main(arguments: list[str]) -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks methods")
    parser.add_argument("--only", metavar="NAME", action="append", help="this method; repeat it")
    parser.add_argument("--write", action="store_true", help="measure nothing")
    given = parser.parse_args(arguments)
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    if not given.write:
        with served("agreeing") as server:
            os.environ |= addresses(server.url)
            server.set_behaviour(**LATENCY)
            for name in given.only or ours():
                figures[name] = asyncio.run(_measured(name))
                print(json.dumps({"method": name, **figures[name]}), flush=True)
        known = {name: figures[name] for name in sorted(figures) if name in methods}
        FIGURES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")


def ours() -> list[str]:
    """The bundled methods; a user's own are registered beside them."""
    return [name for name in methods if methods[name].__module__.startswith("redargue.")]


def configured(name: str) -> ConfiguredMethod:
    """A method that searches the loopback service with each of its tools."""
    fields = methods[name].settings_class.model_fields
    debate = {"debaters": ("tavily", "tavily"), "shared_reading": "each"}
    own = {**debate, "tools": ("tavily",), "memory": "off"}
    settings = {field: value for field, value in own.items() if field in fields}
    if not configure(name, "hardened", {}).tools():
        settings.pop("tools", None)  # closed-book as published
    return configure(name, "hardened", settings)


async def _measured(name: str) -> dict[str, Any]:
    """The best of some runs after one that makes connections; then many claims at once, against one."""
    async with Transport(limiter()) as transport:
        runs = [await _verify(name, transport, 1) for _ in range(REPEATS + 1)][1:]
        seconds, calls, searches = min(runs)
        many = (await _verify(name, transport, AT_ONCE))[0]
    deep = _depth(costs(configured(name)), calls, searches)
    floor = deep and round((deep[0] * LATENCY["chat_ms"] + deep[1] * LATENCY["search_ms"]) / 1e3, 2)
    return {
        "seconds": round(seconds, 3),
        "calls": calls,
        "searches": searches,
        "depth": deep and deep[0],
        "floor": floor,
        "above": f"{100 * (seconds / floor - 1):.1f} %" if floor else None,
        "many": round(many / seconds, 2),
    }


def _depth(known: Costs, calls: int, searches: int) -> tuple[int, int] | None:
    """Calls and searches on the longest path of what was counted; None where no dry run makes as many."""
    if all(run.model_calls == run.call_depth for run in known):
        return calls, min(searches, max(run.search_depth for run in known))  # one after another, however many
    run = next((run for run in known if (run.model_calls, run.searches.total()) == (calls, searches)), None)
    return (run.call_depth, run.search_depth if searches else 0) if run else None


async def _verify(name: str, transport: Transport, many: int) -> tuple[float, int, int]:
    """Seconds, and the calls and searches of one claim."""
    settings = configured(name).settings.model_dump(include={"debaters", "shared_reading", "tools", "memory"})
    spec = RunSpec(method=name, model="for-model", embedding_model="loopback-embedding", settings=settings)
    with Verifier(spec, transport=transport) as verifier:
        claims = [CLAIM.model_copy(update={"text": f"{CLAIM.text.removesuffix('.')} ({at})."}) for at in range(many)]
        began = time.perf_counter()
        verdicts = await verifier.verify_all(claims, concurrency=many)
        seconds = time.perf_counter() - began
    for verdict in verdicts:
        if verdict.error:
            raise SystemExit(f"{name}: {verdict.error.what}")
    return seconds, verdicts[0].usage.calls, verdicts[0].usage.searches


def page(figures: dict[str, Any]) -> str:
    """The whole of ``docs/methods.md``."""
    order = sorted(ours(), key=lambda name: ("baselines" in methods[name].__module__, name))
    return "\n\n".join([_HEAD, *(_entry(name, figures.get(name)) for name in order)]) + "\n"


_HEAD = """\
# Methods

Generated from the methods by `python -m benchmarks methods`; do not edit.

Calls and depth are those of three dry runs of a claim of one sentence (low / likely / high): its agents agree; they
change their minds once; they never agree, and ask for more until a limit ends it. *Depth* counts calls that wait for
one another. In the call graphs `->` waits, `|` is concurrent, `xN` repeats. *Counted* is what one claim took, over HTTP
on loopback with a model that agrees; embeddings count neither as calls nor as depth. Both are of `hardened` with one
search tool, which two debaters share, each reading what it finds, and without an evidence memory; a second tool adds
its searches. `python -m benchmarks methods` measures the time of each method. `redargue list methods` shows every
setting.

Where a paper's prompts have examples, redargue has its own; `--prompts DIR` reads the paper's."""


def _entry(name: str, figure: dict[str, Any] | None) -> str:
    method = configured(name)
    kind = method.kind
    known = costs(method)
    searched = " / ".join(str(run.searches.total()) for run in known)
    rows = [
        f"- **Paper**: {kind.paper}",
        f"- **Call graph**: {kind.graph}",
        f"- **Calls**: {' / '.join(str(run.model_calls) for run in known)}; depth"
        f" {' / '.join(str(run.call_depth) for run in known)}; searches {searched}",
    ]
    if figure:
        counted = f"{figure['calls']} call{'s' * (figure['calls'] != 1)}"
        searches = f"{figure['searches']} search{'es' * (figure['searches'] != 1)}"
        rows.append(f"- **Counted**: {counted}, {searches}" + (f" ({PEERS[name]})" if name in PEERS else ""))
    embedded = EmbeddedBackend()
    lacking = sorted({task.name() for task in method.tasks() if not embedded.can(task)})
    rows.append(
        "- **Without a language model**: "
        + (f"no (needs a model for {', '.join(lacking)})" if lacking else "yes (`embedded`)")
    )
    rows.append("- **Profiles**: " + ", ".join(f"`{profile}`" for profile in kind.profiles))
    if kind.few_shot:
        rows.append("- **Examples in prompts**: redargue's own; they differ from the paper's")
    rows += [_deviation(deviation) for deviation in kind.deviations()]
    return "\n".join([f"## {name}", "", _paragraph(kind), "", *rows])


def _paragraph(kind: type[Method]) -> str:
    """What the method's file says of it; if several methods share the file, what the method says of itself."""
    shared = sum(methods[name].__module__ == kind.__module__ for name in ours()) > 1
    described = kind if shared else sys.modules[kind.__module__]
    return inspect.cleandoc(described.__doc__ or "").replace("``", "`")


def _deviation(row: Deviation) -> str:
    name, _, profile = row.setting.partition("=")
    how = f"`--profile {profile}` (in `bench run`, `METHOD@{profile}`)" if name == "profile" else f"`{row.setting}`"
    restored = f"; {how} restores the original" if row.setting else ""
    return f"- **{row.id}** The original: {row.original}. Effect: {row.effect}. In redargue: {row.here}{restored}."
