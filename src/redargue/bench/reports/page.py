"""The report of a bench as a page, and the folder of a bench as a kind of folder that is reported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from redargue.bench.compare import RESULTS
from redargue.bench.harness import BENCH
from redargue.bench.reports import OTHERS_SHOWN, BenchRun, load_bench, publishing, tables
from redargue.bench.reports.adjudication import Adjudicated, adjudication_tables, queue, read_back
from redargue.bench.reports.charts import charts, frontier_table
from redargue.bench.reports.tables import rounds_table
from redargue.errors import UsageError
from redargue.reports import Trace, traces
from redargue.reports.debate import (
    DEBATES_BYTES,
    Passages,
    debate,
    environment,
    limits_of,
    line_writer,
    macro,
    within_bound,
)
from redargue.reports.exchange import claim_reviews
from redargue.reports.folders import Wanted
from redargue.reports.markdown import block, list_markdown, plain, table_markdown, tables_markdown
from redargue.reports.overview import settings
from redargue.reports.render import OF_RUNS, as_json, dumped, table_json
from redargue.reports.table import Table, letter
from redargue.sanitize import counted, printable


def bench_markdown(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    comparison = bench.comparison
    labels = [*(tables.confusion_table(at, row) for at, row in enumerate(comparison.rows)), tables.classes(comparison)]
    flips = [tables.flips_table(comparison, pair, ()) for pair in comparison.pairs if pair.flips]
    reproduce = [
        *map(block, publishing.reproduction_commands(bench)),
        table_markdown(publishing.version_table(bench)),
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
        command_lines=publishing.reproduction_commands(bench),
        versions=publishing.version_table(bench),
        facts=publishing.sample_facts(bench),
        settings_of=[(row, settings(run)) for row, run in zip(rows, bench.manifests, strict=True)],
        limits=publishing.not_comparable(bench),
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


def is_kind(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (RESULTS, BENCH))


def page(folder: Path, around: Environment, **layout: Any) -> str:
    return bench_page(load_bench(folder), around=around, **layout)


def render(folder: Path, wanted: Wanted) -> str:
    """Raises UsageError for a format that only a run has, and for options that the format does not read."""
    bench, format_ = load_bench(folder), wanted.format
    if format_ in OF_RUNS:
        what = f"{str(folder)!r} is a bench, not a run"
        raise UsageError(what, where="--format", hint="name the folder of one system")
    if wanted.method and format_ not in ("claimreview", "adjudication"):
        raise UsageError(f"{format_} shows all systems", where="--method", hint="for claimreview and adjudication")
    if wanted.adjudicated and format_ not in ("html", "md", "json"):
        raise UsageError(f"no table in {format_}", where="--adjudicated", hint="for html, md and json")
    if format_ == "claimreview" and wanted.signature:
        return claim_reviews(bench.verdicts(bench.row(wanted.method)).values(), wanted.signature)
    if format_ == "adjudication":
        return queue(bench, wanted.method, as_csv=wanted.csv)
    rows = read_back(wanted.adjudicated, bench) if wanted.adjudicated else None
    tables = () if rows is None else adjudication_tables(bench, rows)
    if format_ in ("html", "md"):
        return (bench_page if format_ == "html" else bench_markdown)(bench, tables)
    return _json(bench, rows)


def _json(bench: BenchRun, rows: tuple[Adjudicated, ...] | None) -> str:
    report: dict[str, object] = {
        "comparison": bench.comparison.model_dump(mode="json"),
        "runs": [dumped(manifest) for manifest in bench.manifests],
        "commands": publishing.reproduction_commands(bench),
        "not_comparable": publishing.not_comparable(bench),
    }
    if rows is not None:
        tables = [table_json(table) for table in adjudication_tables(bench, rows)]
        report["adjudicated"] = {"rows": [row._asdict() for row in rows], "tables": tables}
    return as_json("bench", report)
