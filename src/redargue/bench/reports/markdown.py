"""The report of a bench as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.reports import reproducibility, tables
from redargue.bench.reports.frontier import frontier_table
from redargue.bench.reports.load import BenchRun
from redargue.bench.reports.rounds import rounds_table
from redargue.reports.markdown import block, list_markdown, plain, table_markdown, tables_markdown
from redargue.reports.table import Table
from redargue.sanitize import counted


def bench_markdown(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    comparison = bench.comparison
    labels = [*(tables.confusion_table(at, row) for at, row in enumerate(comparison.rows)), tables.classes(comparison)]
    flips = [tables.flips_table(comparison, pair, ()) for pair in comparison.pairs if pair.flips]
    reproduce = [
        *map(block, reproducibility.reproduction_commands(bench)),
        table_markdown(reproducibility.versions(bench)),
        list_markdown(reproducibility.sample_facts(bench)),
    ]
    sections = {
        "Results": tables_markdown(tables.results_table(comparison)),
        "Paired tests": tables_markdown([tables.pairs(comparison)]) or ["One system: nothing to compare."],
        "Accuracy against cost": tables_markdown([frontier_table(comparison)]),
        "Accuracy by round": tables_markdown([rounds_table(comparison)]),
        "Labels": tables_markdown(labels),
        "Adjudicated": tables_markdown(adjudication),
        "Flips": tables_markdown(flips),
        "To reproduce it": reproduce,
        "What is not comparable": [list_markdown(reproducibility.not_comparable(bench))],
    }
    heading = f"# {counted(len(comparison.rows), 'system')} on {plain(comparison.sample['dataset'])}"
    parts = [heading, plain(tables.sample_text(comparison.sample)) + "."]
    for title, body in sections.items():
        if body:
            parts += [f"## {title}", *body]
    return "\n\n".join(parts) + "\n"
