"""From the options of a command to the configuration of a run, and from its argument to claims."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from redargue.assembly import connect, tools_setting
from redargue.claims import Claim, LabelSet, label_sets, with_strict_as_of
from redargue.cli.parameters import RunParameters, SearchParameters
from redargue.config import Components, ResponseFormat, RunConfig, read_date
from redargue.errors import UsageError
from redargue.methods.base import methods
from redargue.net.services import services

REACHED_WITHIN = 2.0  # seconds, or there is no network worth the name


def run_config(run: RunParameters, search: SearchParameters, folder: Path | None = None) -> RunConfig:
    """The configuration that the options of a command amount to.

    Args:
        run: options of the run.
        search: options of its evidence.
        folder: of the run; a run that is resumed keeps its tools.

    Raises:
        UsageError: what cannot be read, with the option it came from.
    """
    model, models = read_models(run.model or [])
    settings = read_settings(run.setting or [])
    settings |= {name: value for name, value in (("rounds", run.rounds), ("top_k", run.top_k)) if value is not None}
    return RunConfig(
        method=run.method,
        profile=run.profile,
        settings=settings,
        tools=_tools(run, search, settings, folder),
        mcp=tuple(search.mcp or ()),
        backend=run.backend,
        model=model,
        models=models,
        base_url=run.base_url,
        embedding_model=run.embedding_model,
        response_format=cast(ResponseFormat, run.response_format),
        max_tokens=run.max_tokens,
        stream=run.stream,
        prompts=run.prompts,
        memory=run.memory,
        workspace=run.workspace,
        store=search.store,
        offline=search.offline,
        labels=label_sets[run.labels],
        as_of=read_date(run.as_of),
        strict_as_of=run.strict_as_of,
        budget=run.budget,
        prices=run.prices,
        seed=run.seed,
    )


def _tools(
    run: RunParameters, search: SearchParameters, settings: Mapping[str, Any], folder: Path | None
) -> tuple[str, ...] | None:
    """The evidence tools; None where the settings or the method say."""
    fields, name = methods[run.method].settings_class.model_fields, tools_setting(run.method)
    if search.tool:
        return tuple(search.tool)
    if name in settings or name not in fields:  # a method that asks a model what it knows has no tools
        return () if search.mcp and name not in settings else None
    if search.mcp:
        return ()  # the servers' tools alone
    usual = methods[run.method].profiles.get(run.profile, {}).get(name, fields[name].default)
    return _recorded_tools(folder, name) or _usual(usual, search.offline)


def claims_of(claim: str, config: RunConfig) -> list[Claim]:
    """The claims that the argument of a command names.

    Raises:
        UsageError: a file that cannot be read, or a claim without an as-of date though the configuration needs one.
    """
    claims = read_claims(claim, config.labels, config.as_of)
    return with_strict_as_of(claims) if config.strict_as_of else claims


def connected(config: RunConfig) -> Components:
    """The components of a run, with the tools of its MCP servers.

    Raises:
        UsageError: the method's agents call no such tools.
        ToolFailed: a server does not answer.
    """
    return asyncio.run(connect(config)) if config.mcp else Components()


def read_models(given: list[str]) -> tuple[str, dict[str, str]]:
    """The model of every role, and those of single roles.

    Raises:
        UsageError: two models for everything, or a role without one.
    """
    whole: list[str] = []
    roles: dict[str, str] = {}
    for each in (part for text in given for part in text.split()):
        role, sign, name = each.partition("=")
        if not sign:
            whole.append(each)
        elif not role or not name or role in roles:
            raise UsageError(f"cannot read the model {each!r}", where="--model", hint="write it like judge=gpt-4o")
        else:
            roles[role] = name
    if len(whole) > 1:
        raise UsageError(
            f"two models for every role: {' and '.join(map(repr, whole))}",
            where="--model",
            hint="give one without a role, and the others as ROLE=NAME",
        )
    if roles and not whole:
        raise UsageError("roles have models, and the others none", where="--model", hint="give one without a role, too")
    return (whole or [""])[0], roles


def live_tool(*, offline: bool) -> str:
    """The live search that can be had: with a key Tavily or Google, without one Wikipedia, offline keywords alone."""
    known = services()
    if offline:
        return "keywords"
    if known["tavily"].key:
        return "tavily"
    if known["serper"].key or (known["google-cse"].key and known["google-cse"].extra.get("cx")):
        return "google"
    return "wikipedia" if _reachable(known["wikipedia"].display_url) else "keywords"


def _reachable(place: str) -> bool:
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    scheme, _, rest = place.partition("://")
    host, _, port = rest.partition("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or (443 if scheme == "https" else 80))), REACHED_WITHIN).close()
    except (OSError, ValueError):
        return False
    return True


def _usual(tools: tuple[str, ...], offline: bool) -> tuple[str, ...]:
    """A method's own tools, with the live search that can be had in the place of plain keywords."""
    return tuple(live_tool(offline=offline) if each == "keywords" else each for each in tools)


def _recorded_tools(run: Path | None, setting: str) -> tuple[str, ...]:
    """The tools of the run that is resumed: what can be reached may have changed since it began."""
    try:
        about = json.loads((run / "run.json").read_text(encoding="utf-8")) if run else {}
        return tuple(about["settings"][setting]) if about else ()
    except (OSError, ValueError, KeyError, TypeError):
        return ()  # the run says what is wrong with it when it is opened


def read_claims(given: str, labels: LabelSet, as_of: date | None = None) -> list[Claim]:
    """The claims that the argument names.

    Raises:
        UsageError: a missing or empty file, or a row without a claim; says which line.
    """
    path = Path(given)
    if path.suffix == ".md":
        raise UsageError(f"{given!r} is a text, and its claims are not known yet", hint="redargue check takes texts")
    if given != "-" and path.suffix not in (".txt", ".jsonl"):
        return [_claim({"claim": given}, labels, as_of, "the claim")]
    if given != "-" and not path.is_file():
        raise UsageError(f"no file {given!r}", hint="give a file of claims, or the claim itself in quotation marks")
    try:
        raw = sys.stdin.buffer.read() if given == "-" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{given!r} cannot be read: {error}") from error
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not rows:
        raise UsageError(f"{given!r} holds no claim")
    claims = []
    for number, line in rows:
        where = f"{given}, line {number}"
        row: Any = {"claim": line.strip()}
        if path.suffix == ".jsonl" or (given == "-" and line.lstrip().startswith("{")):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"not JSON: {line.strip()[:60]!r}", where=where) from error
        claims.append(_claim(row, labels, as_of, where))
    return claims


def _claim(row: Any, labels: LabelSet, as_of: date | None, where: str) -> Claim:
    if not isinstance(row, dict) or not isinstance(row.get("claim"), str):
        raise UsageError(f"no field 'claim' with a text in {str(row)[:60]!r}", where=where)
    fields = {"as_of": as_of} | {name: row[name] for name in ("context", "options", "as_of") if row.get(name)}
    try:
        return Claim(text=row["claim"], labels=labels, **fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where) from error


def read_settings(given: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; a value is read as JSON where it is JSON, and as text where it is not."""
    settings: dict[str, Any] = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise UsageError(f"cannot read the setting {pair!r}", where="--set", hint="write it like --set rounds=2")
        try:
            settings[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            settings[name.replace("-", "_")] = value
    return settings
