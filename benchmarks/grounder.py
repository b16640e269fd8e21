"""The time of one new claim against documents: by ``ground``, by a ``Grounder`` that keeps them encoded, and repeated.

The example claims, each against the starter articles that its row names. Before each measurement the models' outputs
are forgotten and another claim is checked, so that the measured one is the second call. Processor time, of which the
models' own is apart, depends less on other processes than wall time does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import redargue
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.cache import Floats
from redargue.nli.embedder import shared
from redargue.nli.entailment import CrossEncoder
from redargue.nli.session import Session

EXAMPLES = Path(__file__).parents[1] / "examples" / "claims.jsonl"
ARTICLES = Path(str(files("redargue.retrieval.corpus") / "starter"))
WARM = "This article was written by nobody."

Ground = Callable[[str], Awaitable[redargue.Report]]


def main(arguments: list[str]) -> None:
    """Prints a line of JSON: milliseconds, median and 95th percentile."""
    parser = argparse.ArgumentParser(prog="benchmarks grounder", description=__doc__)
    parser.add_argument("--method", default="single-reader")
    parser.add_argument("--limit", type=int, default=50)
    given = parser.parse_args(arguments)
    rows = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()][: given.limit]
    texts = [path.read_text(encoding="utf-8") for path in sorted(ARTICLES.glob("*.md"))]
    articles = {text.split("\n", 1)[0].lstrip("# "): text for text in texts}
    print(json.dumps({"method": given.method, **asyncio.run(_measured(given.method, rows, articles))}), flush=True)


async def _measured(method: str, rows: list[dict[str, Any]], articles: dict[str, str]) -> dict[str, Any]:
    clock = _ModelTime()
    times: dict[str, list[tuple[float, float, float]]] = {"ground": [], "grounder": [], "repeated": []}
    for row in rows:
        contexts = [articles[title] for title in row["titles"]]

        async def by_ground(claim: str, contexts: list[str] = contexts) -> redargue.Report:
            return await redargue.ground(claim, contexts=contexts, method=method)

        times["ground"].append(await clock.second_call(by_ground, row["claim"]))
        _forget()
        with redargue.Grounder(contexts, method=method) as grounder:
            times["grounder"].append(await clock.second_call(grounder.ground, row["claim"], forget=False))
            times["repeated"].append(await clock.call(grounder.ground, row["claim"]))
    names = ("cpu", "models", "wall")
    summary = {
        name: {part: _summary([each[at] for each in measured]) for at, part in enumerate(names)}
        for name, measured in times.items()
    }
    words = statistics.median(sum(len(articles[title].split()) for title in row["titles"]) for row in rows)
    return {"claims": len(rows), "words_of_context": words, **summary}


def _summary(seconds: list[float]) -> list[float]:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return [round(1000 * ordered[int(share * (len(ordered) - 1))], 1) for share in (0.5, 0.95)]


def _forget() -> None:
    for model in (shared(0)._session, _cross_encoder()._session):
        model._known.clear()


def _cross_encoder() -> CrossEncoder:
    model = EmbeddedBackend().entailment
    assert isinstance(model, CrossEncoder)
    return model


class _ModelTime:
    """Sums the processor time of the models' threads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        output = Session._output

        def timed(session: Session, row: Any) -> Floats:
            started = time.thread_time()
            result = output(session, row)
            self.seconds += time.thread_time() - started
            return result

        Session._output = timed  # type: ignore[method-assign,assignment]

    async def second_call(self, ground: Ground, claim: str, *, forget: bool = True) -> tuple[float, float, float]:
        if forget:
            _forget()
        await ground(WARM)
        return await self.call(ground, claim)

    async def call(self, ground: Ground, claim: str) -> tuple[float, float, float]:
        """Processor time, that of the models, wall time."""
        before, wall, cpu = self.seconds, time.perf_counter(), time.process_time()
        await ground(claim)
        return time.process_time() - cpu, self.seconds - before, time.perf_counter() - wall
