"""Passes the evidence memory of one system's run to another system."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from redargue.errors import RecordError, UsageError
from redargue.runs.manifest import load_manifest


def copy_memory(source: Path, copy: Path, *, whose: str, to: str) -> None:
    """Copies an evidence memory once; a file beside the copy records ``whose`` memory it is."""
    origin = copy.with_suffix(".from")
    if copy.exists():
        known = origin.read_text(encoding="utf-8") if origin.exists() else whose
        if known != whose:
            raise UsageError(
                f"{to!r} has run, and its memory is that of {known!r}, not of {whose!r}",
                where=str(copy.parent),
                hint="give --out another folder, or the memory that it had",
            )
        return
    if not source.exists():
        raise UsageError(f"no file {str(source)!r}: {whose!r} has left no memory", hint="run it first")
    beside = copy.with_suffix(".new")  # an interrupted copy must not be used
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(beside)) as new:
        old.backup(new)
    origin.write_text(whose, encoding="utf-8")
    beside.replace(copy)


def require_same_passages(run: Path, tool: str, revision: str, *, of: str) -> None:
    """Refuses to resume a run whose evidence tool, the passages read by the system ``of``, has changed."""
    try:
        known = load_manifest(run).tools[tool].revision
    except (RecordError, LookupError):
        return  # nothing has run yet; damage is reported when the run is opened
    if known != revision:
        raise RecordError(
            f"claims of {of!r} were retried after {run.name!r} had read their passages",
            hint=f"remove the folder {str(run)!r} to run it again",
        )
