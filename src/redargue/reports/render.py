"""A folder as a report of some format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.reports.adjudication import Adjudicated, adjudication_tables, queue, read_back
from redargue.reports.annotation import web_annotation
from redargue.reports.claimreview import Signature, claim_reviews, read_signature
from redargue.reports.html.pages import bench_page, run_page
from redargue.reports.junit import junit
from redargue.reports.load import BenchRun, SingleRun, load
from redargue.reports.markdown import bench_markdown, run_markdown
from redargue.reports.reproducibility import commands, not_comparable, run_commands
from redargue.reports.sarif import sarif
from redargue.reports.table import Table
from redargue.runs.manifest import RunManifest

FORMATS = ("html", "md", "json", "claimreview", "adjudication", "sarif", "junit", "annotation")
OF_RUNS = ("sarif", "junit", "annotation")
SCHEMA_VERSION = 1


def render(
    folder: Path,
    format_: str = "html",
    *,
    method: str = "",
    adjudicated: Path | None = None,
    csv: bool = False,
    signature: Signature | None = None,
    file: Path | None = None,
    url: str = "",
) -> str:
    """The report of a bench or a run as text; no model is called.

    ``method`` is the system to review or queue, by default the first. ``adjudicated`` is a completed queue to include;
    ``csv`` writes a queue as CSV instead of JSON Lines. ``signature`` is required for claimreview. ``file`` is the file
    that a run checked, for sarif, junit and annotation, and ``url`` the address of the annotated page.
    """
    if format_ not in FORMATS:
        raise UsageError(f"no format {format_!r}", where="--format", hint=did_you_mean(format_, list(FORMATS)))
    if format_ == "claimreview" and signature is None:
        signature = read_signature("", "", "")
    if file and format_ not in OF_RUNS:
        raise UsageError(f"{format_} does not name the checked file", where="--file", hint=f"for {', '.join(OF_RUNS)}")
    loaded = load(folder)
    if isinstance(loaded, SingleRun):
        if method or adjudicated or format_ == "adjudication":
            raise UsageError(f"{str(folder)!r} is a run, not a bench", hint="a bench has gold labels and systems")
        if format_ in OF_RUNS:
            return _of_run(loaded, format_, file, url)
        return _run(loaded, format_, signature)
    if format_ in OF_RUNS:
        raise UsageError(
            f"{str(folder)!r} is a bench, not a run", where="--format", hint="name the folder of one system"
        )
    if method and format_ not in ("claimreview", "adjudication"):
        raise UsageError(f"{format_} shows all systems", where="--method", hint="for claimreview and adjudication")
    if adjudicated and format_ not in ("html", "md", "json"):
        raise UsageError(f"no table in {format_}", where="--adjudicated", hint="for html, md and json")
    if signature and format_ == "claimreview":
        return claim_reviews(loaded.verdicts(loaded.row(method)).values(), signature)
    return _bench(loaded, format_, method, read_back(adjudicated, loaded) if adjudicated else None, csv=csv)


def _bench(bench: BenchRun, format_: str, method: str, rows: tuple[Adjudicated, ...] | None, *, csv: bool) -> str:
    tables = adjudication_tables(bench, rows) if rows is not None else ()
    if format_ == "html":
        return bench_page(bench, tables)
    if format_ == "md":
        return bench_markdown(bench, tables)
    if format_ == "adjudication":
        return queue(bench, method, as_csv=csv)
    report: dict[str, Any] = {
        "comparison": bench.comparison.model_dump(mode="json"),
        "runs": [_dumped(manifest) for manifest in bench.manifests],
        "commands": commands(bench),
        "not_comparable": not_comparable(bench),
    }
    if rows is not None:
        report["adjudicated"] = {"rows": [row._asdict() for row in rows], "tables": [_table(table) for table in tables]}
    return _as_json("bench", report)


def _of_run(run: SingleRun, format_: str, file: Path | None, url: str) -> str:
    if format_ == "annotation":
        return web_annotation(run, file, url)
    return sarif(run, file) if format_ == "sarif" else junit(run, file)


def _run(run: SingleRun, format_: str, signature: Signature | None) -> str:
    if format_ == "html":
        return run_page(run)
    if format_ == "md":
        return run_markdown(run)
    if signature and format_ == "claimreview":
        return claim_reviews(run.verdicts.values(), signature)
    report = {
        "run": _dumped(run.manifest),
        "unfinished": run.unfinished,
        "verdicts": [verdict.model_dump(mode="json") for verdict in run.verdicts.values()],
        "commands": run_commands(run),
    }
    return _as_json("run", report)


def _as_json(kind: str, report: Mapping[str, Any]) -> str:
    return json.dumps({"schema_version": SCHEMA_VERSION, "kind": kind, **report}, indent=1) + "\n"


def _dumped(manifest: RunManifest) -> dict[str, Any]:
    return manifest.model_dump(mode="json", exclude={"claims"})


def _table(table: Table) -> dict[str, Any]:
    head = [column.title for column in table.columns]
    return {"caption": table.title, "head": head, "rows": table.text_rows, "note": " ".join(table.notes)}
