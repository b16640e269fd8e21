"""The report of a bench as a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from redargue.bench.reports import reproducibility, tables
from redargue.bench.reports.charts import charts
from redargue.bench.reports.frontier import frontier_table
from redargue.bench.reports.load import OTHERS_SHOWN, BenchRun
from redargue.bench.reports.rounds import rounds_table
from redargue.reports.html.debate import Passages, debate
from redargue.reports.html.environment import environment, macro
from redargue.reports.html.pages import DEBATES_BYTES, limits_of, line_writer, within_bound
from redargue.reports.load import Trace, traces
from redargue.reports.reproducibility import settings
from redargue.reports.table import Table, letter
from redargue.sanitize import counted, printable

CONTENTS = {
    "results": "Results",
    "pairs": "Paired tests",
    "charts": "Charts",
    "labels": "Labels",
    "adjudicated": "Adjudicated",
    "flips": "Flips",
    "debates": "Debates",
    "repeat": "To reproduce it",
    "limits": "What is not comparable",
}


@lru_cache(maxsize=2)
def _templates(around: Environment) -> Environment:
    """Those of the bench, in the layout of others."""
    loaders = [PackageLoader("redargue.bench", "reports"), around.loader]
    templates = around.overlay(loader=ChoiceLoader([loader for loader in loaders if loader]))
    templates.globals = {**around.globals, "anchor": tables.anchor, "predicted_label": tables.predicted_label}
    return templates


def bench_page(
    bench: BenchRun, adjudication: Sequence[Table] = (), *, around: Environment | None = None, **layout: Any
) -> str:
    """A file by itself, or a page in the layout of the templates ``around``, which may need further values."""
    templates = _templates(around or environment())
    comparison = bench.comparison
    rows = comparison.rows
    shown = bench.shown()
    systems = [traces(bench.folder / row.slug, shown) for row in rows]
    debates = within_bound(shown, lambda item: _claim(bench, item, [system[item] for system in systems], templates))
    matrices = [tables.confusion_table(at, row) for at, row in enumerate(rows)]
    content = templates.get_template("bench.html").render(
        **layout,
        title=f"{counted(len(rows), 'system')} on {comparison.sample['dataset']}",
        contents={name: words for name, words in CONTENTS.items() if name != "adjudicated" or adjudication},
        sample=tables.sample_text(comparison.sample),
        rows=rows,
        claims=len(comparison.claims),
        results=tables.results_table(comparison),
        pairs=tables.pairs(comparison),
        charts=charts(comparison),
        uncalibrated=[letter(at) for at, row in enumerate(rows) if not row.scores.reliability],
        unpriced=all(row.scores.cost.usage.usd is None for row in rows),
        frontier=frontier_table(comparison),
        by_round=rounds_table(comparison),
        matrices=[matrix for matrix in matrices if matrix],
        classes=tables.classes(comparison),
        adjudication=adjudication,
        flips=[tables.flips_table(comparison, pair, debates) for pair in comparison.pairs],
        flipping=bench.flipping,
        limits_of_debates=(OTHERS_SHOWN, DEBATES_BYTES // 1_000_000),
        debates=dict(sorted(debates.items())),
        command_lines=reproducibility.reproduction_commands(bench),
        versions=reproducibility.versions(bench),
        facts=reproducibility.sample_facts(bench),
        settings_of=[(row, settings(run)) for row, run in zip(rows, bench.manifests, strict=True)],
        limits=reproducibility.not_comparable(bench),
    )
    return printable(content) + "\n"


def _claim(bench: BenchRun, item: int, every: Sequence[Trace], templates: Environment) -> Markup:
    passages = Passages(item, every)
    lines = [line_writer(limits_of(manifest)) for manifest in bench.manifests]
    systems = [
        (row, debate(trace, passages, line))
        for row, trace, line in zip(bench.comparison.rows, every, lines, strict=True)
    ]
    claim = macro("bench_claim.html", "claim", templates)
    return claim(bench.comparison.claims[item], systems, passages)
