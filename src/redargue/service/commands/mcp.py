"""``redargue mcp``: the verifier as an MCP server."""

from __future__ import annotations

import asyncio
from typing import Annotated

from redargue.cli.output import leaving_with_reader
from redargue.cli.parameters import RunParameters, SearchParameters, option, with_parameters
from redargue.errors import UsageError
from redargue.registry import install


@with_parameters
def mcp(
    *,
    fetch: Annotated[
        bool, option("MCP_FETCH", "Let the tool fetch read web pages by their address.", "--fetch")
    ] = False,
    options: RunParameters,
    search: SearchParameters,
) -> None:
    """Serve the verifier to an MCP client over standard input and output.

    Tools: verify_claim, check_text, ground, get_check, search and fetch. The options are those of every check. Over
    HTTP, redargue serve has the same tools at /mcp. Needs the extra mcp. MERMAID's search tools are served by redargue
    mcp-tools.
    """
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        hint = install("mcp")
        raise UsageError(f"the MCP server needs {error.name}, which is not installed", hint=hint) from error
    from redargue.cli.options import live_tool, named_tools, run_config
    from redargue.service.mcp.server import serve_stdio
    from redargue.service.rules import RequestRules

    rules = RequestRules(run_config(options, search), live_tool(offline=search.offline), named_tools(search))
    with leaving_with_reader():
        asyncio.run(serve_stdio(rules, fetch=fetch))
