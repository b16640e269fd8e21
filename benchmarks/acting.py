"""MERMAID's embedded agents on frozen evidence: with and without a memory, with and without the decomposer.

Two worlds: the passages that real searches returned for the claim itself, by their words (``frozen-words``), and those
of all claims of the set in one corpus. Claims come one at a time, in the data set's order; the memory begins empty and
withholds only what near-duplicates of the claim retrieved. The queries behind the passages were written by agents
of language models. Tools cost nothing here: what is counted is how often they were called.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import pool
from redargue.assembly import Parts
from redargue.bench.datasets import Example, load
from redargue.bench.harness import Bench, ClaimOutcome
from redargue.bench.metrics.classification import NonAnswers, correct_items, scores_by_rule
from redargue.bench.statistics import PairedDifference, macro_f1_difference, mcnemar, paired_difference
from redargue.bench.system import System
from redargue.events import EvidenceFound, EvidenceMissing, EvidenceRecalled
from redargue.memory.memory import open_memory
from redargue.methods.base import configure
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from redargue.runs.record import read_events
from redargue.spec import RunSpec

SETS = ("factool_qa", "bingcheck", "factcheckbench")
OWN = tuple(
    f"mermaid:tools=frozen-words,{options}"
    for options in ("memory=off", "memory=on,guard=true", "memory=off,decomposer=false")
)
POOLED = tuple(spec.replace("frozen-words", "corpus") for spec in OWN)
PAIRS = ((0, 1), (0, 2), (3, 4), (3, 5), (0, 3))  # of systems that differ in one thing
LABELS = ("true", "false")
SHOWN = ("value", "low", "high", "p_value")


def main(half: str, limit: int | None) -> None:
    """Prints a line a system, and a line a pair; the same command again goes on where it stopped."""
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for name in SETS:
        path = pool.data() / "snapshots" / f"{name}.jsonl.gz"
        loaded = load("snapshots", path, half=half, limit=limit)
        systems = [System.parse(spec) for spec in (*OWN, *POOLED)]
        folder = pool.BUILD / "acting" / f"{name}-{half}-{limit or 'all'}"
        sample = loaded.sample.model_dump(mode="json")
        spec = RunSpec(store=str(_store(name, load("snapshots", path).examples)), offline=True)
        bench = Bench(folder, loaded.examples, systems, sample=sample, spec=spec)
        done = []
        for system in systems:
            began = time.perf_counter()
            outcomes = _run(bench, system)
            seconds = round(time.perf_counter() - began, 1)
            done.append(([outcome.verdict.label for outcome in outcomes], calls := _calls(bench, system)))
            line: dict[str, Any] = {"set": name, "half": half, "n": len(outcomes), "contender": system.spec}
            details = {"calls": sum(calls), "recalled": _recalled(bench, system), "seconds": seconds}
            print(json.dumps(line | _scores(loaded.examples, done[-1][0]) | details), flush=True)
        for first, second in PAIRS:
            line = {"set": name, "first": systems[first].spec, "second": systems[second].spec}
            print(json.dumps(line | _compared(loaded.examples, done[first], done[second])), flush=True)


def _run(bench: Bench, system: System) -> list[ClaimOutcome]:
    with ExitStack() as held:
        bench.parts = Parts()
        settings = configure(system.method, system.profile, system.settings).settings
        if (wanted := getattr(settings, "remembering", None)) is not None:
            bench.folder.mkdir(parents=True, exist_ok=True)
            memory = open_memory(bench.folder / f"{system.slug}.db", settings=wanted)
            bench.parts = Parts(memory=held.enter_context(memory))
        return asyncio.run(bench.run(system, concurrency=1))


def _store(name: str, examples: Sequence[Example]) -> Path:
    """The passages of all claims of a set in one corpus, each once; made once."""
    path = pool.BUILD / f"pooled-{name}.db"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        every = {passage.sha256: passage for example in examples for passage in example.passages}
        documents = (
            Document(id=sha256, text=passage.text, title=passage.title, url=passage.url, publisher=passage.publisher)
            for sha256, passage in every.items()
        )
        with open_corpus(path, write=True) as corpus:
            corpus.add(documents)
    return path


def _calls(bench: Bench, system: System) -> list[int]:
    """Calls of tools, claim by claim, those that failed too."""
    calls = Counter(
        event.item
        for event in read_events(bench.folder / system.slug)
        if isinstance(event, EvidenceFound | EvidenceMissing)
    )
    return [calls[item] for item in range(len(bench.examples))]


def _recalled(bench: Bench, system: System) -> int:
    events = read_events(bench.folder / system.slug)
    return sum(len(event.items) for event in events if isinstance(event, EvidenceRecalled))


def _scores(examples: Sequence[Example], said: Sequence[str | None]) -> dict[str, Any]:
    rules = scores_by_rule([str(example.gold) for example in examples], said, labels=LABELS, negative="false")
    figures = {rule.rule: rule.macro_f1.value for rule in rules}
    order = (NonAnswers.NEGATIVE, NonAnswers.WRONG, NonAnswers.DROPPED)
    return {
        "answered": sum(label is not None for label in said),
        "macro_f1": {rule: None if (value := figures[rule]) is None else round(value, 3) for rule in order},
    }


def _compared(
    examples: Sequence[Example],
    first: tuple[list[str | None], list[int]],
    second: tuple[list[str | None], list[int]],
) -> dict[str, Any]:
    """First minus second, on the same claims; a non-answer counts as wrong."""
    gold = [str(example.gold) for example in examples]
    test = mcnemar(correct_items(gold, first[0]), correct_items(gold, second[0]))
    scores = macro_f1_difference(gold, first[0], second[0], labels=LABELS)
    calls = paired_difference([float(count) for count in first[1]], [float(count) for count in second[1]])
    return {
        "mcnemar_p": round(test.p_value, 4),
        "macro_f1": _shown(scores),
        "calls_a_claim": _shown(calls),
    }


def _shown(difference: PairedDifference) -> dict[str, float | None]:
    return {name: value and round(value, 4) for name, value in difference.model_dump(include=set(SHOWN)).items()}
