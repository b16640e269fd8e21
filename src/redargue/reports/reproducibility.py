"""How to reproduce a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection

from redargue.reports.load import SingleRun
from redargue.reports.phrases import cost, label_of
from redargue.reports.table import Cell, Column, Link, Table, number
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


def run_commands(run: SingleRun) -> tuple[str, ...]:
    known = run.folder.parent == runs_folder()  # a name finds it, and says nothing about the machine
    return (shlex.join(["redargue", "replay", run.folder.name if known else str(run.folder)]),)


def confidence_of_run(run: SingleRun) -> str:
    """The range of the verdicts' confidences, and the threshold below which the run left claims open."""
    known = [sure for verdict in run.verdicts.values() if (sure := verdict.shown_confidence) is not None]
    least, most = (f"{value:.2f}" for value in (min(known), max(known))) if known else ("", "")
    unknown = "not calibrated for this method and model"
    if all(verdict.unchecked for verdict in run.verdicts.values()):
        unknown = "none, as no claim was checked"
    shown = f"{least} to {most}" if least != most else least or unknown
    if known and len(known) < len(run.verdicts):
        shown += f", of {len(known)} of {counted(len(run.verdicts), 'claim')}"
    threshold = run.manifest.threshold
    return shown + (f"; below {threshold:g} a claim is left open" if threshold else "")


def run_facts(run: SingleRun) -> tuple[tuple[str, str], ...]:
    version, method, backend, identity, seed, tools = summarize_identity(run.manifest)
    usage = total_usage(run.usages)
    return (
        ("Method", method),
        ("Backend", backend),
        ("Model and weights", identity),
        ("Tools and data revisions", tools),
        ("Confidence", confidence_of_run(run)),
        ("Seed", seed),
        ("redargue", version),
        ("Cost", cost(usage) + (", price unknown" if usage.usd is None and not run.manifest.is_local else "")),
    )


# The table of a run's claims.

_CLAIM_SHOWN = 400  # characters of a claim in a table


def shortened_cell(claim: str) -> str:
    return claim if len(claim) <= _CLAIM_SHOWN else f"{claim[:_CLAIM_SHOWN]} …"


def run_table(run: SingleRun, shown: Collection[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for item, verdict in run.verdicts.items():
        label = label_of(verdict)
        sides = (sum(quote.found and quote.side == side for quote in verdict.quotes) for side in ("for", "against"))
        cell = Link(label, f"c-{item}") if item in shown else label
        found = (*sides, len(verdict.gaps), verdict.usage.calls)
        rows.append((item + 1, shortened_cell(verdict.claim.text), cell, verdict.shown_confidence, *found))
    counts = (number(title, ",") for title in ("Quotes for", "Quotes against", "Gaps", "Calls"))
    columns = (number("No."), Column("Claim", "long"), Column("Verdict"), number("Confidence", ".2f"), *counts)
    note = "“Not enough” does not mean that a claim is partly true."
    return Table("What was found for each claim", columns, tuple(rows), (note,))
