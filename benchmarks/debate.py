"""What a debate is worth with a language model: methods side by side on odd claims of four data sets.

    python -m benchmarks debate --model NAME --base-url http://127.0.0.1:8080/v1 --folder build/bench/debate
    python -m benchmarks debate --folder build/bench/debate --write  # the tables of what has been run

A small model on a laptop takes seconds a request, and a day for fifty claims of each data set: the claims are taken in
batches of ``--batch`` of each, all methods on a batch before the next one. An interrupted run resumes, call by call.
An endpoint that batches requests is kept busy by a process for each set: ``--set NAME``.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import pool
from benchmarks.leaderboard import CONSTANT
from benchmarks.sets import SETS, corpus_of, taken
from benchmarks.statistics import accuracy, balanced_accuracy, interval, macro_f1
from redargue.bench.datasets import Example
from redargue.bench.harness import Bench
from redargue.bench.statistics import holm, mcnemar
from redargue.bench.system import System
from redargue.claims import Meaning
from redargue.events import CallFailed, CallFinished
from redargue.reports.markdown import table_markdown
from redargue.reports.table import Column, Table, number
from redargue.runs.record import last_attempts
from redargue.spec import RunSpec
from redargue.verdicts import Verdict

NAMES = ("fever", "scifact", "snapshot-factcheck-bench", "snapshot-bingcheck")
LIMIT, BATCH = 54, 3  # claims of each data set
READER = "small reader"  # the embedded backend, which asks no language model
FIRST = "single-reader"  # the other methods are tested against it
_SIDES = (Meaning.SUPPORTED, Meaning.REFUTED)


class Played(NamedTuple):
    """A claim with its gold label, what a method said and the seconds that it took (0 for one that was recorded)."""

    dataset: str
    example: Example
    verdict: Verdict


def systems(tools: tuple[str, str]) -> dict[str, str]:
    """The methods by their rows' names: all search with the same two tools."""
    both = "+".join(tools)
    return {
        READER: f"single-reader:tools={both}",
        "zero-shot": "zero-shot",
        FIRST: f"single-reader:tools={both}",
        "pair": f"pair:tools={both}",
        "cascade": f"cascade:tools={both}",
        "mermaid": f"mermaid:tools={both},memory=off",
        "tool-mad": f"tool-mad:debaters={both}",
        "dual-position": f"dual-position:tools={both}",
        "self-consistency, 5 calls": f"self-consistency:tools={both},calls=5",
    }


def main(arguments: list[str]) -> None:
    """Runs batch by batch, and prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks debate", description=__doc__)
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--folder", type=Path, default=pool.BUILD / "debate")
    parser.add_argument("--set", dest="sets", action="append", choices=NAMES, help="repeatable; default: all")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--first", type=int, default=0, help="number of the first batch")
    parser.add_argument("--batches", type=int, default=LIMIT // BATCH, help="number after the last batch")
    parser.add_argument("--concurrency", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="run nothing")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="write what a recount needs, without texts; a file's other batches stay",
    )
    given = parser.parse_args(arguments)
    if given.keep:
        _keep(given.folder, given.keep)
        return
    for batch in () if given.write else range(given.first, given.batches):
        for name in given.sets or NAMES:
            _run(name, batch, given)
    print(report(given.folder))


def _run(name: str, batch: int, given: argparse.Namespace) -> None:
    chosen = SETS[name]
    examples, sample = taken(chosen, half="odd", limit=LIMIT, take="random")
    examples = examples[batch * given.batch : (batch + 1) * given.batch]
    tools = ("corpus", "keywords") if chosen.corpus else ("frozen", "frozen-words")
    store = corpus_of(chosen.corpus) if chosen.corpus else None
    with_model = RunSpec(store=store, model=given.model, base_url=given.base_url, max_tokens=600)
    for row, text in systems(tools).items():
        place = given.folder / f"{name}-{batch}-{row.partition(',')[0].replace(' ', '-')}"
        if (place / "rows.json").exists():
            continue
        spec = RunSpec(store=store, offline=True) if row == READER else with_model
        system = System.parse(text)
        bench = Bench(place, examples, [system], sample=sample | {"batch": batch}, spec=spec)
        outcomes = asyncio.run(bench.run(system, concurrency=given.concurrency))
        rows = [
            {
                "dataset": name,
                "example": example.model_dump(mode="json"),
                "verdict": outcome.verdict.model_dump(mode="json"),
            }
            for example, outcome in zip(examples, outcomes, strict=True)
        ]
        (place / "rows.json").write_text(json.dumps({"row": row, "run": system.slug, "rows": rows}), encoding="utf-8")
        right = sum(outcome.verdict.label == example.gold for example, outcome in zip(examples, outcomes, strict=True))
        print(json.dumps({"set": name, "batch": batch, "row": row, "right": right, "of": len(examples)}), flush=True)


def _keep(folder: Path, file: Path) -> None:
    """Writes labels and usage of the claims of finished batches, by their ids, and the counts of replies."""
    finished = _finished(_batches(folder))
    lines = [line for line in pool.rows(file) if line.get("batch") not in finished] if file.exists() else []
    for kept in chain.from_iterable(finished.values()):
        for row in kept["rows"]:
            claim = {"text": row["example"]["id"], "labels": row["example"]["claim"]["labels"]}
            row["example"] = {name: row["example"][name] for name in ("id", "row", "gold")} | {"claim": claim}
            row["verdict"] = {name: row["verdict"].get(name) for name in ("label", "usage", "error")} | {"claim": claim}
        lines.append(kept | {"replies": _counted_replies([kept])})
    with gzip.GzipFile(file, "wb", mtime=0) as zipped:
        zipped.writelines(f"{json.dumps(line)}\n".encode() for line in lines)


def _batches(folder: Path) -> Iterator[dict[str, Any]]:
    """What each method said of a batch, from the folder of a run or from the file of a recount."""
    if folder.is_file():
        yield from pool.rows(folder)
        return
    for path in sorted(folder.glob("*/rows.json")):
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
        end = len(kept["row"].partition(",")[0].replace(" ", "-").split("-"))
        batch = "-".join(path.parent.name.split("-")[:-end])
        yield kept | {"batch": batch, "run": str(path.parent / kept["run"])}


def _played(folder: Path) -> dict[str, list[Played]]:
    """What each method said of the claims that all of them have had."""
    played: dict[str, list[Played]] = {row: [] for row in systems(("corpus", "keywords"))}
    for kept in chain.from_iterable(_finished(_batches(folder)).values()):
        played[kept["row"]] += [
            Played(row["dataset"], Example.model_validate(row["example"]), Verdict.model_validate(row["verdict"]))
            for row in kept["rows"]
        ]
    return played


def _finished(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The batches that every method has had, by their names."""
    batches: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for kept in rows:
        if "rows" in kept:
            batches[kept["batch"]].append(kept)
    every = set(systems(("corpus", "keywords")))
    return {name: batch for name, batch in batches.items() if {kept["row"] for kept in batch} == every}


def report(folder: Path) -> str:
    """The tables in Markdown: methods, tests, replies by task."""
    played = _played(folder)
    if not played[FIRST]:
        return "no batch has been run by every method yet"
    constant = [
        each._replace(verdict=Verdict(claim=each.example.claim, label=common[each.dataset]))
        for common in [_most_frequent(played[FIRST])]
        for each in played[FIRST]
    ]
    rows = {CONSTANT: constant, **played}
    columns = [
        number(head)
        for head in ("accuracy", "macro-F1", "balanced accuracy", "labelled", "decided", "wrong of decided")
    ]
    columns += [number(head) for head in ("calls", "prompt tokens", "reply tokens")]
    table = Table(
        title="Methods",
        columns=(Column("method"), *columns),
        rows=tuple((name, *_figures(each)) for name, each in rows.items()),
    )
    counts = Counter(each.dataset for each in played[FIRST])
    told = ", ".join(f"{count} of {name}" for name, count in counts.items())
    return "\n\n".join(
        [f"{sum(counts.values())} odd claims: {told}.", table_markdown(table), _tests(played), _replies(folder)]
    )


def _most_frequent(played: Sequence[Played]) -> dict[str, str | None]:
    """The most frequent gold label of each data set's claims."""
    gold: dict[str, Counter[str | None]] = defaultdict(Counter)
    for each in played:
        gold[each.dataset][each.example.gold] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in gold.items()}


def _figures(played: Sequence[Played]) -> Iterator[str]:
    """The cells of a method; labels of different sets that mean the same are one class."""
    gold = [_meaning(each, each.example.gold) for each in played]
    said = [_meaning(each, each.verdict.label) for each in played]
    for measure in (accuracy, macro_f1):
        value, low, high = (100 * bound for bound in interval(gold, said, list(Meaning), measure))
        yield f"{value:.1f} ({low:.0f}–{high:.0f})"
    codes = {str(meaning): code for code, meaning in enumerate(Meaning)}
    coded = (np.array([codes.get(meaning, -1) for meaning in meanings]) for meanings in (gold, said))
    yield f"{100 * balanced_accuracy(*coded):.1f}"
    decided = [(real, given) for real, given in zip(gold, said, strict=True) if given in _SIDES]
    yield f"{100 * sum(each.verdict.label is not None for each in played) / len(played):.1f}"
    yield f"{100 * len(decided) / len(played):.1f}"
    yield f"{100 * sum(real != given for real, given in decided) / len(decided):.1f}" if decided else "–"
    for field in ("calls", "prompt_tokens", "completion_tokens"):
        yield f"{sum(getattr(each.verdict.usage, field) for each in played) / len(played):,.1f}"


def _meaning(played: Played, label: str | None) -> str:
    """What a label of the claim's set means; empty for none."""
    labels = played.example.claim.labels
    return labels.meaning(label) if label in labels.names else ""


def _tests(played: dict[str, list[Played]]) -> str:
    """Every method against one reader, on claims that both answered; corrected by Holm."""
    results = {}
    for name, rows in played.items():
        if name == FIRST:
            continue
        pairs = [
            (other.verdict.label == other.example.gold, one.verdict.label == one.example.gold)
            for other, one in zip(rows, played[FIRST], strict=True)
            if not other.verdict.error and not one.verdict.error
        ]
        results[name] = mcnemar([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    corrected = holm([result.p_value for result in results.values()])
    table = Table(
        title=f"Against {FIRST}",
        columns=(Column(f"against {FIRST}"), *map(number, ("pairs", "better on", "worse on", "p", "p, corrected"))),
        rows=tuple(
            (name, str(each.n), str(each.first_only), str(each.second_only), f"{each.p_value:.3f}", f"{p:.3f}")
            for (name, each), p in zip(results.items(), corrected, strict=True)
        ),
    )
    return table_markdown(table)


def _counted_replies(batches: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kept in batches:
        for task, of in kept.get("replies", {}).items():  # of a recount
            counts[task].update(of)
        if kept.get("row", READER) == READER or "replies" in kept:
            continue
        for event in last_attempts(Path(kept["run"])):
            if isinstance(event, CallFinished) and event.charge == "call":
                counts[event.task]["repaired" if event.rejected else "at first"] += 1
            elif isinstance(event, CallFailed):
                counts[event.task]["lost" if event.error.type == "BadReply" else "failed"] += 1
    return counts


def _replies(folder: Path) -> str:
    """How many replies were read at first, after a repair, or not at all, by task."""
    counts = _counted_replies(_batches(folder))
    heads = ("at first", "repaired", "lost", "failed")
    table = Table(
        title="Replies",
        columns=(Column("task"), *map(number, heads)),
        rows=tuple((task, *(str(counts[task][head]) for head in heads)) for task in sorted(counts)),
    )
    return table_markdown(table)
