"""Dual-position debate on claims and on whole responses, beside its paper's tables, and what each of its modules adds.

FacTool-QA and FactCheck-Bench over frozen evidence, HaluEval QA over its own knowledge; embedded backend. The debate
and its ablations have the profile ``paper``: in ``hardened`` a team's rebuttal and summary are one statement, and
analysts skip claims of one sentence. A response is factual if all its claims are, and factual is the positive class,
of claims too. At response level every claim of a response is needed: one that has no frozen search reads its own
passages (FactCheck-Bench), else those retrieved for the other claims of its response (FacTool-QA). A response has
claims of both halves; with ``--half even`` there are figures of claims alone, with ``--half odd`` whole responses are
counted, and the same with their odd claims alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks import pool
from benchmarks.responses_figures import Calls, notes, paired, published, show
from redargue.bench.datasets import Example, half_of, load
from redargue.bench.harness import Bench
from redargue.bench.metrics.classification import by_response
from redargue.bench.system import System
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.spec import RunSpec
from redargue.verdicts import Verdict

TOOLS = "tools=frozen+frozen-words"
METHODS = {
    "dual-position": f"dual-position@paper:{TOOLS}",
    "markov-debate": f"markov-debate:{TOOLS}",
    "single-reader": f"single-reader:{TOOLS},top_k=5",  # five pieces of each search, 6 to 7 of them distinct
}
MODULES = {
    "without gatherers": "gatherers=false",
    "without analysts": "analysts=false",
    "without rebutters": "rebutters=false",
    "without summarisers": "summarisers=false",
    "without the three of Table 6": "gatherers=false,analysts=false,summarisers=false",
}


class Set(NamedTuple):
    """A data set: its claims with evidence, and where its responses are (empty where it has none)."""

    title: str
    dataset: str
    claims: str
    options: Mapping[str, object]
    whole: str = ""
    responses: str = ""
    whole_options: Mapping[str, object] = {}


SETS = {
    "factool-qa": Set(
        "FacTool-QA",
        "snapshots",
        "snapshots/factool_qa.jsonl.gz",
        {},
        "factool-qa",
        "benchmarks/factool-qa/knowledge_qa.jsonl.gz",
    ),
    "halueval-qa": Set(
        "HaluEval QA", "halueval", "benchmarks/halueval/qa_one-turn.jsonl.gz", {"question_in_claim": True}
    ),
    "factcheck-bench": Set(
        "FactCheck-Bench",
        "snapshots",
        "snapshots/factcheckbench.jsonl.gz",
        {},
        "factcheck-bench",
        "benchmarks/factcheck-bench/benchmark.jsonl.gz",
        {"binary": True},
    ),
}


def main(arguments: list[str]) -> None:
    """Prints the figures of every set; the same command again goes on where it stopped."""
    parser = argparse.ArgumentParser(prog="benchmarks responses", description=__doc__)
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--half", choices=("even", "odd"), default="even")
    parser.add_argument("--limit", type=int, default=300, help="claims a level; responses are taken whole")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for name in given.set or SETS:
        claims(name, given.half, given.limit)
        if SETS[name].whole and given.half == "odd":
            responses(name, given.limit)


def claims(name: str, half: str, limit: int) -> None:
    """The claim level of a set: each claim is one item."""
    chosen = SETS[name]
    loaded = load(chosen.dataset, pool.data() / chosen.claims, half=half, limit=limit, options=dict(chosen.options))
    calls, seconds = run(f"{name}-claims-{half}-{limit}", loaded.examples, loaded.sample.model_dump(mode="json"))
    items = [example.id for example in loaded.examples]
    print(f"\n== {chosen.title}, claims ({half} rows, {seconds:.0f} s)")
    show(calls, items, published(name, "claims"))
    paired(calls, items)
    for note in notes(name):
        print(f"* {note}")


def responses(name: str, limit: int) -> None:
    """The response level of a set: whole responses, and what their odd claims alone make of them."""
    chosen = SETS[name]
    examples, sources = whole_responses(name, limit)
    sample = {"dataset": chosen.whole, "options": [], "taken": len(examples), "responses": limit}
    calls, seconds = run(f"{name}-responses-{limit}", examples, sample)
    items = [example.response for example in examples]
    odd = [half_of(example.claim.text) == "odd" for example in examples]
    print(f"\n== {chosen.title}, whole responses ({seconds:.0f} s)")
    print(
        f"{len(set(items))} responses of {len(items)} claims, {sum(odd)} of them odd; evidence of the claims: {sources}"
    )
    show(calls, items, published(name, "responses"))
    paired(calls, items)
    print("-- by their odd claims alone:")
    kept = [at for at, is_odd in enumerate(odd) if is_odd]
    calls = {method: calls_of_method.at(kept) for method, calls_of_method in calls.items()}
    items = [items[at] for at in kept]
    show(calls, items, ())
    paired(calls, items)


def whole_responses(name: str, limit: int) -> tuple[list[Example], str]:
    """Responses with all their claims, every claim with evidence, and how many claims have it from where."""
    chosen, data = SETS[name], pool.data()
    examples = load(chosen.whole, data / chosen.responses, options=dict(chosen.whole_options)).examples
    searched = {example.claim.text: example.passages for example in load("snapshots", data / chosen.claims).examples}
    groups = by_response([example.response for example in examples], examples)
    kept: list[Example] = []
    sources: Counter[str] = Counter()
    for group in groups.values():
        if not any(half_of(example.claim.text) == "odd" for example in group) or len(kept) + len(group) > limit:
            continue
        given = list(evidence(group, searched))
        if not all(passages for _, passages in given):
            sources["left out, of responses without any evidence"] += len(group)
            continue
        sources.update(source for source, _ in given)
        kept += [
            example.model_copy(update={"passages": passages})
            for example, (_, passages) in zip(group, given, strict=True)
        ]
    return kept, ", ".join(f"{count} {source}" for source, count in sources.items())


def evidence(
    group: Sequence[Example], searched: Mapping[str, tuple[Passage, ...]]
) -> Iterator[tuple[str, tuple[Passage, ...]]]:
    """Of each claim of a response: where its evidence is from, and the evidence."""
    others = {p.sha256: p for example in group for p in searched.get(example.claim.text, ())}
    for example in group:
        if own := searched.get(example.claim.text):
            yield "of a search of their own", own
        elif example.passages:
            yield "that came with them", example.passages
        else:
            yield "of the other claims of their response", tuple(others.values())


def run(folder: str, examples: Sequence[Example], sample: Mapping[str, object]) -> tuple[dict[str, Calls], float]:
    """Every method's calls, in a bench folder; and how long that took."""
    ablated = {name: f"{METHODS['dual-position']},{settings}" for name, settings in MODULES.items()}
    systems = {method: System.parse(spec) for method, spec in {**METHODS, **ablated}.items()}
    place = pool.BUILD / "responses" / folder
    bench = Bench(place, examples, list(systems.values()), sample=sample, spec=RunSpec(offline=True))
    began = time.perf_counter()
    gold = [_factual(example, example.gold) is True for example in examples]
    calls = {}
    for method, system in systems.items():
        verdicts = [outcome.verdict for outcome in asyncio.run(bench.run(system))]
        calls[method] = Calls(gold, [_said(*pair) for pair in zip(examples, verdicts, strict=True)])
    return calls, time.perf_counter() - began


def _said(example: Example, verdict: Verdict) -> bool | None:
    return _factual(example, verdict.label)


def _factual(example: Example, label: str | None) -> bool | None:
    meaning = example.claim.labels.meaning(label) if label else None
    return {Meaning.SUPPORTED: True, Meaning.REFUTED: False}.get(meaning) if meaning else None
