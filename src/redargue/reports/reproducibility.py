"""How a run was made and how to reproduce it, and the table of its claims."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection

from redargue.evidence import Side
from redargue.reports.load import SingleRun
from redargue.reports.phrases import cost, label_of
from redargue.reports.table import Cell, Column, Link, Table, cut, number
from redargue.runs.folders import runs_folder
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted
from redargue.verdicts import total_usage


def summarize_identity(manifest: RunManifest) -> tuple[str, ...]:
    models = (f"{role}: {name}" for role, name in manifest.spec.models.items())
    tools = (f"{name} {tool.revision}".strip() for name, tool in manifest.tools.items())
    return (
        manifest.redargue or "unknown",
        f"{manifest.spec.method} ({manifest.spec.profile})",
        manifest.spec.backend,
        "; ".join(filter(None, (manifest.backend.identity, *models))),
        str(manifest.spec.seed),
        "; ".join(tools) or "none",
    )


def settings(manifest: RunManifest) -> str:
    return json.dumps(manifest.spec.settings, indent=1, ensure_ascii=False)


def replay_command(run: SingleRun) -> str:
    # The name is enough of a run in redargue's home, and does not disclose a local path.
    in_home = run.folder.parent == runs_folder()
    return shlex.join(["redargue", "replay", run.folder.name if in_home else str(run.folder)])


def _confidence_of_run(run: SingleRun) -> str:
    """Returns the range of the verdicts' confidences, and the threshold below which claims are left open."""
    shown = [verdict.shown_confidence for verdict in run.verdicts.values()]
    confidences = [value for value in shown if value is not None]
    if confidences:
        text = " to ".join(dict.fromkeys(f"{end(confidences):.2f}" for end in (min, max)))
        if len(confidences) < len(run.verdicts):
            text += f", of {len(confidences)} of {counted(len(run.verdicts), 'claim')}"
    elif all(verdict.unchecked for verdict in run.verdicts.values()):
        text = "none, as no claim was checked"
    else:
        text = "not calibrated for this method and model"
    threshold = run.manifest.threshold
    return text + (f"; below {threshold:g} a claim is left open" if threshold else "")


def run_facts(run: SingleRun) -> tuple[tuple[str, str], ...]:
    version, method, backend, identity, seed, tools = summarize_identity(run.manifest)
    usage = total_usage(run.usages)
    unpriced = usage.usd is None and not run.manifest.is_local
    return (
        ("Method", method),
        ("Backend", backend),
        ("Model and weights", identity),
        ("Tools and data revisions", tools),
        ("Confidence", _confidence_of_run(run)),
        ("Seed", seed),
        ("redargue", version),
        ("Cost", cost(usage) + (", price unknown" if unpriced else "")),
    )


def shortened_cell(claim: str) -> str:
    return cut(claim, 400, " …")


def run_table(run: SingleRun, shown: Collection[int]) -> Table:
    """Returns a row for each claim; the label of a claim in ``shown`` links to its section of the page."""
    rows: list[tuple[Cell, ...]] = []
    for item, verdict in run.verdicts.items():
        label = label_of(verdict)
        sides = Counter(quote.side for quote in verdict.quotes if quote.found)
        claim, sure = shortened_cell(verdict.claim.text), verdict.shown_confidence
        cell = Link(label, f"c-{item}") if item in shown else label
        counts = (sides[Side.FOR], sides[Side.AGAINST], len(verdict.gaps), verdict.usage.calls)
        rows.append((item + 1, claim, cell, sure, *counts))
    counted_columns = (number(title, ",") for title in ("Quotes for", "Quotes against", "Gaps", "Calls"))
    texts = (Column("Claim", "long"), Column("Verdict"))
    columns = (number("No."), *texts, number("Confidence", ".2f"), *counted_columns)
    note = "“Not enough” does not mean that a claim is partly true."
    return Table("What was found for each claim", columns, tuple(rows), (note,))
