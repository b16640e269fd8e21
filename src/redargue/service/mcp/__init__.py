"""The verifier as an MCP server (``redargue mcp``, and ``/mcp`` of the service); needs the extra ``mcp``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

    from redargue.service.context import ServiceSettings


class MCPEndpoint(Protocol):
    """A part of the service that is open while it runs."""

    def open(self) -> AbstractAsyncContextManager[None]: ...


def mcp_endpoint(application: FastAPI, settings: ServiceSettings) -> MCPEndpoint:
    """Adds ``/mcp`` to the service where the SDK is installed."""
    if find_spec("mcp") is None:
        return _Absent()
    from redargue.service.mcp.tools import McpDoor

    return McpDoor(application, settings)


class _Absent:
    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield
