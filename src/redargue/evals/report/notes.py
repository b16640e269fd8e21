"""What is needed to repeat a bench, and what of it cannot be compared."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from redargue.evals.comparison import Comparison
from redargue.evals.report.facts import KEY, Cell, Table, letter
from redargue.evals.report.gathered import BenchRun, SingleRun


def commands(bench: BenchRun) -> tuple[str, ...]:
    """To run it again, to compute its table again, to hear a contender's debates again."""
    again = ["redargue", "bench", "compare", str(bench.folder)]
    replay = ["redargue", "replay", str(bench.folder / bench.comparison.rows[0].slug)]
    made = _runs(bench.comparison)
    if all(about.get("backend") == "recorded" for about in bench.abouts):
        made = (shlex.join(["redargue", "bench", "import", bench.comparison.sample["file"], "--out", "DIR"]),)
    return (*made, shlex.join(again), shlex.join(replay))


def _runs(comparison: Comparison) -> tuple[str, ...]:
    """The commands that make the bench again: one for contenders in a row that were run with the same arguments."""
    groups = groupby(comparison.rows, key=lambda row: row.arguments)
    return tuple(_run(comparison.sample, arguments, [row.spec for row in rows]) for arguments, rows in groups)


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
    """Who played the roles, over which evidence."""
    lines: list[tuple[Cell, ...]] = []
    for at, (row, about) in enumerate(zip(bench.comparison.rows, bench.abouts, strict=True)):
        lines.append((letter(at), row.spec, *_identity(about)))
    head = (KEY, "Contender", "redargue", "Method", "Backend", "Model and weights", "Seed", "Tools and data revisions")
    return Table("What was run", head, tuple(lines), "Weights of the embedded backend: sha256 of each model, begun.")


def _identity(about: Mapping[str, Any]) -> tuple[str, ...]:
    models = "; ".join(f"{role}: {name}" for role, name in dict(about.get("models") or {}).items())
    tools = "; ".join(
        f"{name} {dict(tool).get('revision', '')}".strip() for name, tool in dict(about.get("tools") or {}).items()
    )
    identity = str(about.get("identity", ""))
    return (
        str(about.get("redargue", "unknown")),
        f"{about.get('method', '')} ({about.get('profile', '')})",
        str(about.get("backend", "")),
        "; ".join(each for each in (identity, models) if each),
        str(about.get("seed", "")),
        tools or "none",
    )


def settings(about: Mapping[str, Any]) -> str:
    """A run's settings as JSON."""
    return json.dumps(about.get("settings") or {}, indent=1, ensure_ascii=False)


def sample_facts(bench: BenchRun) -> tuple[str, ...]:
    """What the commands do not say."""
    sample = bench.comparison.sample
    labels = ", ".join(f"{count} {name}" for name, count in sample.get("labels") or ())
    return (
        f"Data file {sample['file']}, sha256 {sample['sha256']}.",
        f"Gold labels in the sample: {labels or 'none'}.",
        "The corpus that tools search is given with --store: the right one gives the same revisions as above.",
        f"This report was made with Python {platform.python_version()}; making it again asks no model.",
    )


def not_comparable(bench: BenchRun) -> tuple[str, ...]:
    """What a reader would be wrong to compare."""
    comparison, abouts = bench.comparison, bench.abouts
    rows, sample = comparison.rows, comparison.sample
    found = [
        f"These figures are of {sample['taken']:,} claims of one file. Figures that were published on other samples, "
        "with other evidence or other models, are not on the same scale.",
        "Intervals and tests are over claims, of one run a contender: what another seed would change is not in them"
        + (" (the table of seeds shows it)." if comparison.repeats else f" (seed {sample['seed']})."),
    ]
    if any(about.get("backend") == "embedded" for about in abouts):
        found.append(
            "The embedded backend plays the roles with small models, without a language model: its figures say how "
            "methods compare on it, not what the papers' models would reach."
        )
    for name, what in (("redargue", "versions of redargue"), ("identity", "models"), ("seed", "seeds")):
        values = {json.dumps(about.get(name)) for about in abouts}
        if len(values) > 1:
            found.append(f"The contenders ran with different {what}: {', '.join(sorted(values))}.")
    found += _evidence(bench)
    if any(row.scores.cost.usage.usd is None for row in rows):
        found.append("Prices are not known for every contender: cost is compared in calls.")
    if any(row.errors for row in rows):
        told = ", ".join(f"{letter(at)} {row.errors}" for at, row in enumerate(rows) if row.errors)
        found.append(f"Claims that ended in an error count as wrong: {told}.")
    hidden = max(row.scores.hidden for row in rows)
    if hidden:
        found.append(f"{hidden} claims have no gold label: they count in coverage and cost alone.")
    found.append("Seconds depend on the machine, on what else ran, and on what earlier contenders left in caches.")
    return tuple(found)


def _evidence(bench: BenchRun) -> list[str]:
    """Which contenders read what, where that differs."""
    read = [tuple(dict(about.get("tools") or {})) for about in bench.abouts]
    if len(set(read)) < 2:
        return []
    told = "; ".join(f"{letter(at)} {', '.join(names) or 'nothing'}" for at, names in enumerate(read))
    debated = " (debated: the passages that A’s debate had read)" if any("debated" in names for names in read) else ""
    return [f"The contenders do not all read the same evidence: {told}{debated}."]


def run_commands(run: SingleRun) -> tuple[str, ...]:
    """To hear a run again."""
    return (shlex.join(["redargue", "replay", str(run.folder)]),)


def run_facts(run: SingleRun) -> tuple[tuple[str, str], ...]:
    """How a run was done, as pairs of name and value."""
    version, method, backend, identity, seed, tools = _identity(run.about)
    calls = sum(each.calls for each in run.spent)
    searches = sum(each.searches for each in run.spent)
    tokens = sum(each.prompt_tokens + each.completion_tokens for each in run.spent)
    prices = [each.usd for each in run.spent]
    known = [price for price in prices if price is not None]
    price = f"${sum(known):.4f}" if len(known) == len(prices) else "not known"
    return (
        ("Method", method),
        ("Backend", backend),
        ("Model and weights", identity),
        ("Tools and data revisions", tools),
        ("Seed", seed),
        ("redargue", version),
        ("Cost", f"{calls:,} calls, {searches:,} searches, {tokens:,} tokens, price {price}"),
    )
