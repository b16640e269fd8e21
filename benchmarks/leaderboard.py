"""All methods on all data sets at hand: one leaderboard, and paired tests.

First with the evidence that each method's own searches find, the same two tools for all. Then at equal evidence: what a
debate (or MERMAID) has read is all that any other method may read (the tool ``debated``), on the same claims. Every
system is tested against every other method (McNemar's exact test), corrected by Holm over all tests of a data set in
a table. Odd rows; ``--write`` makes ``docs/benchmarks.md`` of what has been run, which any command does at its end.

The embedded backend plays, or with ``--model`` a language model, whose page lies beside its runs. Methods that know
without reading (zero-shot, Self-Check, …) need one, and so does equal cost: sampling changes nothing with models that
always say the same (``self-consistency`` and ``best-of-n`` are ``single-reader`` then, and left out); with a model each
of them has, once a system, as many calls as that system has had a claim.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import pool
from benchmarks.methods import ours
from benchmarks.sets import QUESTIONS, SETS, corpus_of, taken
from redargue.bench.compare import score_outcomes
from redargue.bench.datasets import Example
from redargue.bench.harness import Bench, ClaimOutcome
from redargue.bench.statistics import McNemar, holm, mcnemar
from redargue.bench.system import DEBATED, READS, System
from redargue.bench.tables.runner import folder_of
from redargue.claims import Frozen
from redargue.errors import RecordError, UnsupportedTask
from redargue.methods.base import configure, methods
from redargue.nli.backend import EmbeddedBackend
from redargue.reports.markdown import table_markdown
from redargue.reports.table import Cell as TableCell
from redargue.reports.table import Column, Table, number
from redargue.spec import RunSpec
from redargue.verdicts import Verdict

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BOARD = {**SETS, **QUESTIONS}
SYSTEMS = ("tool-mad", "mermaid", "dual-position")
SAMPLED = ("self-consistency", "best-of-n")
LIMIT, LIMITS = 150, {"medqa": 60}  # claims a data set: a question of MedQA takes many seconds
CONSTANT = "constant answer"  # the most frequent label, whatever the claim
ALONE = "its own searches"  # beside the systems' names: whose evidence was read


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
    parser.add_argument("--set", action="append", choices=list(BOARD))
    parser.add_argument(
        "--limit", type=int, default=LIMIT, help=f"claims a data set; of medqa {LIMITS['medqa']} at most"
    )
    parser.add_argument("--half", default="odd")
    parser.add_argument("--model", default="", help="plays instead of the embedded backend")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--method", action="append", help="these methods, beside the systems")
    parser.add_argument("--write", action="store_true", help="run nothing")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    folder = pool.BUILD / "leaderboard" / folder_of(given.model)
    limit = given.limit
    for name in () if given.write else given.set or BOARD:
        given.limit = min(limit, LIMITS.get(name, limit))
        _run(name, given, folder / f"{name}-{given.half}-{given.limit}")
        print(f"-- {name}", flush=True)
    published = not given.model and given.half == "odd"
    (PAGE if published else folder / f"page-{given.half}.md").write_text(
        page(folder, given.model, given.half), encoding="utf-8"
    )


def all_systems(tools: Sequence[str], *, model: bool = False) -> Iterator[tuple[str, str, System]]:
    """Every method that can be played, with these tools, and then once a system with what that system has read.

    Yields:
        Whose evidence, the row's name, the contender.
    """
    specs = {}
    embedded = EmbeddedBackend()
    for name in sorted(ours()):
        if name in SAMPLED and not model:
            continue
        spec = _spec(name, tools)
        parsed = System.parse(spec)
        asked = configure(parsed.method, parsed.profile, parsed.settings).tasks()
        if not model and not (parsed.tools and all(map(embedded.can, asked))):
            continue
        specs[name] = spec
        if name not in SAMPLED:
            yield ALONE, name, System.parse(spec)
    for name in [name for name in SAMPLED if name in specs]:  # last, when the systems' numbers of calls are known
        for system in SYSTEMS:
            yield ALONE, f"{name}, calls of {system}", System.parse(f"{specs[name]},like={system}")
    for system in SYSTEMS:
        yield system, system, System.parse(specs[system])
        for name in specs:
            if name not in (*SYSTEMS, *SAMPLED) and System.parse(specs[name]).tools:
                spec = _spec(name, [DEBATED])
                yield system, name, System.parse(f"{spec}{READS}{specs[system]}")


def _spec(name: str, tools: Sequence[str]) -> str:
    fields = methods[name].settings_class.model_fields
    if "debaters" in fields:
        return f"{name}:debaters={'+'.join(tools if len(tools) > 1 else [*tools, *tools])}"
    spec = f"{name}:tools={'+'.join(tools)}" if "tools" in fields else name
    return spec + ",memory=off" * (name == "mermaid")  # what one claim leaves is another kind of evidence to the next


def _run(name: str, given: argparse.Namespace, place: Path) -> None:
    chosen = BOARD[name]
    examples, sample = taken(chosen, half=given.half, limit=given.limit, take="random")
    tools = ("corpus", "keywords") if chosen.corpus else ("frozen", "frozen-words")
    spec = RunSpec(
        store=corpus_of(chosen.corpus) if chosen.corpus else None,
        model=given.model,
        base_url=given.base_url if given.model else "",
        offline=not given.model,
    )
    rows = list(all_systems(tools, model=bool(given.model)))
    every = {row.spec: row for _, _, row in rows if not given.method or row.method in (*SYSTEMS, *given.method)}
    cells: dict[str, dict[str, Any]] = {ALONE: {CONSTANT: constant_answer(examples, chosen.dataset)}}
    barred: set[str] = set()
    for wanted in every.values():
        candidate = _as_costly(wanted, cells.get(ALONE, {}))
        if candidate is None or candidate.reads in barred:
            continue  # what could not take the claims has cost nothing, and read nothing of them
        outcomes = _played(Bench(place, examples, [candidate], sample=sample, spec=spec), candidate)
        if outcomes is None or all(verdict.error and verdict.error.type == "UsageError" for verdict, _ in outcomes):
            barred.add(candidate.spec)  # a method of two labels cannot choose one of five
            continue
        cell = _measured(examples, outcomes, chosen.dataset) | {"spec": candidate.spec}
        for whose, row, system in rows:
            if system.spec == wanted.spec:
                cells.setdefault(whose, {})[row] = cell
        print(json.dumps({"set": name} | cell | {"right": None}), flush=True)
    kept = place / "cells.json"
    if given.method and kept.exists():  # the other methods' rows stay
        for whose, rows_of in json.loads(kept.read_text("utf-8"))["cells"].items():
            cells[whose] = rows_of | cells.get(whose, {})
    kept.write_text(json.dumps({"n": len(examples), "cells": cells}), encoding="utf-8")


def constant_answer(examples: Sequence[Example], dataset: str) -> dict[str, Any]:
    """The cell of giving every claim the label that is the most frequent one of the sample."""
    gold = Counter(example.gold for example in examples)
    label = gold.most_common(1)[0][0]
    verdicts = [
        Verdict(claim=example.claim, label=label, method=CONSTANT, profile="", backend="") for example in examples
    ]
    return _measured(examples, [ClaimOutcome(verdict, 0.0) for verdict in verdicts], dataset)


def _as_costly(wanted: System, cells: Mapping[str, Any]) -> System | None:
    """A method that is to cost what a system costs: what it has cost here; None where it has not played."""
    system = wanted.settings.get("like")
    if system is None:
        return wanted
    if system not in cells:
        return None
    calls = max(1, round(cells[system]["calls"]))
    return System.parse(wanted.spec.replace(f"like={system}", f"calls={calls}"))


def _played(bench: Bench, contender: System) -> list[ClaimOutcome] | None:
    """What came of the claims; None where the backend cannot play it, or what it is to read is not whole."""
    try:
        return asyncio.run(bench.run(contender))
    except UnsupportedTask as error:
        print(f"{contender.spec}: {error}", file=sys.stderr)
    except RecordError as error:
        if not contender.reads:
            raise
        print(f"{contender.spec}: {error}", file=sys.stderr)
    return None


def _measured(examples: Sequence[Example], outcomes: Sequence[ClaimOutcome], dataset: str) -> dict[str, Any]:
    """A cell, and how many claims ended in an error."""
    scores = score_outcomes(examples, outcomes, dataset, draws=1000)
    usage = [outcome.verdict.usage for outcome in outcomes]
    return Cell(
        _shown(scores.figure("accuracy")),
        _shown(scores.figure("macro-f1")),
        sum(spent.calls for spent in usage) / len(usage),
        sum(spent.searches for spent in usage) / len(usage),
        scores.right,
    )._asdict() | {"errors": scores.failed}


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
        if other not in (system, CONSTANT) and (other not in systems or systems.index(other) > systems.index(system))
    ]
    results = [mcnemar(cells[system]["right"], cells[other]["right"]) for system, other in pairs]
    corrected = holm([result.p_value for result in results])
    return [
        Test(system=system, other=other, result=result, p=p)
        for (system, other), result, p in zip(pairs, results, corrected, strict=True)
    ]


def page(folder: Path, model: str = "", half: str = "odd") -> str:
    """The whole of ``docs/benchmarks.md``, from the runs of a half that are there, the largest of each data set."""
    places = [path.parent for path in folder.glob(f"*-{half}-*/cells.json") if _is(path.parent.name, half)]
    places.sort(key=lambda path: int(path.name.rpartition("-")[2]))
    cells_by_folder = {path.name: json.loads((path / "cells.json").read_text("utf-8")) for path in places}
    if not cells_by_folder:
        sys.exit(f"no run in {str(folder)!r}: python -m benchmarks leaderboard")

    def read(whose: str) -> dict[str, Any]:
        known = [
            (name, cells)
            for name in BOARD
            for place, cells in cells_by_folder.items()
            if place.startswith(f"{name}-{half}-")
        ]
        return {
            name: {"n": cells["n"], "cells": cells["cells"][whose]} for name, cells in known if whose in cells["cells"]
        }

    own, player = read(ALONE), _MODEL.format(model=model) if model else _EMBEDDED
    parts = [
        _HEAD.format(
            half=half.capitalize(),
            player=player,
            release=version("redargue"),
            worth=WORTH.read_text("utf-8").strip(),
            medqa=_MEDQA["medqa" in own],
        ),
        _leaderboard(own),
    ]
    parts.append(_tests(own, SYSTEMS))
    for system in SYSTEMS:
        if equal := read(system):
            parts += [_EQUAL.format(system=system), _leaderboard(equal), _tests(equal, (system,))]
    kept = Path(__file__).parent / "published.txt"
    if kept.exists() and not model:
        parts.append(_PUBLISHED)
        parts.append("```text\n" + kept.read_text("utf-8").rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


def _is(place: str, half: str) -> bool:
    return re.fullmatch(rf".+-{half}-\d+", place) is not None


_EMBEDDED = """\
The embedded backend performs every task, without a language model, in the leaderboard with the large reader, in the
[published tables](#published-tables) without it. These figures say how the *protocols* compare
when the same small models perform them, not how good they are with the models of their papers. The reader leaves a
claim open below a confidence of 0.75 (0.63 without the large reader), and beside abstracts and pages of the web nearly
always. That counts as wrong here where the gold label decides the claim; methods that
have to say true or false lead for this reason. `mad`, `multi-agent-debate`, `reconcile` and `cfmad` are missing: their
agents read the same passages, so each was `single-reader` at three to seven times the calls. With a language model:
`python -m benchmarks leaderboard --model NAME`, `redargue bench run … --model NAME`, `bench table … --model NAME`."""

WORTH = Path(__file__).parent / "worth.md"  # written by hand, with the tables of ``benchmarks debate --write``

_MODEL = "{model} performs every task."

_HEAD = """\
# Benchmarks

{worth}

## How the tables below were made

Written by `make tables` (`python -m benchmarks leaderboard`); do not edit it. {half} rows, random samples with seed 0;
in brackets 95 % bootstrap intervals over claims. Figures of redargue {release}.

{player}

Of the twelve data sets FAVIQ is missing, which was not at hand, and HoVer, none of whose claims has all of its pages in
what was. {medqa} The mean is over the data sets that
all methods of a table take. Methods that have to say true or false gain where no claim lacks evidence (FEVEROUS here)
or few do (AVeriTeC), and lose where many do (SciFact). The constant answer gives every claim the most frequent label of
its sample, whatever the claim.

## Leaderboard

Accuracy in per cent (macro-F1 in the second table), all methods with the same two search tools: by meaning and words,
and by words. Behind the slash are calls and searches a claim; how many passages a search is asked for is each method's
own default."""

_MEDQA = {
    True: "MedQA's questions have five options: methods that say true or false cannot take them (–).",
    False: "MedQA, of which a question takes many seconds, was left out (`--set medqa`).",
}

_EQUAL = """\
## The evidence of {system}

Every other method may read exactly what `{system}` read of each claim and nothing else: what differs is what is made of
it (`factcheck-gpt` shows its verifier five snippets of it, and `react` the beginnings of passages)."""


_PUBLISHED = """\
## Published tables

The papers' figures above ours, as `redargue bench table` prints them. They were run on 2026-11-23: the rows of one
reader "of what DPD read", or MERMAID, saw at most three of these passages, which has been mended since."""


def _leaderboard(own: dict[str, Any]) -> str:
    names = sorted({method for cells in own.values() for method in cells["cells"]})
    common = [cells["cells"] for cells in own.values() if all(name in cells["cells"] for name in names)]
    means = {
        (key, name): sum(float(cells[name][key].partition(" ")[0]) for cells in common) / len(common)
        for key in ("accuracy", "macro_f1")
        for name in names
        if common
    }
    sets = [number(f"{name} ({cells['n']})") for name, cells in own.items()]
    tables = []
    for key, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
        rows: list[tuple[TableCell, ...]] = []
        for name in sorted(names, key=lambda name: -means.get(("accuracy", name), 0)):
            cells = (_cell(entry["cells"].get(name), key) for entry in own.values())
            rows.append((name, *cells, means.get((key, name))))
        columns = (Column(title), *sets, number(f"mean of {len(common)}", ".1f"))
        tables.append(table_markdown(Table("", columns, tuple(rows))))
    return "\n\n".join(tables)


def _cell(cell: dict[str, Any] | None, key: str) -> str | None:
    if cell is None:
        return None
    cost = f" / {cell['calls']:.1f}, {cell['searches']:.1f}" if key == "accuracy" else ""
    failed = f" [{cell['errors']} errors]" if cell["errors"] else ""
    return f"{cell[key]}{cost}{failed}"


def _tests(own: dict[str, Any], systems: Sequence[str]) -> str:
    rows: list[tuple[TableCell, ...]] = []
    counted = 0
    for name, cells in own.items():
        for test in tested(cells["cells"], systems):
            counted += 1
            if test.p < 0.05:
                alone = f"{test.result.first_only} : {test.result.second_only}"
                rows.append((name, test.system, test.other, alone, test.p))
    if not rows:
        return f"Paired tests: {counted}, none below .05 after Holm's correction over this table's tests of a data set."
    head = (
        f"Paired tests: {counted}; those below .05 after Holm's correction over this table's tests of a data set"
        " (claims that only the first has right : only the second):"
    )
    columns = (*map(Column, ("data set", "first", "second")), number("right alone"), number("p", ".2g"))
    return f"{head}\n\n{table_markdown(Table('', columns, tuple(rows)))}"
