"""Whether the service lives, can take checks, and what it counted."""

from __future__ import annotations

import asyncio
import os
from functools import partial

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector

from redargue.methods.base import methods
from redargue.nli.backend import EmbeddedBackend
from redargue.service.checks import CheckStore
from redargue.service.context import Caller, Store
from redargue.service.entries import CheckEntry
from redargue.service.routes import problems
from redargue.service.schemas import Health

SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000)
_OTHER = "other"


class Metrics:
    """What an application counts for Prometheus; no label holds words of a request.

    Args:
        others: what another part of the service counts.
    """

    def __init__(self, default_method: str, others: Collector) -> None:
        self._registry, self._default = CollectorRegistry(), default_method
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        self._checks = counter("redargue_checks", "Checks that ended.", ["method", "state"])
        self._outcomes = counter("redargue_outcomes", "Outcomes of finished checks.", ["outcome"])
        histogram = partial(Histogram, registry=self._registry, buckets=SECONDS)
        self._seconds = histogram("redargue_check_seconds", "From request to end.", ["method"])
        self._calls = counter("redargue_calls", "Model calls by role.", ["role"])
        about = "Spent on model calls and searches, where prices are known."
        self._dollars = counter("redargue_dollars", about)
        self._failed = counter("redargue_failed", "Checks that failed, by error class.", ["error"])
        self._streams = gauge("redargue_open_streams", "Open streams of events.")
        self._states = gauge("redargue_active_checks", "Checks that are queued or running.", ["state"])
        self._registry.register(others)

    def ended(self, entry: CheckEntry) -> None:
        method = entry.request.method or self._default
        method = method if method in methods else _OTHER
        self._checks.labels(method, entry.state).inc()
        if entry.state == "done":
            self._outcomes.labels(entry.outcome if entry.outcome in KNOWN else _OTHER).inc()
        if entry.error:
            self._failed.labels(entry.error.type).inc()
        if entry.ended:
            self._seconds.labels(method).observe((entry.ended - entry.created).total_seconds())
        if entry.usage:
            self._dollars.inc(entry.usage.usd or 0.0)
            for role, calls in entry.usage.by_agent.items():
                self._calls.labels(role if role.isascii() and len(role) <= 40 else _OTHER).inc(calls)

    def text(self, store: CheckStore) -> bytes:
        self._streams.set(store.streams)
        for state, count in store.counts().items():
            self._states.labels(state).set(count)
        return generate_latest(self._registry)


KNOWN = frozenset(
    "supported refuted not_enough conflicting unchecked factual non_factual undecided not_checkable".split()
)


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
    why = ["stopping"] if store.closing.is_set() else []
    if not os.access(store.folder, os.W_OK):
        why.append("folder")
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
    await asyncio.to_thread(lambda: (backend.embedder, backend.entailment, backend.reader))
