"""Named copies of a SQLite corpus, in the folder ``FILE.versions`` beside it, to which it can be rolled back."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.files import make_folder, make_private
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.sqlite import SqliteCorpus


class CorpusVersion(Frozen):
    """A saved version; ``saved`` is its time in ISO 8601, UTC, and ``revision`` what runs record of a corpus."""

    name: str
    saved: str
    revision: str
    documents: int


def save(store: Path, name: str) -> str:
    """Copies a corpus while it may be read; its revision. Raises UsageError if there is none, or the name is taken."""
    path = _path(store, name)
    if path.exists():
        raise UsageError(f"there is a version {name!r} of {str(store)!r}", hint="choose another name")
    new = path.with_suffix(".new")
    with SqliteCorpus(store) as corpus:
        corpus.require_complete()
        make_folder(path.parent)
        new.unlink(missing_ok=True)
        make_private(new)
        with closing(sqlite3.connect(new)) as copy:
            corpus.copy_to(copy)
        with SqliteCorpus(new) as saved:
            revision = saved.revision
    os.replace(new, path)
    return revision


def restore(store: Path, name: str) -> str:
    """Replaces a corpus's content by a version's, in one step for its readers; the revision."""
    path = _path(store, name)
    if not path.exists():
        hint = did_you_mean(name, [version.name for version in versions(store)])
        raise UsageError(f"no version {name!r} of {str(store)!r}", hint=hint)
    with SqliteCorpus(path) as version, SqliteCorpus(store, write=True) as corpus:
        corpus.require_complete()
        version.restore_into(corpus)
        return corpus.revision


def versions(store: Path) -> tuple[CorpusVersion, ...]:
    """The versions of a corpus, newest first."""
    found = []
    for path in sorted(_folder(store).glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True):
        with SqliteCorpus(path) as version:
            saved = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
            count = len(version.documents())
            found.append(CorpusVersion(name=path.stem, saved=saved, revision=version.revision, documents=count))
    return tuple(found)


def _folder(store: Path) -> Path:
    return store.with_name(store.name + ".versions")


def _path(store: Path, name: str) -> Path:
    if not re.fullmatch(r"\w[\w.-]{0,99}", name, re.A):
        raise UsageError(f"{name!r} cannot name a version", hint="use letters, digits, '.', '-' and '_'")
    return _folder(store) / f"{name}.db"
