"""What ``check`` and ``estimate`` are given, read and put together."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redargue.claims import Claim, LabelSet, in_time, label_sets
from redargue.corpus.index import Corpus
from redargue.errors import UsageError
from redargue.ledger.budget import Budget
from redargue.ledger.prices import Prices
from redargue.memory.memory import Memory, open_memory
from redargue.methods.base import configure, methods
from redargue.services import limiter, services
from redargue.tools.base import Sources
from redargue.transport import Transport

REACHED_WITHIN = 2.0  # seconds, or there is no network worth the name


def assemble(given: Mapping[str, Any]) -> tuple[list[Claim], dict[str, Any]]:
    """The claims, and the verifier's arguments.

    Args:
        given: the command's options by name.

    Raises:
        UsageError: what cannot be read, with the option it came from.
    """
    claims = read_claims(given["claim"], label_sets[given["labels"]], read_day(given["as_of"]))
    claims = in_time(claims) if given["only_in_time"] else claims
    return claims, verifier_options(given)


def verifier_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The verifier's arguments but for the claims.

    Raises:
        UsageError: as :func:`assemble`.
    """
    model, models = read_models(given["model"] or [])
    chat = {name: given[name] for name in ("embedding_model", "form", "max_tokens", "stream")}
    settings = read_settings(given["setting"] or [])
    settings |= {name: given[name] for name in ("rounds", "top_k") if given[name] is not None}
    fields = methods[given["method"]].settings_class.model_fields
    tools = "debaters" if "debaters" in fields else "tools"  # the setting that names them
    if given["tool"]:
        settings[tools] = tuple(given["tool"])
    elif given.get("mcp"):
        settings.setdefault(tools, ())  # the servers' tools alone, unless others are named
    elif tools in fields and tools not in settings:  # a method that asks a model what it knows names none
        usual = methods[given["method"]].profiles.get(given["profile"], {}).get(tools, fields[tools].default)
        settings[tools] = _recorded_tools(given["run"], tools) or _usual(usual, given["offline"])
    memory = _memory(given, settings)
    return {
        **({"memory": memory} if memory else {}),
        **{name: given[name] for name in ("method", "profile", "backend", "base_url", "prompts", "store", "seed")},
        "offline": given["offline"],
        "model": model,
        "models": models,
        "chat": chat,
        "settings": settings,
        **_actions(given, getattr(methods[given["method"]], "calls_actions", False)),
        "budget": Budget.parse(given["budget"]) if given["budget"] else None,
        "prices": Prices.read(given["prices"]),
    }


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


def sources(*, offline: bool, prices: Path | None = None) -> Sources:
    """What tools are made from that need no corpus, as the environment sets them up.

    Raises:
        UsageError: a setting that cannot be read.
    """

    def no_corpus() -> Corpus:
        raise UsageError("no corpus is open here")

    searches = dict(Prices.read(prices).searches)
    return Sources(
        corpus=no_corpus, transport=Transport(limiter(), offline=offline), services=services(), prices=searches
    )


def _actions(given: Mapping[str, Any], called: bool) -> dict[str, Any]:
    """The tools of the MCP servers that the user names, and the transport that they share with the rest of the run.

    Raises:
        UsageError: the method's agents call no such tools.
        ToolFailed: a server does not answer.
    """
    if not given.get("mcp"):
        return {}
    if not called:
        raise UsageError(
            f"the agents of {given['method']!r} call no tools of servers",
            where="--mcp",
            hint="mermaid's do: --method mermaid",
        )
    import asyncio

    from redargue.tools.mcp.client import list_tools, servers

    prices = Prices.read(given["prices"]).searches
    made = sources(offline=given["offline"], prices=given["prices"])
    found = asyncio.run(list_tools(servers(given["mcp"], made, os.environ), dict(prices)))
    return {"actions": found, "transport": made.transport}


def _memory(given: Mapping[str, Any], settings: Mapping[str, Any]) -> Memory | None:
    """The memory that the user names; None for the method's own choice.

    Raises:
        UsageError: the method keeps none.
        CorpusError: it cannot be opened.
    """
    if not given.get("memory") and given.get("workspace", "default") == "default":
        return None
    wanted = getattr(configure(given["method"], given["profile"], settings).settings, "remembering", None)
    if wanted is None:
        raise UsageError(
            f"{given['method']!r} keeps no memory with these settings",
            where="--memory",
            hint="mermaid does, by default",
        )
    return open_memory(given["memory"], workspace=given["workspace"], settings=wanted)


def live_tool(*, offline: bool) -> str:
    """The live search that can be had: with a key Tavily or Google, without one Wikipedia, offline keywords alone."""
    known = services()
    if offline:
        return "keywords"
    if known["tavily"].key:
        return "tavily"
    if known["serper"].key or (known["google-cse"].key and known["google-cse"].extra.get("cx")):
        return "google"
    return "wikipedia" if _reachable(known["wikipedia"].place) else "keywords"


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
    """Those of the run that is gone on with: what can be reached may have changed since it began."""
    try:
        about = json.loads((run / "run.json").read_text(encoding="utf-8")) if run else {}
        return tuple(about["settings"][setting]) if about else ()
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def read_day(text: str) -> date | None:
    """The day as of which claims are judged; None for an empty text.

    Raises:
        UsageError: no such day.
    """
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is no day", where="--as-of", hint="write it like 2024-03-31") from None


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
