"""A run folder as a report of some format; other folders as their kind does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.registry import did_you_mean, install
from redargue.reports import RUN, SingleRun, load_run
from redargue.reports.debate import run_page
from redargue.reports.exchange import claim_reviews, junit, read_signature, sarif, web_annotation
from redargue.reports.folders import Wanted, further_tables, kind_of, kinds
from redargue.reports.markdown import run_markdown
from redargue.reports.overview import replay_command
from redargue.reports.table import Table
from redargue.runs.manifest import RunManifest

OF_RUNS = ("sarif", "junit", "annotation")
_FORMATS = ("html", "md", "json", "claimreview", "adjudication", *OF_RUNS)
SCHEMA_VERSION = 1


def render(folder: Path, format_: str = "html", **options: Any) -> str:
    """The report of a run, or of another folder that has reports, as text; no model is called.

    ``options`` are those of :class:`Wanted`.
    """
    if format_ not in _FORMATS:
        known = ("docx", *_FORMATS)  # a Word document is not a text: ``redargue.reports.markdown.run_docx``
        raise UsageError(f"no format {format_!r}", where="--format", hint=did_you_mean(format_, known))
    wanted = Wanted(format_, **options)
    if format_ == "claimreview" and wanted.signature is None:
        wanted = wanted._replace(signature=read_signature("", "", ""))
    if wanted.file and format_ not in OF_RUNS:
        what = f"{format_} does not name the checked file"
        raise UsageError(what, where="--file", hint=f"for {', '.join(OF_RUNS)}")
    if (folder / RUN).is_file():
        return _run(load_run(folder), wanted)
    kind = kind_of(folder)
    if not kind:
        others = "" if list(kinds) else f"; for the folder of a bench: {install(kinds.extra)}"
        raise UsageError(f"{str(folder)!r} has no report", hint=f"a run folder has a {RUN}{others}")
    with kinds.blamed(kind):
        return kinds[kind].render(folder, wanted)


def _run(run: SingleRun, wanted: Wanted) -> str:
    if wanted.method or wanted.adjudicated or wanted.format == "adjudication":
        raise UsageError(f"{str(run.folder)!r} is a run, not a bench", hint="a bench has gold labels and systems")
    if wanted.format == "annotation":
        return web_annotation(run, wanted.file, wanted.url)
    if wanted.format == "claimreview" and wanted.signature:
        return claim_reviews(run.verdicts.values(), wanted.signature)
    if wanted.format in ("sarif", "junit"):
        return (sarif if wanted.format == "sarif" else junit)(run, wanted.file)
    if wanted.format in ("html", "md"):
        return (run_page if wanted.format == "html" else run_markdown)(run)
    report = {
        "run": dumped(run.manifest),
        "unfinished": run.unfinished,
        "unread_files": [each.model_dump(mode="json") for each in run.unread_files],
        "verdicts": [verdict.model_dump(mode="json") for verdict in run.verdicts.values()],
        "commands": [replay_command(run)],
    }
    if tables := further_tables(run):
        report["sections"] = [table_json(table) for table in tables]
    return as_json("run", report)


def as_json(kind: str, report: Mapping[str, Any]) -> str:
    return json.dumps({"schema_version": SCHEMA_VERSION, "kind": kind, **report}, indent=1) + "\n"


def dumped(manifest: RunManifest) -> dict[str, object]:
    return manifest.model_dump(mode="json", exclude={"claims"})


def table_json(table: Table) -> dict[str, object]:
    return {
        "caption": table.title,
        "head": [column.title for column in table.columns],
        "rows": table.text_rows,
        "note": " ".join(table.notes),
    }
