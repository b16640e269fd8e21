"""The application: routers over one store of checks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.parts import Parts
from redargue.service import answers, routes, system
from redargue.service.checks import CheckStore
from redargue.service.context import MAX_UPLOAD, ServiceSettings, listeners_of, service_parts
from redargue.service.guard import Guard
from redargue.service.keys import DayBudgets, Keys
from redargue.service.log import RequestLog
from redargue.service.mcp import mcp_endpoint
from redargue.service.page.routes import page_router
from redargue.service.pool import Turns
from redargue.service.problems import MEDIA_TYPE, handle_problems
from redargue.service.proxy.routes import from_environment
from redargue.service.system import Metrics

ALLOWED = "Authorization Content-Type Idempotency-Key Prefer Last-Event-ID X-Redargue-Mode"
EXPOSED = "Location Retry-After Idempotency-Replayed Preference-Applied RateLimit RateLimit-Policy X-Redargue-Check"


def create_app(settings: ServiceSettings | None = None, parts: Parts | None = None) -> FastAPI:
    """The service; its store is ``app.state.store`` while the application is running.

    ``parts`` are parts that all checks share, instead of those made from the configuration.
    """
    settings, keys = settings or ServiceSettings(), Keys()
    _ = keys.needed  # those of the start count, also if they are removed before the first request

    def day_budget(owner: str) -> str:
        key = keys.get(owner)
        return (key and key.budget) or settings.day_budget

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        transport = Transport(limiter(), offline=settings.rules.spec.offline)
        shared = parts or Parts(transport=transport)
        budgets = DayBudgets(day_budget)
        async with (
            transport,
            CheckStore(
                settings.rules,
                parts=shared,
                running=settings.running,
                waiting=settings.waiting,
                budgets=budgets,
                finished=application.state.metrics.ended,
                listeners=lambda: listeners_of(settings),
            ) as store,
            AsyncExitStack() as stack,
        ):
            application.state.store, application.state.budgets = store, budgets
            for name in service_parts:
                await stack.enter_async_context(service_parts[name].opened(application, shared))
            if not (shared.backend or settings.rules.spec.model or settings.rules.spec.backend):
                application.state.loading = asyncio.create_task(system.load_models())
            async with mcp:
                yield

    application = FastAPI(
        title="redargue",
        version=version("redargue"),
        summary="Verifies claims against evidence with published multi-agent protocols.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # a route of its own, which asks for a key
        lifespan=lifespan,
        redirect_slashes=False,
    )
    application.openapi = lambda: _openapi(application)  # type: ignore[method-assign]
    application.state.settings, application.state.keys = settings, keys
    handle_problems(application)
    _include_routers(application, settings)
    mcp = mcp_endpoint(application, settings)
    if settings.origins:
        _allow_pages_of(settings.origins, application)
    guard = partial(Guard, hosts=settings.hosts, origins=settings.origins)
    larger = {"/checks": MAX_UPLOAD}
    application.add_middleware(guard, max_body=settings.max_body, larger=larger)
    application.add_middleware(RequestLog)
    return application


def _allow_pages_of(origins: Sequence[str], application: FastAPI) -> None:
    application.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=ALLOWED.split(),
        expose_headers=EXPOSED.split(),
    )


def _include_routers(application: FastAPI, settings: ServiceSettings) -> None:
    proxy, tally = from_environment(settings.rules.spec, running=settings.running)
    application.state.metrics = Metrics(settings.rules.spec.method, tally)
    application.state.tally = tally
    application.state.turns = Turns(settings.running, settings.waiting)
    for router in (
        routes.checks_router,
        answers.answers_router,
        *(service_parts[name].router for name in service_parts),
        system.system_router,
        answers.promptfoo_router,
        page_router,
    ):
        # FastAPI would make each again, with models of its own.
        application.router.routes.extend(router.routes)
    application.include_router(proxy)  # which has a life of its own


def _openapi(application: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which every error is problem+json and nothing else."""
    document = FastAPI.openapi(application)  # which keeps it
    for path in document["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                if status >= "400" and MEDIA_TYPE in answer.get("content", {}):
                    answer["content"] = {MEDIA_TYPE: answer["content"][MEDIA_TYPE]}
    return document
