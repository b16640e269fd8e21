"""Answers of language models beside their documents: all claims in one pass, and claim by claim.

    python -m benchmarks whole_answers --model NAME --base-url http://127.0.0.1:8080/v1 --file build/bench/whole.jsonl
    python -m benchmarks whole_answers --write  # the table of what was measured

Rows of ``grounding/`` in the data folder that people labelled as supported by their document or not. An answer is
supported if each of its claims is; one in which a method found no claim, or whose check by a method is missing, is left
out of the table for both and counted below it. A check that fails is reported and not kept: the same command asks
again. ``--write`` recounts without model and data.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import markdown, pool
from benchmarks.baselines import Row
from benchmarks.grounding import read_row, sample
from benchmarks.statistics import balanced_accuracy
from redargue import ground
from redargue.bench.statistics import mcnemar
from redargue.claims import Meaning
from redargue.errors import RedargueError

SETS = ("summedits", "expertqa", "faithbench")
METHODS = ("one-pass", "single-reader")
KEPT = Path(__file__).with_suffix(".jsonl")
HEADER = ("set", "answers", "method", "balanced accuracy", "F1 of unsupported", "claims", "calls", "prompt tokens")


def main(arguments: list[str]) -> None:
    """Asks the model about rows that have no line yet, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks whole_answers", description=__doc__)
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--half", choices=("even", "odd"), default="odd")
    parser.add_argument("--rows", type=int, default=20, help="of each set")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--file", type=Path, default=KEPT, help="of the lines")
    parser.add_argument("--write", action="store_true", help="ask nothing")
    given = parser.parse_args(arguments)
    if not given.write:
        asyncio.run(_measured(given))
    print(table(_kept(given.file)))


def _kept(file: Path) -> list[dict[str, Any]]:
    """The lines of a file; a last line that a kill cut off is left out."""
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else [""]
    return [json.loads(line) for line in lines[:-1]]


async def _measured(given: argparse.Namespace) -> None:
    kept = _kept(given.file)
    given.file.write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")
    done = {(line["set"], line["row"], line["method"]) for line in kept}
    free = asyncio.Semaphore(given.concurrency)

    async def one(name: str, at: int, row: Row, method: str) -> None:
        async with free:
            line = {"set": name, "row": at, "method": method, "gold": row.supported}
            try:
                line |= await _grounded(row, method, given)
            except RedargueError as error:
                print(f"{name}, row {at}, {method}: {error}", flush=True)
                return
            with given.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    asked = []
    for name in SETS:
        rows = [read_row(row) for row in pool.rows(pool.data() / "grounding" / f"{name}.jsonl.gz")]
        chosen = sample([row.is_even == (given.half == "even") for row in rows], rows, given.rows)
        asked += [(name, at, rows[at], method) for at in chosen for method in METHODS if (name, at, method) not in done]
    await asyncio.gather(*(one(*each) for each in asked))


async def _grounded(row: Row, method: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a method says of an answer (None if no claim was found), and its cost; raises RedargueError."""
    report = await ground(row.claim, contexts=[row.evidence], method=method, model=given.model, base_url=given.base_url)
    verdicts = [claim.verdict for claim in report.claims]
    if failed := [verdict.error for verdict in verdicts if verdict.error]:
        raise RedargueError(failed[0].what)
    supported = all(verdict.meaning is Meaning.SUPPORTED for verdict in verdicts)
    usage = {"calls": report.usage.calls, "prompt_tokens": report.usage.prompt_tokens}
    return {"said": supported if verdicts else None, "claims": len(verdicts)} | usage


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row for each set and method, on answers in which both found claims; then the paired test over all."""
    by_answer: dict[tuple[str, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in lines:
        by_answer[line["set"], line["row"]][line["method"]] = line
    read = [by for by in by_answer.values() if all(by.get(method, {}).get("said") is not None for method in METHODS)]
    if not read:
        return "no answer has been read by both methods"
    cells = []
    for name in (*SETS, "all"):
        for method in METHODS:
            chosen = [by[method] for by in read if name in ("all", by[method]["set"])]
            if chosen:
                cells.append((name, len(chosen), method, *_figures(chosen)))
    first, second = ([by[method]["said"] == by[method]["gold"] for by in read] for method in METHODS)
    test = mcnemar(first, second)
    return (
        f"{markdown.table(HEADER, cells)}\n\n{METHODS[0]} alone is right on {test.first_only}, {METHODS[1]} on "
        f"{test.second_only} (McNemar, p = {test.p_value:.3f}). Left out: {len(by_answer) - len(read)}."
    )


def _figures(read: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    gold, said = (np.array([int(line[field]) for line in read]) for field in ("gold", "said"))
    hit = int(np.sum((gold == 0) & (said == 0)))
    f1 = 2 * hit / max(1, int(np.sum(gold == 0) + np.sum(said == 0)))
    claims, calls, tokens = (np.mean([line[field] for line in read]) for field in ("claims", "calls", "prompt_tokens"))
    return f"{balanced_accuracy(gold, said):.3f}", f"{f1:.3f}", f"{claims:.1f}", f"{calls:.1f}", f"{tokens:,.0f}"
