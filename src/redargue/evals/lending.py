"""An evidence memory that one contender's run has left, copied for another one, with a word on whose it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from redargue.errors import UsageError


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
