"""The routes of the proxy, and those of other gateways: vLLM's Semantic Router and LiteLLM's guardrails."""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from redargue.claims import Meaning
from redargue.concurrency import gather_or_cancel
from redargue.evidence import Passage
from redargue.net.transport import Limiter, Rate, Service, Transport
from redargue.service.context import Caller, CallerInfo, caller_of
from redargue.service.guard import JsonRoute
from redargue.service.keys import DayBudget, DayBudgets
from redargue.service.problems import openai_error
from redargue.service.proxy import NO_UPSTREAM, Proxy, Withheld, objection, require_checked
from redargue.service.proxy.block import CheckBlock, ProxyTally, footnotes, without_footnotes
from redargue.service.proxy.checker import Checked, Checkers
from redargue.service.proxy.contexts import ConversationContexts, contexts_of, question_in
from redargue.service.proxy.settings import (
    MODES,
    CheckOptions,
    Plan,
    ProxySettings,
    plan,
    read_check_options,
    upstream_key,
    whole_characters,
)
from redargue.service.proxy.upstream import ProxyExchange, ProxyReply, Upstream
from redargue.service.routes import problems
from redargue.spec import RunSpec
from redargue.text import Outcome
from redargue.text.grounder import warm_up

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
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        application.state.has_upstream = bool(proxy.checkers.settings.upstream)
        warming = asyncio.create_task(asyncio.to_thread(_warm, proxy.checkers.settings))
        async with proxy.upstream.transport:  # connections to the upstream stay open
            try:
                yield
            finally:
                await asyncio.gather(warming, return_exceptions=True)
                await proxy.checkers.close()

    routes = APIRouter(lifespan=lifespan, tags=["proxy"])
    _openai_routes(routes, proxy)
    others = APIRouter(dependencies=[Depends(caller_of)], route_class=JsonRoute)
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


_Serve = Callable[[ProxyReply, bytes, Mapping[str, str], DayBudget | None], Coroutine[Any, Any, None]]


class _ProxiedBody(BaseModel):
    model_config = ConfigDict(extra="allow")

    redargue: CheckOptions | None = Field(default=None, description="How the answer is checked; not sent on.")
    model: str | None = None
    stream: bool | None = None
    tools: list[dict[str, object]] | None = None


class ProxiedChat(_ProxiedBody):
    """A request to OpenAI's Chat Completions: what the proxy reads of it. It is sent on with all other fields."""

    messages: list[dict[str, object]] | None = None


class ProxiedResponse(_ProxiedBody):
    """A request to OpenAI's Responses: what the proxy reads of it. It is sent on with all other fields."""

    input: str | list[dict[str, object]] | None = None
    instructions: str | None = None


class ProxyError(BaseModel):
    """An error as OpenAI's API has it; ``redargue`` has the verdicts on an answer that was withheld."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None
    redargue: dict[str, object] | None = None


class ProxyErrorBody(BaseModel):
    """The body of an error."""

    error: ProxyError


_REFERENCE = "#/components/schemas/{model}"


@cache  # asked for with every request to a path that there is not
def proxied_schemas() -> Mapping[str, object]:
    """The schemas of the bodies that the proxy reads by itself, by name, for the OpenAPI document."""
    _, made = models_json_schema(
        [(ProxiedChat, "validation"), (ProxiedResponse, "validation")], ref_template=_REFERENCE
    )
    definitions: Mapping[str, object] = made["$defs"]
    return definitions


_OPENAI_ANSWERS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "The upstream's answer, with verdicts.",
        "content": {"application/json": {}, "text/event-stream": {"schema": {"type": "string"}}},
    },
    "default": {"description": "Another status of the upstream, with its body."},
    **{
        status: {"model": ProxyErrorBody, "description": what}
        for status, what in {
            400: "The request cannot be read or carried out, or the answer is withheld (`block_as`).",
            401: "No valid key.",
            402: "The key's budget of this day is spent.",
            403: "The request comes from another site's page.",
            413: "The body is too large.",
            500: "The service failed.",
            502: "The upstream cannot be reached, redirects, or broke off.",
            503: "The answer could not be checked (`on_failure`), there is no upstream, or the service is stopping.",
        }.items()
    },
}
_MODELS_ANSWERS = _OPENAI_ANSWERS | {200: {"description": "The upstream's list.", "content": {"application/json": {}}}}


def _proxied(body: type[BaseModel]) -> dict[str, object]:
    """The documentation of a request that the proxy reads by itself."""
    schema = {"$ref": _REFERENCE.format(model=body.__name__)}
    mode = {
        "name": "X-Redargue-Mode",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "enum": [*MODES]},
    }
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "parameters": [{**mode, "description": "Takes precedence over `redargue.mode`."}],
    }


def _openai_routes(routes: APIRouter, proxy: Proxy) -> None:
    async def exchange(request: Request, caller: CallerInfo, serve: _Serve) -> Response:
        day, raw = _day_budget(request, caller), await request.body()
        if not proxy.checkers.settings.upstream:
            error = openai_error(NO_UPSTREAM, kind="invalid_request_error", code="redargue")
            return JSONResponse(error, 503)
        client = {name.lower(): value for name, value in request.headers.items()}
        store = getattr(request.app.state, "store", None)
        return ProxyExchange(lambda reply: serve(reply, raw, client, day), closing=getattr(store, "closing", None))

    @routes.post(
        "/v1/chat/completions", response_class=Response, responses=_OPENAI_ANSWERS, openapi_extra=_proxied(ProxiedChat)
    )
    async def chat_completions(request: Request, caller: Caller) -> Response:
        """OpenAI's Chat Completions of the upstream, with verdicts."""
        return await exchange(request, caller, partial(proxy.serve, "/chat/completions"))

    @routes.post(
        "/v1/responses", response_class=Response, responses=_OPENAI_ANSWERS, openapi_extra=_proxied(ProxiedResponse)
    )
    async def responses(request: Request, caller: Caller) -> Response:
        """OpenAI's Responses of the upstream, with verdicts."""
        return await exchange(request, caller, partial(proxy.serve, "/responses"))

    @routes.get("/v1/models", response_class=Response, responses=_MODELS_ANSWERS)
    async def models(request: Request, caller: Caller) -> Response:
        """The upstream's models."""
        return await exchange(request, caller, lambda reply, raw, client, day: proxy.models(reply, client))


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
        decided = decided.model_copy(update={"question": question_in(request.parameters.question)})
        found, block = await proxy.check_whole(request.inputs, request.documents(), decided, route="/classify", day=day)
        if block.outcome is Outcome.UNCHECKED:
            status = UNCHECKED_STATUS.get(block.reason, 503)
            raise HTTPException(status, f"the answer could not be checked: {block.reason}")
        return spans(found, block)


class ClassifyParameters(BaseModel):
    """The documents of an answer, and its question."""

    context: str | list[str] = ""
    question: str = ""


class ClassifyRequest(BaseModel):
    """What the router's ``http_classify`` adapter sends; ``inputs`` is the answer."""

    inputs: str = Field(min_length=1, max_length=100_000)
    parameters: ClassifyParameters = ClassifyParameters()

    def documents(self) -> tuple[Passage, ...]:
        given = self.parameters.context
        texts = enumerate(map(whole_characters, [given] if isinstance(given, str) else given), 1)
        return tuple(Passage(text=text, document=f"context-{at}") for at, text in texts if re.search(r"\w", text))


class UnsupportedSpan(BaseModel):
    """Unsupported text; offsets count code points. ``score`` is 1 where the reader gives no confidence."""

    start: int
    end: int
    label: Literal["contradiction", "unsupported_addition"]
    score: float
    text: str


class ClassifyResponse(BaseModel):
    """``truncated_at`` is the start of the first sentence that was not checked; absent if all were checked."""

    spans: list[UnsupportedSpan]
    truncated_at: int | None = None


def spans(checked: Checked, block: CheckBlock) -> ClassifyResponse:
    """Leaves out spans that end after ``truncated_at``: the router would reject the response."""
    unread = [*checked.late, *(sentence for sentence, _ in checked.failed)]
    starts = [sentence.start for sentence in unread] + [claim.start for claim in block.claims if claim.unchecked]
    truncated = min(starts, default=None)
    found: dict[tuple[int, int], UnsupportedSpan] = {}
    for claim in block.bad:
        if truncated is not None and claim.end > truncated:
            continue
        span = UnsupportedSpan(
            start=claim.start,
            end=claim.end,
            label="contradiction" if claim.meaning is Meaning.REFUTED else "unsupported_addition",
            score=1.0 if claim.confidence is None else claim.confidence,
            text=checked.text[claim.start : claim.end],
        )
        known = found.get((claim.start, claim.end))
        if known is None or (span.label == "contradiction" and known.label != span.label):
            found[claim.start, claim.end] = span
    return ClassifyResponse(spans=list(found.values()), truncated_at=truncated)


# LiteLLM's Generic Guardrail API: checks the answers of a LiteLLM gateway without redargue's proxy.
# LiteLLM sends the messages only with the request; ``litellm_call_id`` assigns the response to it.
GUARDRAIL_PATH = "/beta/litellm_basic_guardrail_api"
_Call = tuple[str, str]  # caller and call id
KEPT_SECONDS, KEPT_CALLS, KEPT_CHARACTERS = 300.0, 1000, 20_000_000


class GuardrailRequest(BaseModel):
    """What LiteLLM sends; fields that are not needed here are ignored."""

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[dict[str, object]] | None = None
    litellm_call_id: str | None = None
    additional_provider_specific_params: dict[str, object] | None = None


class GuardrailResponse(BaseModel):
    """``texts`` only with ``GUARDRAIL_INTERVENED``, ``blocked_reason`` only with ``BLOCKED``."""

    action: Literal["NONE", "GUARDRAIL_INTERVENED", "BLOCKED"] = "NONE"
    blocked_reason: str | None = None
    texts: list[str] | None = None


class _Kept(NamedTuple):
    since: float
    contexts: ConversationContexts
    size: int  # characters


class Calls:
    """The documents of requests, kept for their responses; bounded in time, number and size.

    The key contains the caller: no answer is checked against the documents of another caller.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[_Call, _Kept] = OrderedDict()

    def keep(self, call: _Call, contexts: ConversationContexts, now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        self._calls.pop(call, None)
        self._calls[call] = _Kept(now, contexts, sum(len(document.text) for document in contexts.documents))
        size = sum(kept.size for kept in self._calls.values())
        for oldest, kept in list(self._calls.items()):
            if len(self._calls) <= KEPT_CALLS and size <= KEPT_CHARACTERS and kept.since >= now - KEPT_SECONDS:
                break
            del self._calls[oldest]
            size -= kept.size

    def contexts(self, call: _Call, now: float | None = None) -> ConversationContexts | None:
        """None for an unknown or expired call."""
        kept = self._calls.get(call)
        now = time.monotonic() if now is None else now
        return kept.contexts if kept and kept.since >= now - KEPT_SECONDS else None


class Guardrail:
    """Answers LiteLLM's requests."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy, self._calls = proxy, Calls()

    async def apply(
        self, request: GuardrailRequest, day: DayBudget | None = None, *, owner: str = ""
    ) -> GuardrailResponse:
        """Raises UsageError for invalid parameters; ``day`` is the budget of the caller, ``owner``."""
        settings = self._proxy.checkers.settings
        given = request.additional_provider_specific_params or {}
        options = read_check_options({name: given[name] for name in CheckOptions.model_fields if name in given})
        chosen = plan(settings, options)
        texts = [whole_characters(text) for text in request.texts or []]
        call = (owner, request.litellm_call_id or "")
        if request.input_type == "request":
            messages = request.structured_messages or []
            contexts = contexts_of({"messages": messages}, options.contexts, roles=settings.context_roles)
            if request.litellm_call_id:
                self._calls.keep(call, contexts)
            # The model does not receive the footnotes of earlier answers.
            return _changed(request.texts or [], [*map(without_footnotes, texts)])
        known = self._calls.contexts(call)
        self._proxy.tally.unknown_calls += known is None
        documents, unread, question = known or contexts_of({}, options.contexts)
        if chosen.mode == "off":
            return GuardrailResponse()
        chosen = chosen.model_copy(update={"unread_contexts": unread, "question": question})
        check = partial(self._proxy.check_whole, documents=documents, plan=chosen, route=GUARDRAIL_PATH, day=day)
        found = await gather_or_cancel(_without_ours(text, check) for text in texts)
        return self._response([text for text, _ in found], [block for _, block in found], chosen)

    def _response(self, texts: list[str], blocks: list[CheckBlock], chosen: Plan) -> GuardrailResponse:
        message, withheld = self._proxy.checkers.settings.block_message, self._proxy.tally.withheld
        try:
            for block in blocks:
                require_checked(block, chosen)
        except Withheld as error:
            withheld[GUARDRAIL_PATH, error.code] += 1
            return GuardrailResponse(action="BLOCKED", blocked_reason=error.what)
        objections = [objection(block, chosen) for block in blocks]
        if chosen.mode == "block" and any(objections):
            withheld[GUARDRAIL_PATH, next(filter(None, objections))] += 1
            if chosen.block_as == "error":
                return GuardrailResponse(action="BLOCKED", blocked_reason=message)
            sent = [message if why else text for text, why in zip(texts, objections, strict=True)]
            return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=sent)
        if chosen.mode in ("footnote", "revise"):  # a guardrail cannot ask the model again
            return _changed(texts, [text + footnotes(block, text) for text, block in zip(texts, blocks, strict=True)])
        return GuardrailResponse()


async def _without_ours(
    text: str, check: Callable[[str], Awaitable[tuple[Checked, CheckBlock]]]
) -> tuple[str, CheckBlock]:
    """A text and its block; footnotes are left out of it where they are those that its check adds."""
    plain = without_footnotes(text)
    if plain != text:  # LiteLLM may send an answer twice, or a model imitates footnotes
        _, block = await check(plain)
        if text == plain + footnotes(block, plain):
            return plain, block
    _, block = await check(text)
    return text, block


def _changed(texts: list[str], sent: list[str]) -> GuardrailResponse:
    """Sends other texts than LiteLLM gave, if they differ."""
    return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=sent) if sent != texts else GuardrailResponse()
