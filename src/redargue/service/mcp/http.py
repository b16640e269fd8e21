"""``/mcp`` of the HTTP service: the tools with the keys, owners and checks of ``/v1``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from redargue.retrieval.corpus.index import open_store
from redargue.service.context import ServiceSettings, caller_of
from redargue.service.mcp.documents import Documents
from redargue.service.mcp.server import build_verifier_server
from redargue.service.mcp.tools import VerifierTools

_PATH = "/mcp"
OWNER = "redargue.owner"  # in the scope of a request


class McpDoor:
    """The route, and the sessions behind it.

    Keys are looked up as for every other route, and not by the SDK's verifier of tokens: a service without keys serves
    the user of its machine, and the first key that is added closes it.
    """

    def __init__(self, application: FastAPI, settings: ServiceSettings) -> None:
        self._documents = Documents(lambda: open_store(settings.spec.store))
        server = build_verifier_server(
            VerifierTools(
                lambda: application.state.store,
                self._documents,
                owner=_owner,
            )
        )
        server.streamable_http_app(streamable_http_path=_PATH, transport_security=_transport_security(settings))
        self._sessions = server.session_manager
        # No GET: its stream is for messages of the server's own, of which there are none, and would outlast a stop.
        application.router.routes.append(Route(_PATH, endpoint=self, methods=["POST", "DELETE"]))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        try:
            async with self._sessions.run():
                yield
        finally:
            self._documents.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[OWNER] = caller_of(Request(scope)).owner
        await self._sessions.handle_request(scope, receive, send)


def _owner(context: Context[Any, Any]) -> str:
    request = context.request_context.request
    assert request is not None, "only requests over HTTP reach this server"
    owner: str = request.scope[OWNER]
    return owner


def _transport_security(settings: ServiceSettings) -> TransportSecuritySettings:
    hosts = [f"[{host}]" if ":" in host else host for host in settings.hosts]
    sites = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[*settings.origins, *sites, *(f"{site}:*" for site in sites)],
    )
