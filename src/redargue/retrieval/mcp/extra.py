"""What the servers and the client share: whether the SDK is installed, and searches that no run pays for."""

from __future__ import annotations

from importlib.util import find_spec

from redargue.errors import MissingExtra
from redargue.retrieval.tools.base import Search
from redargue.runs.budget import Account


def needed() -> None:
    """Refuses to go on without it.

    Raises:
        MissingExtra: the hint is the install line.
    """
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise MissingExtra("MCP needs its SDK", hint="pip install 'redargue[mcp]'")


def unpaid() -> Search:
    """A search that no run pays for: whoever called the server counts the call."""
    return Search(account=Account(counted=False))
