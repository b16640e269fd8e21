"""``redargue doctor``: what is there, what is missing, and the line that fixes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from redargue.sanitize import printable


def doctor(
    model: Annotated[
        list[str] | None,
        typer.Option(envvar="REDARGUE_MODEL", metavar="NAME", help="Ask the endpoint what it can do: about 8 calls."),
    ] = None,
    base_url: Annotated[str, typer.Option(envvar="REDARGUE_BASE_URL", help="Of the endpoint, with /v1.")] = "",
    embedding_model: Annotated[str, typer.Option(envvar="REDARGUE_EMBEDDING_MODEL")] = "",
    offline: Annotated[bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Ask no service.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Checks the installation, and the models' endpoint; exits 2 where something that is needed does not work."""
    import json as encoder

    checks: dict[str, Callable[[], str]] = {
        "redargue": _versions,
        "home": _home,
        "search by words": _fts,
        "models": _models,
        "embedded backend": _backend,
        "corpus": _corpus,
        "settings file": _config,
        "live search": lambda: _search(offline),
    }
    rows: list[dict[str, Any]] = []
    for name, check in checks.items():
        try:
            rows.append({"check": name, "ok": True, "found": check()})
        except Exception as error:  # a broken part must not hide the others
            rows.append({"check": name, "ok": False, "found": str(error)})
    rows += _endpoints(model or [], base_url, embedding_model, offline)
    if json:
        print(encoder.dumps({"schema_version": 1, "checks": rows}, indent=1))  # noqa: T201
    else:
        for row in rows:
            mark = {True: "ok ", False: "BAD", None: " - "}[row["ok"]]
            print(f"{mark} {row['check']}: {printable(str(row['found']))}")  # noqa: T201
    raise typer.Exit(2 if any(row["ok"] is False for row in rows) else 0)


def _endpoints(given: list[str], base_url: str, embedding_model: str, offline: bool) -> list[dict[str, Any]]:
    """What each model can do; what one cannot is a dash: redargue asks in another way."""
    if not given:
        line = "none named; set REDARGUE_MODEL and REDARGUE_BASE_URL, and a language model plays the roles"
        return [{"check": "language model", "ok": None, "found": line}]
    import asyncio

    from redargue.cli.options import read_models
    from redargue.llm.probe import Finding, probe
    from redargue.net.services import limiter, services
    from redargue.net.transport import Transport

    async def ask(name: str) -> tuple[list[Finding], int]:
        async with Transport(limiter(), offline=offline) as transport:
            return await probe(transport, services(base_url)["model"], name, embedding_model=embedding_model)

    rows: list[dict[str, Any]] = []
    try:
        whole, roles = read_models(given)
        for name in dict.fromkeys([whole, *roles.values()]):
            findings, requests = asyncio.run(ask(name))
            for place, each in enumerate(findings):
                ok = each.able or (None if place else False)
                rows.append({"check": f"{name}, {each.ability}", "ok": ok, "found": each.found})
            rows.append({"check": f"{name}, asked", "ok": True, "found": f"{requests} requests"})
    except Exception as error:
        rows.append({"check": "language model", "ok": False, "found": str(error)})
    return rows


def _search(offline: bool) -> str:
    from redargue.cli.options import live_tool
    from redargue.net.services import services

    known = services()
    keys = [name for name in ("tavily", "serper", "google-cse") if known[name].key]
    found = f"a debate searches with {live_tool(offline=offline)!r}; keys: {', '.join(keys) or 'none'}"
    if not keys:
        found += ". Set TAVILY_API_KEY or SERPER_API_KEY to search the web"
    if not known["wikipedia"].extra.get("contact"):
        found += ". Set REDARGUE_CONTACT to your address: Wikipedia asks for one"
    return found


def _versions() -> str:
    import platform
    from importlib.metadata import version

    names = ("pydantic", "numpy", "onnxruntime", "readability-lxml", "pypdf", "syntok")
    parts = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{version('redargue')} on Python {platform.python_version()}; {parts}"


def _home() -> str:
    import os

    from redargue.errors import UsageError
    from redargue.paths import home

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
    from redargue.nli.session import WEIGHTS

    manifest = json.loads((WEIGHTS / "manifest.json").read_text(encoding="utf-8"))
    for name, wanted in manifest["sha256"].items():
        if hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest() != wanted:
            raise UsageError(f"{name!r} is not the file that was released", hint="reinstall redargue")
    return ", ".join(f"{name} {wanted[:12]}" for name, wanted in manifest["sha256"].items())


def _backend() -> str:
    from redargue.errors import UsageError
    from redargue.nli.backend import EmbeddedBackend

    entailment = EmbeddedBackend().entailment
    evidence = ("The tower was built in 1871.", "The tower was built in 1950.")
    true, false = entailment.read([(evidence[0], each) for each in evidence])
    if true.supports < true.refutes or false.refutes < false.supports:
        raise UsageError("the entailment model cannot tell 1871 from 1950", hint="reinstall redargue")
    return "tells 1871 from 1950"


def _corpus() -> str:
    from redargue.retrieval.corpus.index import default_store, open_corpus

    path = default_store()
    if not path.exists():
        return f"none yet at {path}; the starter corpus is used. Add documents: redargue corpus add FOLDER"
    with open_corpus(path) as corpus:
        return f"{path}: {len(corpus.documents())} documents"


def _config() -> str:
    from redargue.config_file import CONFIG, read_tables

    tables = read_tables(Path.cwd() / CONFIG)
    return (
        f"{CONFIG}: {', '.join(tables)}"
        if tables
        else f"no {CONFIG} in this folder; defaults, flags and environment apply"
    )
