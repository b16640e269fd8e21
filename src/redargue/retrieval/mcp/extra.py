"""The check for the MCP SDK, and searches of redargue's own servers, which no budget pays for."""

from __future__ import annotations

from importlib.util import find_spec

from redargue.errors import MissingExtra
from redargue.retrieval.tools.base import Search
from redargue.runs.budget import Account


def require_sdk() -> None:
    """Raises MissingExtra with the install command if the SDK is not installed."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise MissingExtra("MCP needs its SDK", hint="pip install 'redargue[mcp]'")


def unpaid() -> Search:
    """A search that no budget pays for: the client of the server counts the call."""
    return Search(account=Account(counted=False))
