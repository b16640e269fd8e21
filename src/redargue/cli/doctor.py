"""``redargue doctor``: what is there, what is missing, and the line that fixes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer


def doctor(json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """Checks the installation; exits 2 where something that is needed does not work."""
    import json as encoder

    checks: dict[str, Callable[[], str]] = {
        "redargue": _versions,
        "home": _home,
        "search by words": _fts,
        "models": _models,
        "embedded backend": _backend,
        "corpus": _corpus,
        "settings file": _config,
    }
    rows = []
    for name, check in checks.items():
        try:
            rows.append({"check": name, "ok": True, "found": check()})
        except Exception as error:  # a broken part must not hide the others
            rows.append({"check": name, "ok": False, "found": str(error)})
    if json:
        print(encoder.dumps({"schema_version": 1, "checks": rows}, indent=1))  # noqa: T201
    else:
        for row in rows:
            print(f"{'ok ' if row['ok'] else 'BAD'} {row['check']}: {row['found']}")  # noqa: T201
    raise typer.Exit(0 if all(row["ok"] for row in rows) else 2)


def _versions() -> str:
    import platform
    from importlib.metadata import version

    names = ("pydantic", "numpy", "onnxruntime", "tokenizers", "trafilatura", "pypdf", "syntok")
    parts = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{version('redargue')} on Python {platform.python_version()}; {parts}"


def _home() -> str:
    import os

    from redargue.errors import UsageError
    from redargue.home import home

    folder = home()
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not os.access(nearest, os.W_OK):
        raise UsageError(f"{str(folder)!r} cannot be written", hint="set REDARGUE_HOME to a folder that can")
    return f"{folder} ({'there' if folder.exists() else 'made when needed'})"


def _fts() -> str:
    import sqlite3

    memory = sqlite3.connect(":memory:")
    memory.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    memory.close()
    return f"SQLite {sqlite3.sqlite_version} with FTS5"


def _models() -> str:
    import hashlib
    import json

    from redargue.errors import UsageError
    from redargue.models.session import WEIGHTS

    manifest = json.loads((WEIGHTS / "manifest.json").read_text(encoding="utf-8"))
    for name, wanted in manifest["sha256"].items():
        if hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest() != wanted:
            raise UsageError(f"{name!r} is not the file that was released", hint="reinstall redargue")
    return ", ".join(f"{name} {wanted[:12]}" for name, wanted in manifest["sha256"].items())


def _backend() -> str:
    from redargue.backends.embedded import EmbeddedBackend
    from redargue.errors import UsageError

    entailment = EmbeddedBackend().entailment
    evidence = ("The tower was built in 1871.", "The tower was built in 1950.")
    true, false = entailment.read([(evidence[0], each) for each in evidence])
    if true.supports < true.refutes or false.refutes < false.supports:
        raise UsageError("the entailment model cannot tell 1871 from 1950", hint="reinstall redargue")
    return "tells 1871 from 1950"


def _corpus() -> str:
    from redargue.corpus.index import default_store, open_corpus

    path = default_store()
    if not path.exists():
        return f"none yet at {path}; the starter corpus is used. Add documents: redargue corpus add FOLDER"
    with open_corpus(path) as corpus:
        return f"{path}: {len(corpus.documents())} documents"


def _config() -> str:
    from redargue.settings import CONFIG, read_config

    tables = read_config()
    return (
        f"{CONFIG}: {', '.join(tables)}"
        if tables
        else f"no {CONFIG} in this folder; defaults, flags and environment hold"
    )
