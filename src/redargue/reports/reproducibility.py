"""How to reproduce a bench or a run, and which of its figures cannot be compared."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from redargue.reports.load import BenchRun, SingleRun
from redargue.reports.phrases import cost
from redargue.reports.table import Column, Table, number
from redargue.reports.tables import SYSTEM, gold_text, key, letter
from redargue.verdicts import total_usage


def commands(bench: BenchRun) -> tuple[str, ...]:
    """Commands that run the bench, compute its tables and replay the first system's debates."""
    compare = ["redargue", "bench", "compare", str(bench.folder)]
    replay = ["redargue", "replay", str(bench.folder / bench.comparison.rows[0].slug)]
    by_arguments = groupby(bench.comparison.rows, key=lambda row: row.arguments)
    sample = bench.comparison.sample
    runs = [_run(sample, arguments, [row.spec for row in rows]) for arguments, rows in by_arguments]
    if all(about.get("backend") == "recorded" for about in bench.abouts):
        runs = [shlex.join(["redargue", "bench", "import", sample["file"], "--out", "DIR"])]
    return (*runs, shlex.join(compare), shlex.join(replay))


def _run(sample: Mapping[str, Any], arguments: Sequence[str], specs: Sequence[str]) -> str:
    parts = ["redargue", "bench", "run", "--dataset", sample["dataset"], "--path", sample["file"]]
    if sample.get("limit") is not None:
        parts += ["--limit", str(sample["limit"])]
    if sample["how"] != "first" or sample.get("per_group"):
        parts += ["--take", "group" if sample.get("per_group") else sample["how"]]
    if sample["half"] != "all":
        parts += ["--half", sample["half"]]
    parts += ["--seed", str(sample["seed"])]
    parts += arguments
    for name, value in sample.get("options") or ():
        parts += ["--map", value] if name == "mapping" else ["--option", f"{name}={value}"]
    for spec in specs:
        parts += ["--method", spec]
    return shlex.join([*map(str, parts), "--out", "DIR"])


def versions(bench: BenchRun) -> Table:
    systems = enumerate(zip(bench.comparison.rows, bench.abouts, strict=True))
    columns = (
        *map(Column, ("redargue", "Method", "Backend")),
        Column("Model and weights", "long"),
        number("Seed"),
        Column("Tools and data revisions", "long"),
    )
    note = "Weights of the embedded backend: the first characters of each model's sha256."
    rows = tuple((*key(at, row), *_identity(about)) for at, (row, about) in systems)
    return Table("What was run", (*SYSTEM, *columns), rows, (note,))


def _identity(about: Mapping[str, Any]) -> tuple[str, ...]:
    models = (f"{role}: {name}" for role, name in dict(about.get("models") or {}).items())
    tools = (
        f"{name} {dict(tool).get('revision', '')}".strip() for name, tool in dict(about.get("tools") or {}).items()
    )
    return (
        str(about.get("redargue", "unknown")),
        f"{about.get('method', '')} ({about.get('profile', '')})",
        str(about.get("backend", "")),
        "; ".join(part for part in (str(about.get("identity", "")), *models) if part),
        str(about.get("seed", "")),
        "; ".join(tools) or "none",
    )


def settings(about: Mapping[str, Any]) -> str:
    return json.dumps(about.get("settings") or {}, indent=1, ensure_ascii=False)


def sample_facts(bench: BenchRun) -> tuple[str, ...]:
    """What the commands do not say."""
    sample = bench.comparison.sample
    return (
        f"Data file {sample['file']}, sha256 {sample['sha256']}.",
        gold_text(sample),
        "--store names the corpus that tools search; the same corpus gives the same revisions as above.",
        f"This report was made with Python {platform.python_version()}; making it calls no model.",
    )


def not_comparable(bench: BenchRun) -> tuple[str, ...]:
    """Comparisons that these figures do not support."""
    comparison, abouts = bench.comparison, bench.abouts
    rows, sample = comparison.rows, comparison.sample
    seeds = " (the table of seeds shows it)" if comparison.repeats else f" (seed {sample['seed']})"
    limits = [
        f"These figures are from {sample['taken']:,} claims of one file. Figures published for other samples, other "
        "evidence or other models are not on the same scale.",
        "Intervals and tests are over claims, from one run per system: they do not include what another seed would "
        f"change{seeds}.",
    ]
    if any(about.get("backend") == "embedded" for about in abouts):
        limits.append(
            "The embedded backend performs the tasks with small models, without a language model: its figures compare "
            "methods on this backend, not what they would reach with the models of their papers."
        )
    for name, what in (("redargue", "versions of redargue"), ("identity", "models"), ("seed", "seeds")):
        values = {json.dumps(about.get(name)) for about in abouts}
        if len(values) > 1:
            limits.append(f"The systems ran with different {what}: {', '.join(sorted(values))}.")
    limits += _different_evidence(bench)
    if any(row.scores.cost.usage.usd is None for row in rows):
        limits.append("Prices are not known for every system: cost is compared in calls.")
    if any(row.errors for row in rows):
        errors = ", ".join(f"{letter(at)} {row.errors}" for at, row in enumerate(rows) if row.errors)
        limits.append(f"Claims that ended in an error count as wrong: {errors}.")
    if hidden := max(row.scores.hidden for row in rows):
        limits.append(f"{hidden} claims have no gold label: they count only in coverage and cost.")
    limits.append("Seconds depend on the machine, its load, and what earlier systems left in caches.")
    return tuple(limits)


def _different_evidence(bench: BenchRun) -> list[str]:
    tools = [tuple(dict(about.get("tools") or {})) for about in bench.abouts]
    if len(set(tools)) < 2:
        return []
    read = "; ".join(f"{letter(at)} {', '.join(names) or 'nothing'}" for at, names in enumerate(tools))
    debated = " (debated: the passages that A’s debate read)" if any("debated" in names for names in tools) else ""
    return [f"The systems do not all read the same evidence: {read}{debated}."]


def run_commands(run: SingleRun) -> tuple[str, ...]:
    return (shlex.join(["redargue", "replay", str(run.folder)]),)


def run_facts(run: SingleRun) -> tuple[tuple[str, str], ...]:
    version, method, backend, identity, seed, tools = _identity(run.about)
    usage = total_usage(run.usages)
    return (
        ("Method", method),
        ("Backend", backend),
        ("Model and weights", identity),
        ("Tools and data revisions", tools),
        ("Seed", seed),
        ("redargue", version),
        ("Cost", cost(usage) + (", price unknown" if usage.usd is None else "")),
    )
