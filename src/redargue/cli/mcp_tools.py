"""``redargue mcp-tools``: MERMAID's tool servers, for any MCP client."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from redargue.cli.parameters import Offline


def mcp_tools(
    kind: Annotated[str, typer.Argument(metavar="wikipedia|google|scholar|papers", help="The server to run.")],
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP; default: standard input/output.")
    ] = "",
    offline: Offline = False,
) -> None:
    """Serve search tools over MCP."""
    from redargue.assembly import sources
    from redargue.retrieval.mcp.serving import build, serve_http

    server = build(kind, sources(offline=offline))
    if http:
        serve_http(server, http, lambda url: print(f"redargue: {kind} at {url}", file=sys.stderr, flush=True))  # noqa: T201
    else:
        server.run()
