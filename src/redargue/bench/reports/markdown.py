"""The report of a bench as Markdown, and its comparison on a terminal or in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from redargue.bench.compare import Comparison
from redargue.bench.reports import publishing, tables
from redargue.bench.reports.charts import frontier_table
from redargue.bench.reports.load import BenchRun
from redargue.bench.reports.rounds import rounds_table
from redargue.reports.markdown import block, list_markdown, plain, print_tables, table_markdown, tables_markdown
from redargue.reports.table import Table
from redargue.sanitize import counted, printable


def bench_markdown(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    comparison = bench.comparison
    labels = [*(tables.confusion_table(at, row) for at, row in enumerate(comparison.rows)), tables.classes(comparison)]
    flips = [tables.flips_table(comparison, pair, ()) for pair in comparison.pairs if pair.flips]
    reproduce = [
        *map(block, publishing.reproduction_commands(bench)),
        table_markdown(publishing.versions(bench)),
        list_markdown(publishing.sample_facts(bench)),
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
        "What is not comparable": [list_markdown(publishing.not_comparable(bench))],
    }
    heading = f"# {counted(len(comparison.rows), 'system')} on {plain(comparison.sample['dataset'])}"
    parts = [heading, plain(tables.sample_text(comparison.sample)) + "."]
    for title, body in sections.items():
        if body:
            parts += [f"## {title}", *body]
    return "\n\n".join(parts) + "\n"


def print_comparison(comparison: Comparison, *, file: TextIO | None = None) -> None:
    for line in (f"{tables.sample_text(comparison.sample)}.", tables.gold_text(comparison.sample), ""):
        print(printable(line, lines=False), file=file or sys.stdout)
    made = (*tables.results_table(comparison), tables.pairs(comparison))
    print_tables((table for table in made if table.rows), file=file)
