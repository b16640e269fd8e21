"""A folder as a report of some format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.evals.report.adjudication import Adjudicated, adjudication_tables, queue, read_back
from redargue.evals.report.claimreview import claim_reviews
from redargue.evals.report.facts import Table
from redargue.evals.report.gathered import BenchRun, SingleRun, gather
from redargue.evals.report.notes import commands, not_comparable, run_commands
from redargue.evals.report.page import bench_page, run_page
from redargue.evals.report.plain import bench_text, run_text
from redargue.registry import did_you_mean

FORMATS = ("html", "md", "json", "claimreview", "adjudication")
SCHEMA_VERSION = 1


def render(
    folder: Path, format_: str = "html", *, method: str = "", adjudicated: Path | None = None, csv: bool = False
) -> str:
    """The report as text; no model is asked.

    Args:
        folder: of a bench or of a run.
        format_: one of ``FORMATS``.
        method: of a bench, whose verdicts are reviewed or queued; the first contender's by default.
        adjudicated: a filled queue, whose table is added.
        csv: of the queue, CSV instead of JSON Lines.

    Raises:
        UsageError: an unknown format, a folder that is neither, or an option that this format does not know.
        RecordError: a damaged record.
    """
    if format_ not in FORMATS:
        raise UsageError(f"no format {format_!r}", where="--format", hint=did_you_mean(format_, list(FORMATS)))
    found = gather(folder)
    if isinstance(found, SingleRun):
        if method or adjudicated or format_ == "adjudication":
            raise UsageError(f"{str(folder)!r} is a run, not a bench", hint="a bench has gold labels and contenders")
        return _run(found, format_)
    if method and format_ not in ("claimreview", "adjudication"):
        raise UsageError(f"{format_} shows all contenders", where="--method", hint="for claimreview and adjudication")
    if adjudicated and format_ not in ("html", "md", "json"):
        raise UsageError(f"no table in {format_}", where="--adjudicated", hint="for html, md and json")
    return _bench(found, format_, method, read_back(adjudicated, found) if adjudicated else None, csv=csv)


def _bench(bench: BenchRun, format_: str, method: str, rows: tuple[Adjudicated, ...] | None, *, csv: bool) -> str:
    tables = adjudication_tables(bench, rows) if rows is not None else ()
    if format_ == "html":
        return bench_page(bench, tables)
    if format_ == "md":
        return bench_text(bench, tables)
    if format_ == "adjudication":
        return queue(bench, method, as_csv=csv)
    if format_ == "claimreview":
        return claim_reviews(bench.verdicts(bench.row(method)).values())
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": "bench",
        "comparison": bench.comparison.model_dump(mode="json"),
        "runs": [_bare(about) for about in bench.abouts],
        "commands": commands(bench),
        "not_comparable": not_comparable(bench),
    }
    if rows is not None:
        made["adjudicated"] = {"rows": [row._asdict() for row in rows], "tables": [_as_json(each) for each in tables]}
    return json.dumps(made, indent=1) + "\n"


def _run(run: SingleRun, format_: str) -> str:
    if format_ == "html":
        return run_page(run)
    if format_ == "md":
        return run_text(run)
    if format_ == "claimreview":
        return claim_reviews(run.verdicts.values())
    made = {
        "schema_version": SCHEMA_VERSION,
        "kind": "run",
        "run": _bare(run.about),
        "unfinished": run.unfinished,
        "verdicts": [each.model_dump(mode="json") for each in run.verdicts.values()],
        "commands": run_commands(run),
    }
    return json.dumps(made, indent=1) + "\n"


def _bare(about: Any) -> dict[str, Any]:
    """What a run was, without its claims: the verdicts hold them."""
    return {name: value for name, value in about.items() if name != "claims"}


def _as_json(table: Table) -> dict[str, Any]:
    return {"caption": table.caption, "head": table.head, "rows": table.rows, "note": table.note}
