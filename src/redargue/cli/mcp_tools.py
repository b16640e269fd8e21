"""``redargue mcp-tools``: MERMAID's tool servers, for any MCP client."""

from __future__ import annotations

import os
import secrets
from typing import Annotated

import typer

from redargue.cli.output import leaving_with_reader
from redargue.cli.parameters import Offline


def mcp_tools(
    kind: Annotated[str, typer.Argument(metavar="wikipedia|google|scholar|papers", help="The server to run.")],
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP; default: standard input/output.")
    ] = "",
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Serve every user of this machine; default: those who send the token.")
    ] = False,
    offline: Offline = False,
) -> None:
    """Serve search tools over MCP.

    Over HTTP, clients send a token: that of REDARGUE_MCP_SERVER_TOKEN, or a new one, which is printed.
    """
    from redargue.assembly import sources
    from redargue.retrieval.mcp.serving import build_tool_server, serve_http

    server = build_tool_server(kind, sources(offline=offline))
    if http:
        own = os.environ.get("REDARGUE_MCP_SERVER_TOKEN", "").strip()
        token = "" if no_token else own or secrets.token_urlsafe(24)
        note = "" if no_token or own else f"\n  → clients send the header Authorization: Bearer {token}"
        serve_http(server, http, token, lambda url: typer.echo(f"redargue: {kind} at {url}{note}", err=True))
    else:
        with leaving_with_reader():
            server.run()
