"""The tools of any MCP server, as actions that agents call.

What a server says of its tools and what they answer is data. Arguments are checked against the tool's own schema before
anything is sent; an answer is cut where it is longer than an observation may be, with a mark that says so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.retrieval.mcp.connection import InProcess, Server
from redargue.retrieval.mcp.process import Command
from redargue.retrieval.mcp.serving import KINDS, build
from redargue.retrieval.mcp.streamable_http import TIMEOUT, Address
from redargue.retrieval.tools.base import Search, Sources
from redargue.retrieval.tools.online import address, clean, parsed, publisher, storable

MOST_SHOWN = 20_000  # characters of an observation
MOST_PAGES = 50  # of a list of tools
_ERRORS_TOLD = 3


class McpTool:
    """One tool of a server; an asynchronous context manager that holds the server's connection open.

    Args:
        server: shared by all its tools.
        told: what the server says of the tool.
        name: as agents call it, where that is not its own name.
        by: the server's name and version.
        price: US dollars a call.
        most: characters of an observation.
    """

    def __init__(
        self, server: Server, told: Any, *, name: str = "", by: str = "", price: float = 0.0, most: int = MOST_SHOWN
    ) -> None:
        hide = server.secrets.hide
        self.server, self.price, self.most = server, price, most
        self.own_name: str = told.name
        self.name = name or told.name
        self.about = storable(hide(told.description or "")).strip()
        self.parameters: Mapping[str, Any] = json.loads(hide(json.dumps(told.input_schema)))
        digest = hashlib.sha256(json.dumps([self.about, self.parameters], sort_keys=True).encode()).hexdigest()[:8]
        self.revision = " ".join(filter(None, (server.target.place, by, self.own_name, digest, str(most))))
        self._validator = _validator(self.parameters)

    async def __aenter__(self) -> McpTool:
        await self.server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.server.__aexit__(kind, error, at)

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """What the tool answers, a passage for each part of it; none where it says that it found nothing.

        Raises:
            ToolFailed: the arguments do not fit (nothing was sent), no answer, or the tool's own error.
            BudgetReached: the budget has no room for the call.
        """
        self._check(arguments)
        async with search.account.request(usd=self.price) as receipt:
            receipt.pay(usd=self.price)
            result = await self.server.ask("call_tool", name=self.own_name, arguments=dict(arguments))
        texts = [storable(self.server.secrets.hide(each)) for each in _texts(result)]
        if result.is_error:
            said = "".join(shown for shown, _ in _shown(["\n".join(texts)], self.most))
            raise ToolFailed(said or f"the tool {self.name!r} failed and did not say why")
        return tuple(_passage(shown, whole) for shown, whole in _shown(texts, self.most))

    def _check(self, arguments: Mapping[str, Any]) -> None:
        from jsonschema import ValidationError

        try:
            wrong: list[ValidationError] = sorted(
                self._validator.iter_errors(dict(arguments)), key=lambda each: each.json_path
            )
        except Exception as error:  # a foreign schema may be broken in any way
            raise ToolFailed(f"the schema of the tool {self.name!r} cannot be read: {str(error)[:200]}") from None
        if wrong:
            told = "; ".join(
                f"{each.json_path.removeprefix('$.')}: {each.message[:200]}" for each in wrong[:_ERRORS_TOLD]
            )
            raise ToolFailed(
                f"wrong arguments for the tool {self.name!r}: {told}", hint=f"it takes {_takes(self.parameters)}"
            )


async def list_tools(servers: Sequence[Server], prices: Mapping[str, float] | None = None) -> dict[str, McpTool]:
    """Every tool of the servers, by the name that agents use: its own, or ``SERVER_TOOL`` where several have it.

    Raises:
        ToolFailed: a server does not answer.
        UsageError: two servers of one name.
    """
    twice = [name for name, count in Counter(each.name for each in servers).items() if count > 1]
    if twice:
        raise UsageError(f"two MCP servers are called {twice[0]!r}", where="--mcp", hint="name them: NAME=COMMAND")
    told = []
    for server in servers:
        async with server:
            by = await server.about()
            told += [(server, by, each) for each in await _listed(server)]
    owners = Counter(each.name for _, _, each in told)
    found = {}
    for server, by, each in told:
        name = each.name if owners[each.name] == 1 else f"{server.name}_{each.name}"
        found[name] = McpTool(server, each, name=name, by=by, price=(prices or {}).get(each.name, 0.0))
    return found


async def _listed(server: Server) -> list[Any]:
    """The server's tools, page by page."""
    found: dict[str, Any] = {}
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await server.ask("list_tools", cursor=cursor)
        found |= {each.name: each for each in page.tools}
        cursor = page.next_cursor
        if not cursor:
            break
    return list(found.values())


def servers(given: Iterable[str], sources: Sources, environment: Mapping[str, str]) -> list[Server]:
    """The servers that a user names.

    Args:
        given: each ``wikipedia``, ``google``, ``scholar`` or ``papers`` (redargue's own, in this process), a command,
            or a web address; ``NAME=`` before it names it. A variable that a command sets for its program is written
            ``env VARIABLE=value program``.
        sources: what redargue's own servers are made from.
        environment: ``REDARGUE_MCP_NAME_TOKEN`` is sent to an address, ``REDARGUE_MCP_NAME_ENV`` lists the variables
            that a command gets besides the usual few, ``REDARGUE_MCP_NAME_TIMEOUT`` gives seconds a call.

    Raises:
        UsageError: what cannot be read, or would leave the machine though the flag ``offline`` is up.
        MissingExtra: the SDK is not installed.
    """
    found: list[Server] = []
    for text in given:
        match = re.fullmatch(r"\s*(?:([A-Za-z]\w*)=)?(.*\S)\s*", text, re.DOTALL)
        if not match:
            raise UsageError(f"{text!r} names no MCP server", where="--mcp", hint="give a command or a web address")
        what = match[2]
        name = match[1] or (what if what in KINDS else f"mcp{len(found) + 1}")
        found.append(_server(name, what, sources, environment))
    return found


def _server(name: str, what: str, sources: Sources, environment: Mapping[str, str]) -> Server:
    prefix = f"REDARGUE_MCP_{name.upper()}"
    secrets = sources.transport.secrets
    seconds = environment.get(f"{prefix}_TIMEOUT") or str(TIMEOUT)
    try:
        timeout = float(seconds)
    except ValueError:
        timeout = math.nan
    if not 0 < timeout < math.inf:
        raise UsageError(f"{seconds!r} is no number above 0", where=f"{prefix}_TIMEOUT")
    if what in KINDS:
        return Server(name, InProcess(build(what, sources), f"redargue {what}"), timeout=timeout, secrets=secrets)
    if re.match(r"https?://", what):
        return Server(name, _address(what, prefix, sources, environment, timeout), timeout=timeout, secrets=secrets)
    try:
        command = shlex.split(what, posix=sys.platform != "win32")
    except ValueError as error:
        raise UsageError(f"{what!r} is no command: {error}", where="--mcp") from None
    passed = [each.strip() for each in environment.get(f"{prefix}_ENV", "").split(",") if each.strip()]
    if missing := [each for each in passed if each not in environment]:
        raise UsageError(f"the variable {missing[0]!r} is not set", where=f"{prefix}_ENV")
    given = {each: environment[each] for each in passed}
    if sources.transport.offline:
        given["REDARGUE_OFFLINE"] = "1"
    return Server(name, Command(command, given), timeout=timeout, secrets=secrets)


def _address(url: str, prefix: str, sources: Sources, environment: Mapping[str, str], timeout: float) -> Address:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise UsageError(f"{url.partition('?')[0]!r} is no address", where="--mcp")
    if sources.transport.offline and host not in ("127.0.0.1", "localhost", "::1"):
        raise ProviderError(
            f"the MCP server at {host} was not asked: --offline keeps every request on this machine",
            hint="drop --offline, or run the server here",
        )
    return Address(url, environment.get(f"{prefix}_TOKEN", ""), timeout)


def _validator(schema: Mapping[str, Any]) -> Any:
    """Checks arguments; with a registry of its own it opens no address that a schema names."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _takes(schema: Mapping[str, Any]) -> str:
    """A tool's parameters in one line."""
    required = schema.get("required") or []
    given = schema.get("properties") or {}
    told = []
    for name, each in given.items():
        facts = [str(each.get("type", ""))] if isinstance(each, dict) else []
        facts += ["required"] if name in required else []
        told.append(f"{name} ({', '.join(filter(None, facts))})".removesuffix(" ()"))
    return ", ".join(told)[:500] or "no arguments"


def _texts(result: Any) -> list[str]:
    """An answer in pieces; empty where it holds nothing."""
    texts = [text for each in result.content if (text := _text(each))]
    said = result.structured_content
    if texts or said is None:
        return texts
    if set(said) == {"result"}:  # how the SDK's servers wrap what is no object
        said = said["result"]
    return [json.dumps(said, ensure_ascii=False)] if said not in ([], {}, "", None) else []


def _text(content: Any) -> str:
    """A part of an answer; what is no text is named."""
    if content.type == "text":
        return str(content.text)
    if content.type == "resource" and getattr(content.resource, "text", None) is not None:
        return str(content.resource.text)
    if content.type in ("resource", "resource_link"):
        uri = str(getattr(content, "uri", "") or content.resource.uri)
        return f"[{content.type.replace('_', ' ')}: {uri[:500]}]"
    return f"[{content.type}, {getattr(content, 'mime_type', '')}: not shown]"


def _shown(texts: Sequence[str], most: int) -> list[tuple[str, str]]:
    """The pieces that fit, the last of them cut with a mark where there was more; beside each what it was."""
    shown: list[tuple[str, str]] = []
    left, total = most, sum(map(len, texts))
    for text in texts:
        if len(text) > left:
            kept = text[:left]
            end = kept.rfind(" ", max(0, left - 100))
            kept = kept[:end] if end > 0 else kept
            gone = total - (most - left) - len(kept)
            mark = f"[…cut here: {gone:,} of {total:,} characters are not shown]"
            return [*shown, (f"{kept} {mark}".strip(), text)]
        shown.append((text, text))
        left -= len(text)
    return shown


def _passage(text: str, whole: str) -> Passage:
    """A piece with its source, where it is an object that names one."""
    said = parsed(whole)
    told = said if isinstance(said, dict) else {}
    url = next((found for each in ("url", "link", "href") if (found := address(told.get(each)))), "")
    return Passage(text=text, title=clean(told.get("title"))[:300], document=url, url=url, publisher=publisher(url))
