"""All methods that the embedded backend plays on all data sets at hand: one leaderboard, and paired tests.

First with the evidence that each method's own searches find, the same two tools for all. Then at equal evidence: what a
debate (or MERMAID) has read is all that any other method may read (the tool ``debated``), on the same claims. Every
system is tested against every other method (McNemar's exact test), corrected by Holm over all tests of a data set. Odd
rows; ``--write`` makes ``docs/benchmarks.md`` of what has been run, which any command does at its end.

Methods that know without reading (zero-shot, Self-Check, …) need a language model. Sampling changes nothing with
models that always say the same: ``self-consistency`` and ``best-of-n`` are ``one-reader`` here, and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import pool
from benchmarks.tables import SETS, corpus_of
from redargue.backends.embedded import EmbeddedBackend
from redargue.claims import Frozen
from redargue.evals.comparison import scored
from redargue.evals.contender import Contender
from redargue.evals.datasets.catalogue import load
from redargue.evals.harness import Bench
from redargue.evals.statistics.multiple import holm
from redargue.evals.statistics.paired import McNemar, mcnemar
from redargue.protocols.base import methods

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
SYSTEMS = ("tool-mad", "mermaid", "dual-position")
SAMPLED = ("self-consistency", "best-of-n")
EQUAL = ("snapshot-factool-qa", "snapshot-bingcheck", "snapshot-factcheck-bench")


class Cell(NamedTuple):
    """A contender on a data set: accuracy and macro-F1 with their bounds, calls and searches a claim."""

    accuracy: str
    macro_f1: str
    calls: float
    searches: float
    right: tuple[bool, ...]


class Test(Frozen):
    """A system against another method."""

    system: str
    other: str
    result: McNemar
    p: float


def main(arguments: list[str]) -> None:
    """Runs, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks leaderboard")
    parser.add_argument("--set", action="append", choices=list(SETS))
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--half", default="odd")
    parser.add_argument("--write", action="store_true", help="run nothing")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    folder = pool.BUILD / "leaderboard"
    for name in () if given.write else given.set or SETS:
        for system in ("", *(SYSTEMS if name in EQUAL else ())):
            _run(name, system, given.limit, given.half, folder)
            print(f"-- {name} {system}", flush=True)
    PAGE.write_text(page(folder), encoding="utf-8")


def contenders(tools: Sequence[str], first: str = "") -> list[Contender]:
    """Every method that is played here, with these tools; ``first`` before the others, which read what it read."""
    embedded = EmbeddedBackend()
    found = []
    for name in sorted(methods, key=lambda each: each != first):
        fields = methods[name].options.model_fields
        names = tools if name == first or not first else ["debated"]
        if name in SAMPLED or (first and name in SYSTEMS and name != first):
            continue
        if "debaters" in fields:
            spec = f"{name}:debaters={'+'.join(names if len(names) > 1 else [*names, *names])}"
        elif "tools" in fields:
            spec = f"{name}:tools={'+'.join(names)}"
        else:
            continue
        if name == "mermaid":
            spec += ",memory=off"  # what one claim leaves the next one would be another kind of evidence
        contender = Contender.parse(spec)
        method = methods[name](methods[name].options(**contender.settings))
        if all(embedded.can(task) for task in method.tasks()):
            found.append(contender)
    return found


def _run(name: str, system: str, limit: int, half: str, folder: Path) -> None:
    chosen, data = SETS[name], pool.data()
    options: Any = {key: str(data / each) if key == "sentences" else each for key, each in chosen.options.items()}
    loaded = load(chosen.dataset, data / chosen.path, half=half, limit=limit, take="random", options=options)
    sample = loaded.sample.model_dump(mode="json") | {"options": [[key, str(chosen.options[key])] for key in options]}
    tools = ("corpus", "keywords") if chosen.corpus else ("frozen", "frozen-words")
    place = folder / f"{name}-{half}-{limit}{'-' + system if system else ''}"
    store = corpus_of(chosen.corpus) if chosen.corpus else None
    bench = Bench(
        place, loaded.examples, contenders(tools, system), sample=sample, options={"store": store, "offline": True}
    )
    cells: dict[str, Any] = {}
    for contender in bench.contenders:
        outcomes = asyncio.run(bench.run(contender))
        scores = scored(loaded.examples, outcomes, chosen.dataset, draws=1000)
        usage = [outcome.verdict.usage for outcome in outcomes]
        cells[contender.method] = Cell(
            _shown(scores.figure("accuracy")),
            _shown(scores.figure("macro-f1")),
            sum(each.calls for each in usage) / len(usage),
            sum(each.searches for each in usage) / len(usage),
            scores.right,
        )._asdict() | {"spec": contender.spec, "errors": scores.failed}
        print(json.dumps({"set": name, "evidence of": system} | {**cells[contender.method], "right": None}), flush=True)
    (place / "cells.json").write_text(json.dumps({"n": len(loaded.examples), "cells": cells}), encoding="utf-8")


def _shown(figure: Any) -> str:
    if figure.value is None:
        return "–"
    return f"{100 * figure.value:.1f} ({100 * figure.low:.0f}–{100 * figure.high:.0f})"


def tested(cells: dict[str, Any], systems: Sequence[str]) -> list[Test]:
    """Each system against every other method, corrected by Holm over all of these tests."""
    pairs = [
        (system, other)
        for system in systems
        if system in cells
        for other in cells
        if other != system and (other not in systems or systems.index(other) > systems.index(system))
    ]
    results = [mcnemar(cells[system]["right"], cells[other]["right"]) for system, other in pairs]
    corrected = holm([each.p_value for each in results])
    return [
        Test(system=system, other=other, result=result, p=p)
        for (system, other), result, p in zip(pairs, results, corrected, strict=True)
    ]


def page(folder: Path) -> str:
    """The whole of ``docs/benchmarks.md``, from the runs that are there."""
    found = {path.parent.name: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*/cells.json"))}
    if not found:
        sys.exit(f"no run in {str(folder)!r}: python -m benchmarks leaderboard")
    own = {name: each for name in SETS for place, each in found.items() if _is(place, name)}
    parts = [_HEAD, _leaderboard(own), _tests(own, SYSTEMS)]
    for system in SYSTEMS:
        equal = {name: each for name in SETS for place, each in found.items() if _is(place, name, system)}
        if equal:
            parts += [_EQUAL.format(system=system), _leaderboard(equal), _tests(equal, (system,))]
    kept = Path(__file__).parent / "published.txt"
    if kept.exists():
        parts.append("## Published tables\n\nThe papers' figures above ours, as `redargue bench table` prints them.")
        parts.append("```\n" + kept.read_text("utf-8").rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


def _is(place: str, name: str, system: str = "") -> bool:
    parts = place.removeprefix(name + "-").split("-", 2) if place.startswith(name + "-") else []
    return len(parts) > 1 and parts[0] in ("odd", "even", "all") and (parts[2:] or [""])[0] == system


_HEAD = """\
# Benchmarks

Written by `make tables` (`python -m benchmarks leaderboard`); do not edit it. The embedded backend plays every role:
small models, no language model. These figures say how the *protocols* compare when the same small reader plays them,
not how good they are with the models of their papers. Odd rows, random samples with seed 0; in brackets 95 % bootstrap
intervals over claims. With a language model: `redargue bench run … --model NAME`, `bench table … --model NAME`.

## Leaderboard

Accuracy in per cent (macro-F1 in the second table), all methods with the same two search tools: by meaning and words,
and by words. What stands behind the slash is calls and searches a claim."""

_EQUAL = """\
## The evidence of {system}

Every other method may read exactly what `{system}` read of each claim and nothing else: what differs is what is made of
it."""


def _leaderboard(own: dict[str, Any]) -> str:
    names = sorted({method for each in own.values() for method in each["cells"]})
    means = {
        name: _mean([each["cells"][name]["accuracy"] for each in own.values() if name in each["cells"]])
        for name in names
    }
    titles = " | ".join(f"{name} ({each['n']})" for name, each in own.items())
    head = f"| method | {titles} | mean |"
    rows = [head, "|---" * (len(own) + 2) + "|"]
    for key in ("accuracy", "macro_f1"):
        if key == "macro_f1":
            rows += ["", head.replace("| method", "| macro-F1"), "|---" * (len(own) + 2) + "|"]
        for name in sorted(names, key=lambda each: -means[each]):
            cells = [each["cells"].get(name) for each in own.values()]
            shown = [_cell(each, key) for each in cells]
            mean = _mean([each[key] for each in cells if each])
            rows.append(f"| {name} | {' | '.join(shown)} | {mean:.1f} |")
    return "\n".join(rows)


def _cell(cell: dict[str, Any] | None, key: str) -> str:
    if cell is None:
        return "–"
    cost = f" / {cell['calls']:.1f}, {cell['searches']:.1f}" if key == "accuracy" else ""
    failed = f" [{cell['errors']} errors]" if cell["errors"] else ""
    return f"{cell[key]}{cost}{failed}"


def _mean(shown: list[str]) -> float:
    known = [float(each.partition(" ")[0]) for each in shown if each != "–"]
    return sum(known) / len(known) if known else 0.0


def _tests(own: dict[str, Any], systems: Sequence[str]) -> str:
    rows = []
    counted = 0
    for name, each in own.items():
        for test in tested(each["cells"], systems):
            counted += 1
            if test.p < 0.05:
                better, worse = test.result.first_only, test.result.second_only
                rows.append(f"| {name} | {test.system} | {test.other} | {better} : {worse} | {test.p:.2g} |")
    if not rows:
        return f"Paired tests: {counted}, none below .05 after Holm's correction over the tests of a data set."
    head = [
        f"Paired tests: {counted}; those below .05 after Holm's correction over the tests of a data set (claims that"
        " only the first has right : only the second):",
        "",
        "| data set | first | second | right alone | p |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])
