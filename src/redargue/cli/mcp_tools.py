"""``redargue mcp-tools``: MERMAID's tool servers, for any MCP client."""

from __future__ import annotations

from typing import Annotated

import typer


def mcp_tools(
    kind: Annotated[str, typer.Argument(metavar="wikipedia|google|scholar|papers", help="Which server.")],
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Streamable HTTP there; standard input and output else.")
    ] = "",
    offline: Annotated[
        bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Ask no service beyond this machine.")
    ] = False,
) -> None:
    """Serves tools over MCP until its input ends, or until it is stopped."""
    import sys

    from redargue.assembly import sources
    from redargue.retrieval.mcp.serving import build, serve_http, serve_stdio

    server = build(kind, sources(offline=offline))
    if http:
        serve_http(server, http, lambda url: print(f"redargue: {kind} at {url}", file=sys.stderr, flush=True))  # noqa: T201
    else:
        serve_stdio(server)
