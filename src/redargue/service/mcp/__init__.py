"""The verifier as an MCP server (``redargue mcp``, and ``/mcp`` of the service); needs the extra ``mcp``."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from redargue.service.context import ServiceSettings


def mcp_endpoint(application: FastAPI, settings: ServiceSettings) -> AbstractAsyncContextManager[None]:
    """Adds ``/mcp`` to the service where the SDK is installed; open while the service runs."""
    if find_spec("mcp") is None:
        return nullcontext()
    from redargue.service.mcp.tools import McpDoor

    return McpDoor(application, settings).opened()
