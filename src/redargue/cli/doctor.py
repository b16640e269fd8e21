"""``redargue doctor``: checks the installation and the endpoint, and says how to fix what is missing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer

from redargue.backends import Sampling
from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson, BaseUrl, EmbeddingModel, Offline, option
from redargue.errors import RedargueError, UsageError
from redargue.files import config_home, home
from redargue.llm.client import Capabilities, CompletionRequest, Endpoint, Form
from redargue.llm.response import Choice
from redargue.net.transport import Service, Transport
from redargue.registry import did_you_mean, distribution, install
from redargue.runs.budget import Account
from redargue.sanitize import printable

QUESTION = "Is water wet? Reply with one JSON object and nothing else: its only field is answer, which is yes or no."
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class ProbeFinding(NamedTuple):
    """The result of one probe."""

    capability: str
    supported: bool
    detail: str


async def probe(
    transport: Transport, service: Service, model: str, embedding_model: str
) -> tuple[list[ProbeFinding], int]:
    """Probes an endpoint and stores its capabilities; returns findings and the number of requests sent."""
    account, where = Account(), (transport, service, model)
    endpoint = Endpoint(*where, max_tokens=2048)
    endpoint.remember(**Capabilities().model_dump())  # the endpoint may have changed
    began = time.monotonic()
    plain = await _ask(endpoint, account, "Reply with the word yes.")
    seconds = time.monotonic() - began
    thinks = "; it thinks aloud" if plain.thoughts else ""
    reply = f"{plain.problem or repr(plain.text[:40])} in {seconds:.1f} s{thinks}"
    json_mode = await _try("JSON mode", _in_json(endpoint, account, "json"))
    json_schema = await _try("JSON schema", _in_json(endpoint, account, "schema"))
    weaker: Form = "json" if json_mode.supported else "text"
    endpoint.remember(form="schema" if json_schema.supported else weaker)
    findings = [
        ProbeFinding("reply", not plain.problem, reply),
        json_mode,
        json_schema,
        await _try("tool calls", _call(endpoint, account)),
        await _try("three samples per request", _samples(endpoint, account)),
        await _try("log probabilities", _logprobs(endpoint, account)),
        await _try("streaming", _stream(Endpoint(*where, max_tokens=64, stream=True), account)),
    ]
    if embedding_model:
        vectors = Endpoint(transport, service, embedding_model)
        findings.append(await _try("embeddings", _embed(vectors, account)))
    refused = [name for name in endpoint.capabilities.refused if name not in ("n", "logprobs")]
    limit = endpoint.capabilities.limit or "no limit on a reply"
    refusals = f"{limit}; refused: {', '.join(refused) or 'none'}"
    return [*findings, ProbeFinding("parameters", not refused, refusals)], account.requests


async def _try(capability: str, answer: Awaitable[tuple[bool, str]]) -> ProbeFinding:
    try:
        return ProbeFinding(capability, *await answer)
    except RedargueError as error:
        return ProbeFinding(capability, False, error.what[:200])


async def _ask(endpoint: Endpoint, account: Account, question: str, **options: Any) -> Choice:
    request = CompletionRequest(messages=[{"role": "user", "content": question}], **options)
    return (await endpoint.complete(request, account=account))[0]


def _answers(text: str) -> bool:
    try:
        return json.loads(text).get("answer") in ("yes", "no")
    except (ValueError, AttributeError, RecursionError):
        return False


async def _in_json(endpoint: Endpoint, account: Account, form: Form) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, QUESTION, schema=("Wetness", _SCHEMA), form=form)
    if _answers(choice.text):
        return True, "followed"
    return False, f"accepted, but not followed: {choice.problem or repr(choice.text[:60])}"


async def _call(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    functions = [{"name": "answer", "description": "Gives your answer.", "parameters": _SCHEMA}]
    choice = await _ask(endpoint, account, "Is water wet? Call the function.", functions=functions)
    if not any(_answers(call.arguments) for call in choice.calls):
        return False, f"accepted, but no call made: {choice.problem or repr(choice.verbatim[:60])}"
    required = "tool_choice" not in endpoint.capabilities.refused
    return True, "works" if required else "works, but cannot be required"


async def _samples(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    await _ask(endpoint, account, "Name a colour.", sampling=Sampling(n=3, temperature=0.3))
    supported = "n" not in endpoint.capabilities.refused
    return supported, "works" if supported else "not supported; one request is sent per sample"


async def _logprobs(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, "Name a colour.", logprobs=True)
    if choice.entropy is None:
        return False, "not supported"
    return True, f"works; mean entropy of a token {choice.entropy:.2f} nats"


async def _stream(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, "Reply with the word yes.")
    supported = "stream" not in endpoint.capabilities.refused
    return supported and not choice.problem, choice.problem or ("works" if supported else "refused")


async def _embed(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    vectors = await endpoint.embed(("water", "fire"), account=account)
    return True, f"{endpoint.model}: {len(vectors[0])} dimensions"


class CheckedPart(NamedTuple):
    """A line of the output; ``ok`` is None for what is missing and not needed."""

    check: str
    ok: bool | None
    found: str


def doctor(
    model: Annotated[
        list[str] | None, option("MODEL", "Language model to probe, with about 8 calls; repeatable.", metavar="NAME")
    ] = None,
    base_url: BaseUrl = "",
    embedding_model: EmbeddingModel = "",
    offline: Offline = False,
    json: AsJson = False,
) -> None:
    """Check the installation and the model endpoint.

    Exits with 2 if something that is needed does not work.
    """
    checks: dict[str, Callable[[], str]] = {
        "redargue": _versions,
        "home": _home,
        "full-text search": _fts,
        "models": _models,
        "large reader": _large_reader,
        "embedded backend": _backend,
        "corpus": _corpus,
        "settings file": _config,
        "live search": lambda: _search(offline),
    }
    rows: list[CheckedPart] = []
    for name, check in checks.items():
        try:
            rows.append(CheckedPart(name, True, check()))
        except Exception as error:  # one failed check must not hide the others
            rows.append(CheckedPart(name, False, str(error)))
    rows += [*_extras(), *_extensions()]
    rows += _endpoints(model or [], base_url, embedding_model, offline)
    if json:
        print_json({"schema_version": 1, "checks": [row._asdict() for row in rows]})
    else:
        for row in rows:
            mark = {True: "ok ", False: "BAD", None: " - "}[row.ok]
            typer.echo(f"{mark} {row.check}: {printable(row.found)}")
    raise typer.Exit(2 if any(row.ok is False for row in rows) else 0)


REGISTRIES = {  # by group of entry points
    "redargue.methods": "redargue.methods.base:methods",
    "redargue.tools": "redargue.retrieval.tools:tools",
    "redargue.backends": "redargue.backends:backends",
    "redargue.commands": "redargue.cli.app:commands",
    "redargue.report_sections": "redargue.reports.folders:sections",
    "redargue.report_folders": "redargue.reports.folders:kinds",
    "redargue.datasets": "redargue.bench.datasets:datasets",
    "redargue.documents": "redargue.retrieval.corpus.documents:readers",
    "redargue.corpus_stores": "redargue.retrieval.corpus:stores",
    "redargue.memory_stores": "redargue.memory.memory:memory_stores",
    "redargue.engines": "redargue.cli.batch:engines",
    "redargue.service_parts": "redargue.service.context:service_parts",
}


PURPOSES = {  # of extras: what each is for, and the modules that it installs
    "documents": ("Excel and RTF files, reports as .docx", ("openpyxl", "docx", "striprtf")),
    "lab": ("bench, why, diff, fit, calibrate, baselines and data sets", ("redargue.bench", "scipy")),
    "serve": ("serve, view, the proxy and hook", ("redargue.service", "fastapi", "uvicorn")),
    "mcp": ("MCP servers, and the verifier as one", ("mcp", "jsonschema")),
    "scale": ("workers and the ledger on many machines", ("redargue.cluster",)),
    "milvus": ("Milvus stores", ("pymilvus",)),
    "postgres": ("PostgreSQL ledgers and memories", ("psycopg",)),
    "ray": ("batches on Ray", ("ray",)),
    "otel": ("traces with OpenTelemetry", ("opentelemetry.sdk",)),
    "plots": ("figures of benchmarks", ("matplotlib",)),
    "transformers": ("models from the Hugging Face hub", ("transformers",)),
    "tokenizers": ("added readers whose tokenizer is not BERT's", ("tokenizers",)),
}


def _extras() -> list[CheckedPart]:
    """The extras that are not installed, in one row; no row if all are."""
    missing = [name for name, (_, modules) in PURPOSES.items() if not all(map(_is_installed, modules))]
    if not missing:
        return []
    listed = ", ".join(f"{name} ({PURPOSES[name][0]})" for name in missing)
    found = f"not installed: {listed}. To install one, for example: {install(missing[0])}"
    return [CheckedPart("extras", None, found)]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


def _extensions() -> list[CheckedPart]:
    """What other packages add, with their distributions; what cannot be used, and names that clash."""
    from importlib.metadata import entry_points
    from pkgutil import resolve_name

    from redargue.cli.app import unreachable

    points = entry_points()
    found: list[tuple[bool | None, str]] = []
    for group in sorted(group for group in points.groups if group.startswith("redargue.")):
        if group not in REGISTRIES:
            packages = ", ".join(sorted(set(map(distribution, points.select(group=group)))))
            hint = did_you_mean(group, REGISTRIES)
            found.append((False, f"{packages}: no group {group!r}; {hint}"))
            continue
        try:
            registry = resolve_name(REGISTRIES[group])
        except ModuleNotFoundError as error:
            found.append((None, f"{group}: needs {error.name}, which is not installed"))
            continue
        problems = registry.problems()
        for name, package in registry.installed().items():
            usable = f"{registry.kind} {name!r} of {package}"
            lost = unreachable(name) if group == "redargue.commands" else ""
            found.append((not lost and name not in problems, str(problems.get(name, usable)) + (lost and f": {lost}")))
        found += [(False, str(clash)) for clash in registry.clashes().values()]
    found = found or [(True, "none from other packages")]
    return [CheckedPart("extensions", *each) for each in found]


def _endpoints(models: list[str], base_url: str, embedding_model: str, offline: bool) -> list[CheckedPart]:
    """The capabilities of each model; a missing one is not an error, as redargue has a fallback for it."""
    if not models:
        line = "not configured; to use one, set REDARGUE_MODEL and REDARGUE_BASE_URL"
        return [CheckedPart("language model", None, line)]
    from redargue.cli.options import read_models
    from redargue.net.services import limiter, services

    async def probe_model(name: str) -> tuple[list[ProbeFinding], int]:
        async with Transport(limiter(), offline=offline) as transport:
            return await probe(transport, services(base_url)["model"], name, embedding_model=embedding_model)

    rows: list[CheckedPart] = []
    try:
        default, roles = read_models(models)
        for name in dict.fromkeys([default, *roles.values()]):
            findings, requests = asyncio.run(probe_model(name))
            for number, finding in enumerate(findings):
                # Only the first, a plain reply, is required.
                ok = finding.supported or (None if number else False)
                rows.append(CheckedPart(f"{name}, {finding.capability}", ok, finding.detail))
            rows.append(CheckedPart(f"{name}, probed", True, f"{requests} requests"))
    except Exception as error:
        rows.append(CheckedPart("language model", False, str(error)))
    return rows


def _search(offline: bool) -> str:
    from redargue.cli.options import live_tool
    from redargue.net.services import services

    available = services()
    keys = [name for name in ("tavily", "serper", "google-cse") if available[name].key]
    line = f"searches with {live_tool(offline=offline)!r}; keys: {', '.join(keys) or 'none'}"
    if not keys and not available["searxng"].url:
        line += ". To search the web, set TAVILY_API_KEY, SERPER_API_KEY or REDARGUE_SEARXNG_URL"
    if not available["wikipedia"].extra.get("contact"):
        line += ". Set REDARGUE_CONTACT to your e-mail address: Wikipedia asks for one"
    return line


def _versions() -> str:
    from importlib.metadata import version

    names = ("pydantic", "numpy", "onnxruntime", "readability-lxml", "pypdf", "syntok")
    parts = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{version('redargue')} on Python {platform.python_version()}; {parts}"


def _home() -> str:
    folder = home()
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        # Rights alone do not say it: of root, of /proc, of a full disk.
        with TemporaryDirectory(dir=nearest):
            pass
    except OSError as error:
        what = f"{str(folder)!r} cannot be written: {error.strerror}"
        raise UsageError(what, hint="set REDARGUE_HOME to a writable folder") from error
    return f"{folder} ({'exists' if folder.exists() else 'created when needed'})"


def _fts() -> str:
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    return f"SQLite {sqlite3.sqlite_version} with FTS5"


def _models() -> str:
    from redargue.nli.session import WEIGHTS_FOLDER

    return _unchanged(WEIGHTS_FOLDER, "redargue")


def _large_reader() -> str:
    from redargue.nli.careful import careful_weights

    weights = careful_weights()
    missing = f"not installed: the small reader answers. {install('reader')}"
    return _unchanged(weights.folder, "redargue-reader") if weights else missing


def _unchanged(folder: Path, package: str) -> str:
    hashes = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["sha256"]
    for name, sha256 in hashes.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
            what = f"{name!r} differs from the released file"
            raise UsageError(what, hint=f"reinstall {package}")
    return ", ".join(f"{name} {sha256[:12]}" for name, sha256 in hashes.items())


def _backend() -> str:
    from redargue.nli.backend import EmbeddedBackend

    backend = EmbeddedBackend()
    entailment = backend.entailment
    evidence = ("The tower was built in 1871.", "The tower was built in 1950.")
    true, false = entailment.read([(evidence[0], sentence) for sentence in evidence])
    if true.supports < true.refutes or false.refutes < false.supports:
        what = "the entailment model does not distinguish 1871 from 1950"
        raise UsageError(what, hint="reinstall redargue")
    least = f"leaves a claim open below confidence {backend.reader.least_for(()):g}"
    language = "reads English only, so claims in other languages are not checked"
    return f"distinguishes 1871 from 1950; {least}; {language}"


def _corpus() -> str:
    from redargue.net.secrets import display_url
    from redargue.retrieval.corpus.index import default_store, open_corpus, open_store

    store, path = os.environ.get("REDARGUE_STORE"), default_store()
    if not store and not path.exists():
        return f"none yet at {path}; using the starter corpus. Add documents with redargue corpus add FOLDER"
    with open_store(store) if store else open_corpus(path) as corpus:
        place = f"REDARGUE_STORE={display_url(store)}" if store else path
        return f"{place}: {len(corpus.documents())} documents"


def _config() -> str:
    from redargue.config_file import CONFIG, read_tables

    own, local = config_home() / CONFIG, Path.cwd() / CONFIG
    return "; ".join(f"{path}: {', '.join(read_tables(path)) or 'none'}" for path in (own, local))
