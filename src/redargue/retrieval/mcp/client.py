"""The tools of any MCP server, as actions that agents call.

A server's descriptions and answers are data. Arguments are validated against the tool's schema before anything is sent;
an answer longer than the limit is truncated and marked as such.
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
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.memory.memory import LOOKUP
from redargue.retrieval.mcp import InProcess, McpServer, Target
from redargue.retrieval.mcp.serving import TOOL_SERVERS, build_tool_server
from redargue.retrieval.mcp.transports import LOOPBACK_HOSTS, TIMEOUT, Command, ServerAddress
from redargue.retrieval.tools import Search, Sources
from redargue.retrieval.tools import tools as search_tools
from redargue.retrieval.tools.online import clean, page_passage, parse_json, storable, web_address

MAX_OBSERVATION = 20_000  # characters
MAX_NAME = 64  # characters of a tool's name
MAX_PAGES, MAX_TOOLS = 50, 128  # pages and tools that are read of a server's list
MAX_SCHEMA = 100_000  # characters of a tool's schema as JSON
MAX_REFERENCES = 1_000  # of a schema, followed in one validation
MAX_FOUND = 100  # validation errors that are collected
MAX_ERRORS = 3  # validation errors that are reported


class McpTool:
    """One tool of a server; an asynchronous context manager that keeps the server's connection open.

    ``listed`` is the server's description of it, ``name`` what agents call it (by default, the server's name for it),
    ``by`` the server's name and version, ``price`` in US dollars per call.
    """

    def __init__(self, server: McpServer, listed: Any, *, name: str = "", by: str = "", price: float = 0.0) -> None:
        hide = server.secrets.hide
        self.server, self.price, self.max_chars = server, price, MAX_OBSERVATION
        self.own_name: str = listed.name
        self.name = re.sub(r"[^A-Za-z0-9_.-]", "_", name or listed.name)[:MAX_NAME]  # shown, and part of requests
        self.about = storable(hide(listed.description or "")).strip()
        schema = json.loads(hide(json.dumps(listed.input_schema)))
        # Some servers write null for no parameters, or for none that is required.
        self.parameters: Mapping[str, Any] = {name: value for name, value in schema.items() if value is not None}
        digest = hashlib.sha256(json.dumps([self.about, self.parameters], sort_keys=True).encode()).hexdigest()[:8]
        self.revision = " ".join(filter(None, (server.target.place, by, self.own_name, digest, str(self.max_chars))))

    async def __aenter__(self) -> McpTool:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.server.__aexit__(*error)

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """The tool's answer, a passage for each part; errors as in :class:`redargue.retrieval.tools.Action`."""
        self._validate(arguments)
        async with search.account.request(usd=self.price) as receipt:
            receipt.pay(usd=self.price)
            result = await self.server.ask("call_tool", name=self.own_name, arguments=dict(arguments))
        texts = [storable(self.server.secrets.hide(text)) for text in _texts(result)]
        if result.is_error:
            message = "".join(shown for shown, _ in _shown(["\n".join(texts)], self.max_chars))
            raise ToolFailed(message or f"the tool {self.name!r} failed without an error message")
        return tuple(_passage(shown, whole) for shown, whole in _shown(texts, self.max_chars))

    def _validate(self, arguments: Mapping[str, Any]) -> None:
        try:
            found = islice(_validator(self.parameters).iter_errors(dict(arguments)), MAX_FOUND)
            errors = sorted(found, key=lambda error: str(error.json_path))
        except Exception as error:  # the server's schema may be broken in any way
            raise ToolFailed(f"the schema of the tool {self.name!r} cannot be read: {str(error)[:200]}") from None
        if errors:
            problems = (f"{error.json_path.removeprefix('$.')}: {error.message[:200]}" for error in errors[:MAX_ERRORS])
            what = f"wrong arguments for the tool {self.name!r}: {'; '.join(problems)}"
            raise ToolFailed(what, hint=f"it takes {_signature(self.parameters)}")


async def list_tools(servers: Sequence[McpServer], prices: Mapping[str, float] | None = None) -> dict[str, McpTool]:
    """Every tool of the servers, by the name that agents use: its own, or ``SERVER_TOOL`` if another tool has that."""
    twice = [name for name, count in Counter(server.name for server in servers).items() if count > 1]
    if twice:
        raise UsageError(f"two MCP servers are called {twice[0]!r}", where="--mcp", hint="name them: NAME=COMMAND")
    listed = []
    for server in servers:
        async with server:
            by = await server.about()
            listed += [(server, by, tool) for tool in await _listed(server)]
    count = Counter([*search_tools, LOOKUP, *(tool.name for _, _, tool in listed)])
    tools = {}
    for server, by, tool in listed:
        name = tool.name if count[tool.name] == 1 else f"{server.name}_{tool.name}"
        made = McpTool(server, tool, name=name, by=by, price=(prices or {}).get(tool.name, 0.0))
        if made.name in tools:  # one server could take the place of another's tool
            what = f"two MCP tools are called {made.name!r}"
            raise UsageError(what, where="--mcp", hint="give the server another name: NAME=COMMAND, or leave it out")
        tools[made.name] = made
    return tools


async def _listed(server: McpServer) -> list[Any]:
    tools: dict[str, object] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await server.ask("list_tools", cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        if len(tools) > MAX_TOOLS:
            what = f"the MCP server {server.name!r} lists more than {MAX_TOOLS} tools"
            raise ToolFailed(what, hint="start it with fewer tools, if it can be configured")
        if not (cursor := page.next_cursor):
            break
    return list(tools.values())


def servers(specs: Iterable[str], sources: Sources, environment: Mapping[str, str]) -> list[McpServer]:
    """The servers that a user names.

    Args:
        specs: each ``wikipedia``, ``google``, ``scholar`` or ``papers`` (redargue's servers, in this process), a
            command, or a web address; optionally preceded by ``NAME=``. To set a variable for a command's program,
            write ``env VARIABLE=value program``.
        sources: what redargue's servers are made from.
        environment: with the server's name in capitals for NAME, ``REDARGUE_MCP_NAME_TOKEN`` is sent to an address,
            ``REDARGUE_MCP_NAME_ENV`` lists the variables that a command gets besides the default ones, and
            ``REDARGUE_MCP_NAME_TIMEOUT`` is the timeout of a call in seconds.

    Raises:
        UsageError: a spec or variable is invalid, or the SDK is not installed.
        ProviderError: the address is remote and ``offline`` is set.
    """
    result: list[McpServer] = []
    for spec in specs:
        match = re.fullmatch(r"\s*(?:([A-Za-z]\w*)=)?(.*\S)\s*", spec, re.DOTALL)
        if not match:
            raise UsageError(f"{spec!r} names no MCP server", where="--mcp", hint="give a command or a web address")
        target = match[2]
        name = match[1] or (target if target in TOOL_SERVERS else f"mcp{len(result) + 1}")
        prefix = f"REDARGUE_MCP_{name.upper()}"
        seconds = environment.get(f"{prefix}_TIMEOUT") or str(TIMEOUT)
        try:
            timeout = float(seconds)
        except ValueError:
            timeout = math.nan
        if not 0 < timeout < math.inf:
            raise UsageError(f"expected a positive number, got {seconds!r}", where=f"{prefix}_TIMEOUT")
        reached = _target(target, prefix, sources, environment, timeout)
        result.append(McpServer(name, reached, timeout=timeout, secrets=sources.transport.secrets))
    return result


def _target(spec: str, prefix: str, sources: Sources, environment: Mapping[str, str], timeout: float) -> Target:
    if spec in TOOL_SERVERS:
        return InProcess(build_tool_server(spec, sources), f"redargue {spec}")
    if re.match(r"https?://", spec):
        return _address(spec, environment.get(f"{prefix}_TOKEN", ""), timeout, offline=sources.transport.offline)
    try:
        command = shlex.split(spec, posix=sys.platform != "win32")
    except ValueError as error:
        raise UsageError(f"{spec!r} is not a command: {error}", where="--mcp") from None
    names = [name.strip() for name in environment.get(f"{prefix}_ENV", "").split(",") if name.strip()]
    if missing := [name for name in names if name not in environment]:
        raise UsageError(f"the variable {missing[0]!r} is not set", where=f"{prefix}_ENV")
    variables = {name: environment[name] for name in names}
    if sources.transport.offline:
        variables["REDARGUE_OFFLINE"] = "1"
    return Command(command, variables)


def _address(url: str, token: str, timeout: float, *, offline: bool) -> ServerAddress:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise UsageError(f"{url.partition('?')[0]!r} is not an address", where="--mcp")
    if offline and host not in [name.strip("[]") for name in LOOPBACK_HOSTS]:
        what = f"no request was sent to the MCP server at {host}: --offline keeps every request on this machine"
        raise ProviderError(what, hint="drop --offline, or run the server on this machine")
    return ServerAddress(url, token, timeout)


def _validator(schema: Mapping[str, Any]) -> Any:
    """Validates arguments against a server's schema, in bounded time.

    The empty registry keeps it from opening addresses that the schema refers to. Regular expressions are not tried,
    because one of the server's could run for hours; the server checks them itself. References are counted.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    if len(json.dumps(schema)) > MAX_SCHEMA:
        raise ValueError(f"it is longer than {MAX_SCHEMA:,} characters")
    base = validator_for(schema, default=Draft202012Validator)
    followed = 0

    def counted(keyword: str) -> Any:
        follow = base.VALIDATORS[keyword]

        def validate(validator: Any, value: Any, instance: Any, whole: Any) -> Any:
            nonlocal followed
            followed += 1
            if followed > MAX_REFERENCES:
                raise ValueError(f"it has more than {MAX_REFERENCES:,} references")
            return follow(validator, value, instance, whole)

        return validate

    def additional(validator: Any, value: Any, instance: Any, whole: Any) -> Any:
        known = base.VALIDATORS["additionalProperties"]
        return () if "patternProperties" in whole else known(validator, value, instance, whole)

    def untried(validator: Any, value: Any, instance: Any, whole: Any) -> Any:
        return ()

    keywords = {name: counted(name) for name in ("$ref", "$dynamicRef") if name in base.VALIDATORS}
    keywords |= dict.fromkeys(("pattern", "patternProperties", "unevaluatedProperties"), untried)
    return extend(base, {**keywords, "additionalProperties": additional})(schema, registry=Registry())


def _signature(schema: Mapping[str, Any]) -> str:
    required = schema.get("required") or []
    parameters = []
    for name, value in (schema.get("properties") or {}).items():
        kind = str(value.get("type", "")) if isinstance(value, dict) else ""
        facts = ", ".join(filter(None, (kind, "required" if name in required else "")))
        parameters.append(f"{name} ({facts})".removesuffix(" ()"))
    return ", ".join(parameters)[:500] or "no arguments"


def _texts(result: Any) -> list[str]:
    texts = [text for content in result.content if (text := _text(content))]
    structured = result.structured_content
    if texts or structured is None:
        return texts
    if set(structured) == {"result"}:  # the SDK's servers wrap values that are not objects
        structured = structured["result"]
    return [json.dumps(structured, ensure_ascii=False)] if structured not in ([], {}, "", None) else []


def _text(content: Any) -> str:
    if content.type == "text":
        return str(content.text)
    if content.type == "resource" and getattr(content.resource, "text", None) is not None:
        return str(content.resource.text)
    if content.type in ("resource", "resource_link"):
        uri = str(getattr(content, "uri", "") or content.resource.uri)
        return f"[{content.type.replace('_', ' ')}: {uri[:500]}]"
    return f"[{content.type}, {getattr(content, 'mime_type', '')}: not shown]"


def _shown(texts: Sequence[str], max_chars: int) -> list[tuple[str, str]]:
    """The parts that fit in ``max_chars`` characters, each with its whole text; a mark replaces what is cut."""
    shown: list[tuple[str, str]] = []
    left, total = max_chars, sum(map(len, texts))
    for text in texts:
        if len(text) > left:
            end = text.rfind(" ", max(0, left - 100), left)
            start = text[: end if end > 0 else left]
            cut = total - (max_chars - left) - len(start)
            mark = f"[…cut here: {cut:,} of {total:,} characters are not shown]"
            return [*shown, (f"{start} {mark}".strip(), text)]
        shown.append((text, text))
        left -= len(text)
    return shown


def _passage(text: str, whole: str) -> Passage:
    value = parse_json(whole)
    row = value if isinstance(value, dict) else {}
    link = next((link for name in ("url", "link", "href") if web_address(link := row.get(name))), "")
    return page_passage(text, clean(row.get("title"))[:300], link)
