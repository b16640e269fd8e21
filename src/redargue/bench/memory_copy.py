"""What one contender's run leaves to another one: its evidence memory, and the passages that it has read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from redargue.errors import RecordError, UsageError


def lend(source: Path, copy: Path, *, whose: str, to: str) -> None:
    """Copies a memory, once.

    Args:
        source: the memory.
        copy: where it is wanted; whose it is stands beside it.
        whose: the run that left it.
        to: the contender that is given it.

    Raises:
        UsageError: there is no such memory, or the contender was given another one before.
        OSError: the copy cannot be written.
    """
    said = copy.with_suffix(".from")
    if copy.exists():
        known = said.read_text(encoding="utf-8") if said.exists() else whose
        if known != whose:
            raise UsageError(
                f"{to!r} has run, and its memory is that of {known!r}, not of {whose!r}",
                where=str(copy.parent),
                hint="give --out another folder, or the memory that it had",
            )
        return
    if not source.exists():
        raise UsageError(f"{str(source)!r} is not there: {whose!r} has left no memory", hint="run it first")
    beside = copy.with_suffix(".new")  # a copy that was cut short is none
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(beside)) as new:
        old.backup(new)
    said.write_text(whose, encoding="utf-8")
    beside.replace(copy)


def unchanged(run: Path, tool: str, revision: str, *, of: str) -> None:
    """Looks whether a contender that has run read the same passages that it would be given now.

    Args:
        run: its folder; it may not be there.
        tool: gives the passages.
        revision: of the tool, by now.
        of: the contender that found the passages.

    Raises:
        RecordError: others: claims of that one had ended in an error, and were tried again since.
    """
    try:
        known = json.loads((run / "run.json").read_text(encoding="utf-8"))["tools"][tool]["revision"]
    except (OSError, ValueError, LookupError, TypeError):
        return  # nothing has run there, or what is wrong with it is said when the run is opened
    if known != revision:
        raise RecordError(
            f"claims of {of!r} were tried again since {run.name!r} read what had been found for them",
            hint=f"remove the folder {str(run)!r} to read it anew",
        )
