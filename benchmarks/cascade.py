"""A cascade against the debates, on nine data sets: accuracy, calls, seconds; whether the target risk is kept.

``run`` holds every stage once for claims of both halves, and MERMAID and dual-position for the odd ones; predictions
are kept in ``build/bench/cascade``, and the same command resumes. ``study`` reads them alone: thresholds fitted on even
rows, reported on odd ones; a cascade is as good as Tool-MAD if the lower bound of the paired difference in accuracy
(one-sided 95 %, bootstrap) is above -0.02; then fits on 50 random halves, each against its other half. ``released``:
the runs of MERMAID's authors, with the small reader first (``redargue bench rescore --then``). The embedded backend
plays.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks import pool
from benchmarks.mermaid import files
from benchmarks.sets import SETS, corpus_of, taken
from redargue.bench import compare as comparison
from redargue.bench.commands.cascade import exhaustive, fit_of
from redargue.bench.commands.mermaid import import_runs
from redargue.bench.compare import Rescored, paired, rescored, row_of
from redargue.bench.compare import frontier as rescored_frontier
from redargue.bench.harness import Bench
from redargue.bench.statistics import mcnemar, paired_difference
from redargue.bench.system import System
from redargue.methods.cascade.fit import Fit, FitRow, early_stops, lost, stop_of
from redargue.spec import RunSpec

BUILD = pool.BUILD / "cascade"
MARGIN = 0.02
TARGETS = (0.05, 0.1, 0.2, 0.3)
LOSSES = (0.01, 0.02, 0.05)
SPLITS = 50
FROZEN = "tools=frozen+frozen-words"
RELEASED = {"factool_qa": "snapshot-factool-qa", "bingcheck": "snapshot-bingcheck"} | {
    "factcheckbench": "snapshot-factcheck-bench"
}


def main(arguments: list[str]) -> None:
    """Prints a JSON line a figure."""
    parser = argparse.ArgumentParser(prog="cascade", description=__doc__)
    parser.add_argument("--part", choices=("run", "study", "released"), help="all by default")
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--limit", type=int, default=60, help="claims of each half of each set")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    if given.part in (None, "run"):
        for name in given.set or SETS:
            for half in ("even", "odd"):
                _run(name, half, given.limit)
    if given.part in (None, "study"):
        _study(given.limit)
    if given.part in (None, "released"):
        for file in files():
            if name := RELEASED.get(next((key for key in RELEASED if file.name.startswith(key)), "")):
                _released(file, name)


class Said(NamedTuple):
    """One claim of one set: each stage, and what other systems made of it (whether right, calls, seconds)."""

    name: str
    stages: FitRow
    others: dict[str, tuple[bool, int, float]]


def _run(name: str, half: str, limit: int) -> None:
    chosen = SETS[name]
    examples, sample = taken(chosen, half=half, limit=limit)
    store = corpus_of(chosen.corpus) if chosen.corpus else None
    first = exhaustive("cascade" if chosen.corpus else f"cascade:{FROZEN}")
    own = "" if chosen.corpus else f",{FROZEN}"
    others = (f"mermaid:memory=off{own}", f"dual-position{own.replace(',', ':', 1)}") if half == "odd" else ()
    systems = [first, *map(System.parse, others)]
    spec = RunSpec(store=store, offline=True)
    bench = Bench(BUILD / f"{name}-{half}-{limit}", examples, systems, sample=sample, spec=spec)
    for system in systems:
        asyncio.run(bench.run(system, concurrency=1))  # one claim at a time: seconds are a claim's own
    fit = fit_of(bench, first)
    gold = [example.gold for example in examples]
    outcomes = {system.method: bench.outcomes(system) for system in systems[1:]}
    claims = [
        {
            "stages": [stage.model_dump() for stage in row],
            "others": {
                method: (said[at].verdict.label == gold[at], said[at].verdict.usage.calls, round(_seconds(said, at), 4))
                for method, said in outcomes.items()
            },
        }
        for at, row in enumerate(fit.rows)
    ]
    about = {"backend": fit.backend, "stages": fit.stages, "debate": fit.debate, "redargue": fit.redargue}
    _cache(name, half, limit).write_text(json.dumps({**about, "claims": claims}))
    print(json.dumps({"set": name, "half": half, "claims": len(claims)}), flush=True)


def _seconds(said: Sequence[Any], at: int) -> float:
    return float(said[at].seconds)


def _cache(name: str, half: str, limit: int) -> Path:
    return BUILD / f"{name}-{half}-{limit}.json"


def _read(half: str, limit: int) -> tuple[list[Said], dict[str, Any]]:
    said, about = [], {}
    for name in SETS:
        path = _cache(name, half, limit)
        if path.exists():
            about = json.loads(path.read_text())
            for claim in about.pop("claims"):
                row = Fit(**about, sample={}, rows=(claim["stages"],)).rows[0]
                said.append(Said(name, row, {key: tuple(value) for key, value in claim["others"].items()}))
    if not said:
        raise SystemExit(f"nothing in {BUILD}: run --part run --limit {limit} first")
    return said, about


def _study(limit: int) -> None:
    even, about = _read("even", limit)
    odd, same = _read("odd", limit)
    if about != same:
        raise SystemExit("the halves were held with different models or releases: run both again")
    print(json.dumps({"backend": about["backend"], "sets": len({each.name for each in odd}), "odd": len(odd)}))
    fit = Fit(**about, sample={}, rows=tuple(each.stages for each in even))
    debate = [each.stages[-1].right for each in odd]
    alone = [
        (row[-1].calls - row[-2].calls, row[-1].seconds - row[-2].seconds) for row in (each.stages for each in odd)
    ]
    _line("tool-mad", debate, [calls for calls, _ in alone], [seconds for _, seconds in alone])
    for at, stage in enumerate(fit.stages[:-1]):
        rows = [each.stages[at] for each in odd]
        _line(stage, [row.right for row in rows], [row.calls for row in rows], [row.seconds for row in rows], debate)
    for other in odd[0].others:
        played = [each.others[other] for each in odd]
        right, calls, seconds = zip(*played, strict=True)
        _line(other, right, calls, seconds, debate)
    for target in TARGETS:
        chosen = fit.at_risk(target)
        _cascade(f"cascade, target risk {target:g}", odd, chosen.thresholds, debate)
    for target in LOSSES:
        _cascade(f"cascade, target loss {target:g}", odd, fit.at_loss(target).thresholds, debate)
    for confidence in (0.95, 0.9, 0.8, 0.7, 0.5):
        _cascade(f"cascade, confidence {confidence:g}", odd, (confidence,) * (len(fit.stages) - 1), debate)
    _splits(fit.model_copy(update={"rows": tuple(each.stages for each in (*even, *odd))}))


def _cascade(name: str, odd: Sequence[Said], thresholds: Sequence[float | None], debate: Sequence[bool]) -> None:
    ends = [each.stages[stop_of(each.stages, thresholds)] for each in odd]
    early, wrong = early_stops([each.stages for each in odd], thresholds)
    more = {"thresholds": list(thresholds), "early": early, "risk": round(wrong / early, 4) if early else None}
    more["loss"] = round(lost([each.stages for each in odd], thresholds) / len(odd), 4)
    _line(name, [e.right for e in ends], [e.calls for e in ends], [e.seconds for e in ends], debate, **more)


def _line(
    name: str,
    right: Sequence[bool],
    calls: Sequence[float],
    seconds: Sequence[float],
    debate: Sequence[bool] = (),
    **more: Any,
) -> None:
    figures: dict[str, Any] = {"system": name, "accuracy": round(fmean(right), 4), "calls": round(fmean(calls), 2)}
    figures["seconds"] = round(fmean(seconds), 3)
    if debate:
        scores = [float(hit) for hit in right], [float(hit) for hit in debate]
        difference = paired_difference(*scores, level=0.9)  # its lower bound is one-sided at 95 %
        assert difference.low is not None
        figures["against tool-mad"] = {
            "difference": round(float(difference.value or 0), 4),
            "lower bound": round(difference.low, 4),
            "p": round(mcnemar(right, debate).p_value, 4),
            "not inferior by 0.02": difference.low > -MARGIN,
        }
    print(json.dumps(figures | more), flush=True)


def _splits(fit: Fit) -> None:
    """The share of random halves in which the other half's risk, or loss, exceeds the target."""
    for target in TARGETS:
        exceeded, stopped, risks = 0, 0, []
        for fitted, rest in _halves(fit):
            chosen = fitted.at_risk(target)
            early, wrong = early_stops(rest, chosen.thresholds)
            stopped += early > 0
            exceeded += early > 0 and wrong / early > target
            risks += [wrong / early] if early else []
        mean = round(fmean(risks), 4) if risks else None
        line = {"target": target, "splits": SPLITS, "with early stops": stopped, "exceeded": exceeded / SPLITS}
        print(json.dumps(line | {"mean risk": mean, "claims a half": len(fit.rows) // 2}), flush=True)

    for target in LOSSES:
        losses, stopped = [], 0
        for fitted, rest in _halves(fit):
            chosen = fitted.at_loss(target)
            stopped += chosen.early > 0
            losses.append(lost(rest, chosen.thresholds) / len(rest))
        line = {"target loss": target, "splits": SPLITS, "with early stops": stopped}
        line |= {"exceeded": sum(loss > target for loss in losses) / SPLITS, "mean loss": round(fmean(losses), 4)}
        print(json.dumps(line), flush=True)


def _halves(fit: Fit) -> Iterator[tuple[Fit, Sequence[FitRow]]]:
    """Random halves of the claims: one to fit on, and the rest."""
    for seed in range(SPLITS):
        rows = list(fit.rows)
        random.Random(seed).shuffle(rows)
        yield fit.model_copy(update={"rows": tuple(rows[::2])}), rows[1::2]


def _released(file: Path, name: str) -> None:
    """Calls saved against macro-F1; the threshold is chosen on even rows: the most calls saved at no loss there."""
    out = BUILD / "released" / file.name.partition(".")[0]
    if not out.exists():
        import_runs(file, out)
    then = comparison.read_results(out)
    first = comparison.read_results(_read_by_embedded(name))
    pairs = paired(first, row_of(first), then, row_of(then))
    halves = {even: [pair for pair in pairs if pool.is_even(pair.claim) == even] for even in (True, False)}
    curves = {even: rescored_frontier(halves[even], draws=500) for even in halves}
    alone = curves[True][0]
    kept = [point for point in curves[True] if (point.macro_f1.value or 0) >= (alone.macro_f1.value or 0)]
    chosen = max(kept, key=lambda point: point.saved)
    for even, curve in curves.items():
        for point in curve:
            mark = {"chosen": point.threshold == chosen.threshold}
            print(json.dumps({"runs": out.name, "half": "even" if even else "odd"} | _point(point) | mark), flush=True)
    final = rescored(halves[False], chosen.threshold)
    print(json.dumps({"runs": out.name, "half": "odd", "chosen on even": True} | _point(final)), flush=True)


def _point(point: Rescored) -> dict[str, Any]:
    f1 = [
        None if value is None else round(value, 3)
        for value in (point.macro_f1.value, point.macro_f1.low, point.macro_f1.high)
    ]
    facts = {"threshold": point.threshold, "claims": point.claims, "kept": point.kept, "macro_f1": f1}
    return facts | {"calls": round(point.calls, 2), "saved": round(point.saved, 3)}


def _read_by_embedded(name: str) -> Path:
    """The bench folder of the small reader alone, over the evidence that was found for the set."""
    folder = BUILD / "reader" / name
    if not (folder / comparison.RESULTS).exists():
        examples, sample = taken(SETS[name])
        system = System.parse(f"cascade:stages=reader,{FROZEN}")
        bench = Bench(folder, examples, [system], sample=sample, spec=RunSpec(offline=True))
        asyncio.run(bench.run(system, concurrency=2))
        comparison.write_results(comparison.compare(bench, draws=100), folder)
    return folder
