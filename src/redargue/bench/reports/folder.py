"""The folder of a bench as a kind of folder that is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment

from redargue.bench.compare import RESULTS
from redargue.bench.harness import BENCH
from redargue.bench.reports.adjudication import Adjudicated, adjudication_tables, queue, read_back
from redargue.bench.reports.load import BenchRun, load_bench
from redargue.bench.reports.markdown import bench_markdown
from redargue.bench.reports.page import bench_page
from redargue.bench.reports.reproducibility import not_comparable, reproduction_commands
from redargue.errors import UsageError
from redargue.reports.exchange import claim_reviews
from redargue.reports.folders import Wanted
from redargue.reports.render import OF_RUNS, as_json, dumped, table_json


def is_kind(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (RESULTS, BENCH))


def page(folder: Path, around: Environment, **layout: Any) -> str:
    return bench_page(load_bench(folder), around=around, **layout)


def render(folder: Path, wanted: Wanted) -> str:
    """Raises UsageError for a format that only a run has, and for options that the format does not read."""
    bench, format_ = load_bench(folder), wanted.format
    if format_ in OF_RUNS:
        raise UsageError(
            f"{str(folder)!r} is a bench, not a run", where="--format", hint="name the folder of one system"
        )
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
    report: dict[str, Any] = {
        "comparison": bench.comparison.model_dump(mode="json"),
        "runs": [dumped(manifest) for manifest in bench.manifests],
        "commands": reproduction_commands(bench),
        "not_comparable": not_comparable(bench),
    }
    if rows is not None:
        tables = [table_json(table) for table in adjudication_tables(bench, rows)]
        report["adjudicated"] = {"rows": [row._asdict() for row in rows], "tables": tables}
    return as_json("bench", report)
