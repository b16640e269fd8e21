"""The routes of the proxy and of the other routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from redargue.net.transport import Limiter, Rate, Service, Transport
from redargue.service.context import Caller, caller_of
from redargue.service.keys import DayBudget, DayBudgets
from redargue.service.problems import openai_error
from redargue.service.proxy.block import ProxyTally
from redargue.service.proxy.checker import Checkers
from redargue.service.proxy.gateways import (
    GUARDRAIL_PATH,
    ClassifyRequest,
    ClassifyResponse,
    Guardrail,
    GuardrailRequest,
    GuardrailResponse,
    spans,
)
from redargue.service.proxy.proxy import Proxy
from redargue.service.proxy.settings import CheckOptions, ProxySettings, plan, upstream_key
from redargue.service.proxy.upstream import ProxyExchange, ProxyReply, Upstream
from redargue.service.routes import problems
from redargue.spec import RunSpec
from redargue.text.grounder import warm_up
from redargue.text.report import Outcome

UNCHECKED_STATUS = {
    "budget": 402,
    "language": 422,
    "fragment": 422,
    "structured": 422,
    "no_context": 400,
    "too_long": 413,
    "unreadable_answer": 400,
}


def make_proxy(settings: ProxySettings, *, key: str | None = None) -> Proxy:
    """The proxy of a service; ``key`` is the operator's for the upstream, by default the environment's."""
    key = upstream_key() if key is None else key
    service = Service(name="upstream", url=settings.upstream, key=key, timeout=settings.upstream_timeout)
    limiter = Limiter({service.name: Rate(in_flight=settings.in_flight)})
    upstream = Upstream(service, Transport(limiter, offline=settings.spec.offline))
    return Proxy(upstream, Checkers(settings), ProxyTally())


def from_environment(spec: RunSpec, *, running: int = 4) -> tuple[APIRouter, ProxyTally]:
    """The routes as the environment configures them, and what they count; ``running``: readings at a time."""
    proxy = make_proxy(ProxySettings.from_environment(spec=spec, running=running))
    return proxy_router(proxy), proxy.tally


def proxy_router(proxy: Proxy) -> APIRouter:
    """The routes for a FastAPI application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(_warm, proxy.checkers.settings))
        async with proxy.upstream.transport:  # connections to the upstream stay open
            try:
                yield
            finally:
                await asyncio.gather(warming, return_exceptions=True)
                await proxy.checkers.close()

    routes = APIRouter(lifespan=lifespan, tags=["proxy"])
    _openai_routes(routes, proxy)
    others = APIRouter(dependencies=[Depends(caller_of)])
    _foreign_routes(others, proxy)
    routes.include_router(others)
    return routes


def _warm(settings: ProxySettings) -> None:
    if settings.upstream:
        asyncio.run(warm_up())


def _day_budget(request: Request, caller: Caller) -> DayBudget | None:
    """What is left for the caller's checks today; None without a limit."""
    days: DayBudgets | None = getattr(request.app.state, "budgets", None)
    return days.of(caller.owner) if days else None


_Day = Annotated[DayBudget | None, Depends(_day_budget)]


_Serve = Callable[[ProxyReply, bytes, Mapping[str, str], DayBudget | None], Awaitable[None]]


def _openai_routes(routes: APIRouter, proxy: Proxy) -> None:
    async def exchange(request: Request, serve: _Serve) -> Response:
        try:
            day = _day_budget(request, caller_of(request))
            raw = await request.body()
        except HTTPException as error:
            kind = "authentication_error" if error.status_code == 401 else "invalid_request_error"
            return JSONResponse(openai_error(error.detail, kind=kind), error.status_code, error.headers)
        client = {name.lower(): value for name, value in request.headers.items()}
        store = getattr(request.app.state, "store", None)
        return ProxyExchange(lambda reply: serve(reply, raw, client, day), closing=getattr(store, "closing", None))

    @routes.post("/v1/chat/completions", response_class=Response)
    async def chat_completions(request: Request) -> Response:
        """OpenAI's Chat Completions of the upstream, with verdicts."""
        return await exchange(request, partial(proxy.serve, "/chat/completions"))

    @routes.post("/v1/responses", response_class=Response)
    async def responses(request: Request) -> Response:
        """OpenAI's Responses of the upstream, with verdicts."""
        return await exchange(request, partial(proxy.serve, "/responses"))

    @routes.get("/v1/models", response_class=Response)
    async def models(request: Request) -> Response:
        """The upstream's models."""
        return await exchange(request, lambda reply, raw, client, day: proxy.models(reply, client))


def _foreign_routes(routes: APIRouter, proxy: Proxy) -> None:
    guardrail = Guardrail(proxy)

    @routes.post(GUARDRAIL_PATH, response_model_exclude_none=True, responses=problems())
    async def litellm_guardrail(request: GuardrailRequest, caller: Caller, day: _Day) -> GuardrailResponse:
        """LiteLLM's Generic Guardrail API."""
        return await guardrail.apply(request, day, owner=caller.owner)

    @routes.post("/classify", response_model_exclude_none=True, responses=problems(402, 503))
    async def classify(request: ClassifyRequest, day: _Day) -> ClassifyResponse:
        """Experimental: the span classifier of vLLM's Semantic Router (``http_classify``)."""
        settings = proxy.checkers.settings
        decided = plan(settings.model_copy(update={"mode": "annotate"}), CheckOptions())
        found, block = await proxy.check_whole(request.inputs, request.documents(), decided, route="/classify", day=day)
        if block.outcome is Outcome.UNCHECKED:
            status = UNCHECKED_STATUS.get(block.reason, 503)
            raise HTTPException(status, f"the answer could not be checked: {block.reason}")
        return spans(found, block)
