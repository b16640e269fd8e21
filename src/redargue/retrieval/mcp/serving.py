"""The tool servers of MERMAID's Table 5, for any client: ``redargue mcp-tools wikipedia|google|scholar|papers``.

Tools, parameters and shapes are those of the servers that the paper's names point to; requests go through redargue's
own transport, so limits, retries and the hiding of keys are those of every other search.
"""

from __future__ import annotations

import functools
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from redargue.errors import RedargueError, UsageError
from redargue.registry import did_you_mean
from redargue.retrieval.mcp.extra import needed
from redargue.retrieval.mcp.literature import Catalogues
from redargue.retrieval.mcp.web import Scholar, Web
from redargue.retrieval.mcp.wikipedia import Encyclopedia
from redargue.retrieval.tools.base import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server import MCPServer

Served = Callable[..., Awaitable[Any]]

KINDS: Mapping[str, Callable[[Sources], tuple[Served, ...]]] = {
    "wikipedia": lambda sources: Encyclopedia.of(sources).tools(),
    "google": lambda sources: Web.of(sources).tools(),
    "scholar": lambda sources: Scholar.of(sources).tools(),
    "papers": lambda sources: Catalogues.of(sources).tools(),
}
PATH = "/mcp"


def build(kind: str, sources: Sources) -> MCPServer:
    """One of the servers; its transport is open as long as it serves.

    Raises:
        UsageError: no such server, or what it needs is not set.
        MissingExtra: the SDK is not installed.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no tool server {kind!r}", hint=did_you_mean(kind, list(KINDS)))
    needed()
    from mcp import types
    from mcp.server import MCPServer

    @asynccontextmanager
    async def opened(_: Any) -> AsyncIterator[None]:
        async with sources.transport:
            yield

    with _logging_untouched():
        server = MCPServer(f"redargue-{kind}", version=version("redargue"), log_level="WARNING", lifespan=opened)
    reads = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)
    for tool in KINDS[kind](sources):
        server.add_tool(_plainly(tool), annotations=reads)
    return server


def serve_stdio(server: MCPServer) -> None:
    """Serves over standard input and output until the input ends."""
    server.run()


def serve_http(server: MCPServer, where: str, ready: Callable[[str], None]) -> None:
    """Serves over streamable HTTP until it is stopped.

    Args:
        server: as built.
        where: ``HOST:PORT`` of this machine's loopback; port 0 takes a free one.
        ready: is told the address.

    Raises:
        UsageError: the place is none, is taken, or lies beyond loopback: who reached it would search with your keys.
    """
    import uvicorn

    host, _, port = where.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "[::1]") or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"{where!r} is no place on this machine",
            where="--http",
            hint="give 127.0.0.1:PORT; put a proxy that asks for a password before it to reach it from elsewhere",
        )
    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host.strip("[]"), int(port)))
            listener.listen()  # before anybody is told: who comes early waits
        except OSError as error:
            raise UsageError(f"{where!r} cannot be listened on: {error.strerror}", where="--http") from error
        app = server.streamable_http_app(streamable_http_path=PATH, host=host)
        ready(f"http://{host}:{listener.getsockname()[1]}{PATH}")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listener])


def _plainly(tool: Served) -> Served:
    """The tool with redargue's own errors told in their words; any other stays inside the server."""

    @functools.wraps(tool)
    async def told(*given: Any, **named: Any) -> Any:
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return await tool(*given, **named)
        except RedargueError as error:
            raise ToolError(f"{error.what}; {error.hint}" if error.hint else error.what) from error

    return told


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Keeps the SDK from setting up the logging of the whole process, which it does where nobody else has."""
    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)
    try:
        yield
    finally:
        root.removeHandler(quiet)
