"""Turns the options of a command into a :class:`RunSpec`."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redargue.assembly import Parts, can_remember, connect, tools_setting, with_default_tool
from redargue.cli.parameters import RunParameters, SearchParameters
from redargue.errors import RecordError, UsageError
from redargue.methods.base import methods, rounds_setting
from redargue.net.services import services
from redargue.runs.manifest import load_manifest
from redargue.spec import DEFAULT_METHOD, LANGUAGE_MODELS, RunSpec

if TYPE_CHECKING:
    from redargue.inputs.claims import ClaimRow

TOOLS_WITH_MODEL = ("corpus", "keywords")  # of a run with a language model that names no method
CONNECT_SECONDS = 2.0  # without a connection by then, there is no usable network


def run_config(run: RunParameters, search: SearchParameters, folder: Path | None = None) -> RunSpec:
    """The configuration that the options of a command describe; the run in ``folder`` keeps its tools if resumed."""
    model, models = read_models(run.model or [])
    settings = read_settings(run.setting or [])
    numbers = {rounds_setting(run.method or DEFAULT_METHOD): run.rounds, "top_k": run.top_k}
    settings |= {name: value for name, value in numbers.items() if value is not None}
    given = vars(run) | vars(search)
    fields = {name: given[name] for name in RunSpec.model_fields if name in given}
    if not run.method:  # chosen by what is to be verified
        del fields["method"]
    asks_model = run.backend in LANGUAGE_MODELS if run.backend else bool(model)
    usual = TOOLS_WITH_MODEL if asks_model and not run.method else None
    if not can_remember(run.method or DEFAULT_METHOD):  # the environment's memory is for the methods that have one
        for name in ("memory", "workspace"):
            if fields[name] == os.environ.get(f"REDARGUE_{name.upper()}"):
                del fields[name]
    fields |= {"model": model, "models": models, "settings": settings}
    fields |= {"tools": _tools(run, search, settings, folder, usual), "mcp": tuple(search.mcp or ())}
    return RunSpec(**fields)


def _tools(
    run: RunParameters,
    search: SearchParameters,
    settings: Mapping[str, Any],
    folder: Path | None,
    usual: tuple[str, ...] | None,
) -> tuple[str, ...] | None:
    method = run.method or DEFAULT_METHOD
    fields, name = methods[method].settings_class.model_fields, tools_setting(method)

    def live(tool: str) -> str:
        return live_tool(offline=search.offline) if tool == "keywords" else tool

    if search.tool:
        tools = with_default_tool(tuple(search.tool), method, run.profile)
        return tuple(tool if tool in search.tool else live(tool) for tool in tools)
    if name in settings or name not in fields:  # a closed-book method has no tools
        return () if search.mcp and name not in settings else None
    if search.mcp:
        return ()  # only the servers' tools
    default = usual or methods[method].profiles.get(run.profile, {}).get(name, fields[name].default)
    recorded = _recorded_tools(folder, name)
    return recorded if _may_choose(recorded, default) else tuple(map(live, default))


def named_tools(search: SearchParameters) -> tuple[str, ...] | None:
    """The search tools that the user named; None without ``--tool``."""
    return tuple(tool for tool in search.tool if tool != "none") if search.tool else None


def connected(spec: RunSpec) -> Parts:
    """The parts of a run, including the tools of its MCP servers; raises ToolFailed if one does not answer."""
    return asyncio.run(connect(spec)) if spec.mcp else Parts()


def with_contexts(spec: RunSpec, rows: Sequence[ClaimRow]) -> tuple[RunSpec, Parts]:
    """The configuration and parts of a run; where rows have contexts, these are their claims' only evidence.

    Raises:
        UsageError: some rows have contexts and others none.
    """
    without = [row.number for row in rows if row.contexts is None]
    if len(without) == len(rows):
        return spec, connected(spec)
    if without:
        what = f"row {without[0]} has no contexts, and others have them"
        raise UsageError(what, where="contexts", hint="give every row its contexts, or none")
    from redargue.text.verification import with_documents

    return with_documents(spec, [row.documents for row in rows])


def read_models(options: list[str]) -> tuple[str, dict[str, str]]:
    """The default model, and the models of single roles."""
    defaults: list[str] = []
    roles: dict[str, str] = {}
    for option in (word for text in options for word in text.split()):
        role, sign, name = option.partition("=")
        if not sign:
            defaults.append(option)
        elif not role or not name or role in roles:
            what, hint = f"cannot read the model {option!r}", "write it like judge=gpt-4o"
            raise UsageError(what, where="--model", hint=hint)
        else:
            roles[role] = name
    if len(defaults) > 1:
        what = f"several default models: {' and '.join(map(repr, defaults))}"
        raise UsageError(what, where="--model", hint="give one without a role, and the others as ROLE=NAME")
    if roles and not defaults:
        raise UsageError("some roles have no model", where="--model", hint="also give one without a role")
    return (defaults or [""])[0], roles


def live_tool(*, offline: bool) -> str:
    """The search tool that is available: Tavily or Google with a key, or SearXNG, else Wikipedia; offline, keywords."""
    if offline:
        return "keywords"
    if configured := _web_tools():
        return configured[0]
    return "wikipedia" if _reachable(services()["wikipedia"].display_url) else "keywords"


def _web_tools() -> list[str]:
    available = services()
    engine = available["google-cse"]
    configured = {
        "tavily": available["tavily"].key,
        "google": available["serper"].key or (engine.key and engine.extra.get("cx")),
        "searxng": available["searxng"].url,
    }
    return [name for name, usable in configured.items() if usable]


def _may_choose(tools: Sequence[str], default: Sequence[str]) -> bool:
    """Whether a command without ``--tool`` may choose these tools, with or without a network.

    A run folder may be a stranger's, so it chooses among these only. Where it names others, the run's defaults are
    taken, and opening the run says that they differ: the user's own ``--tool`` confirms them.
    """
    live = {"keywords", "wikipedia", *_web_tools()}
    return len(tools) == len(default) and all(
        tool == usual or (usual == "keywords" and tool in live) for tool, usual in zip(tools, default, strict=True)
    )


def _reachable(place: str) -> bool:
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    scheme, _, rest = place.partition("://")
    host, _, port = rest.partition("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or (443 if scheme == "https" else 80))), CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _recorded_tools(folder: Path | None, setting: str) -> tuple[str, ...]:
    """The tools of the run to resume: other services may be reachable now than when it began."""
    try:
        tools = load_manifest(folder).spec.settings.get(setting) if folder else None
        return tuple(map(str, tools)) if isinstance(tools, list) else ()
    except RecordError:
        return ()  # opening the run reports what is wrong with it


def read_settings(options: list[str], *, like: str = "--set rounds=2") -> dict[str, object]:
    """``NAME=VALUE`` pairs; a value that is not JSON is text. ``like``: the option with an example."""
    settings: dict[str, object] = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign or not name:
            where, hint = like.partition(" ")[0], f"write it like {like}"
            raise UsageError(f"cannot read the setting {option!r}", where=where, hint=hint)
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        settings[name.replace("-", "_")] = read
    return settings
