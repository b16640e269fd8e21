"""Whether the service lives, can take checks, and what it counted."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from redargue.nli.backend import EmbeddedBackend
from redargue.service.context import Caller, Store
from redargue.service.metrics import Metrics
from redargue.service.routes import problems
from redargue.service.schemas import Health

system_router = APIRouter(tags=["system"])


@system_router.get("/healthz", responses=problems())
async def healthz() -> Health:
    """Whether the service answers."""
    return Health()


@system_router.get(
    "/readyz", responses=problems() | {503: {"model": Health, "description": "The service cannot take checks now."}}
)
async def readyz(request: Request, store: Store, response: Response) -> Health:
    """Whether the service can take checks: models are loaded, run folders can be written, and it is not stopping."""
    why = [
        name
        for name, fine in (("stopping", not store.closing.is_set()), ("folder", _writable(store.folder)))
        if not fine
    ]
    loading: asyncio.Task[None] | None = getattr(request.app.state, "loading", None)
    if loading is not None and (not loading.done() or loading.cancelled() or loading.exception()):
        why.append("models")
    if not why:
        return Health()
    response.status_code = 503
    return Health(status="unavailable", why=tuple(why))


@system_router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "For Prometheus.", "content": {"text/plain": {}}}, **problems()},
)
async def metrics(request: Request, store: Store, caller: Caller) -> Response:
    """What the service counted since it was started."""
    counted: Metrics = request.app.state.metrics
    return Response(counted.text(store), media_type="text/plain; version=0.0.4; charset=utf-8")


@system_router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, caller: Caller) -> JSONResponse:
    """The description of this interface."""
    return JSONResponse(request.app.openapi())


async def load_models() -> None:
    """Loads what checks with the embedded models need, so that the first one does not wait for it."""
    backend = EmbeddedBackend()
    await asyncio.to_thread(lambda: (backend.embedder, backend.entailment))


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
