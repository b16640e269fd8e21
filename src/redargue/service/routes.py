"""Routes of checks (start, find, stop, follow, report) and of the service's own state.

The state: whether the service lives, can take checks, and what it counted.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException

from redargue.errors import RecordError
from redargue.events import passages_of
from redargue.methods.base import methods
from redargue.nli.backend import EmbeddedBackend
from redargue.reports.render import render
from redargue.runs.record import read_events
from redargue.service.checks import Check, CheckStore, require_verdict
from redargue.service.context import Caller, Store
from redargue.service.entries import CheckEntry, EventLine, note
from redargue.service.guard import JsonRoute
from redargue.service.problems import MEDIA_TYPE, Problem, UnknownCheck, problem_of_error, rate_limit
from redargue.service.rules import CheckRequest
from redargue.service.schemas import CheckAnswer, CheckList, CheckSummary, Health

_PING = 15.0  # seconds without an event after which a stream shows that it lives
_LONGEST_WAIT = 60  # seconds
PASSAGES_IN = 100  # of the caller's newest checks
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
# A report is a page of its own: nothing in it may run, or reach another host.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
_NO_STORE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_REPORT_HEADERS = {"Content-Security-Policy": f"{REPORT_POLICY}; sandbox", **_NO_STORE}


_Blocks = AsyncIterator[Sequence[EventLine]]  # lines that come together


def problems(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The documentation of a route's errors; those that every route has are included."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    known = {
        400: "The request cannot be read, or names another host.",
        401: "No valid key.",
        402: "The key's budget of this day is spent.",
        403: "The request comes from another site's page.",
        404: "There is no such resource, or it belongs to another key.",
        409: "The check is in a state that does not allow this.",
        413: "The body is too large.",
        422: "The request is not valid.",
        429: "Too many checks are waiting.",
        500: "The service failed.",
        502: "A model or tool does not answer.",
        503: "The service is stopping, or a store cannot be used.",
        507: "The service's disk is full.",
    }
    every = {400, 401, 403, 413, 422, *statuses}
    return {status: {"model": Problem, "description": known[status], "content": content} for status in sorted(every)}


checks_router = APIRouter(prefix="/v1", tags=["checks"], route_class=JsonRoute)
_Id = Annotated[str, Path(alias="id", max_length=100, description="The id of a check.")]
Format = Annotated[Literal["html", "md", "json"], Path(alias="format")]
IdempotencyKey = Annotated[
    str,
    Header(alias="Idempotency-Key", max_length=255, description="For 24 hours, the same key starts no second check."),
]
Prefer = Annotated[
    str, Header(max_length=100, description="`wait=N` waits up to N seconds (at most 60) for the result.")
]


@checks_router.post(
    "/checks",
    status_code=202,
    responses={
        202: {"model": CheckAnswer, "description": "The check is queued or running."},
        200: {"model": CheckAnswer, "description": "The check has ended while the request waited for it."},
        **problems(402, 429, 503, 507),
    },
)
async def start_check(
    request: CheckRequest,
    store: Store,
    caller: Caller,
    response: Response,
    idempotency_key: IdempotencyKey = "",
    prefer: Prefer = "",
) -> CheckAnswer:
    """Check a claim, or the claims of a text."""
    again = {"owner": caller.owner, "idempotency": idempotency_key}
    prepared = None if store.repeated(request, **again) else await store.prepare(request)
    earlier = store.repeated(request, **again)  # another request may have come first meanwhile
    check = earlier or store.submit(request, **again, prepared=prepared)
    response.headers.update(rate_limit(*store.places))
    if seconds := wait_of(prefer):
        check = await store.wait(check.id, owner=caller.owner, seconds=seconds)
        response.headers["Preference-Applied"] = f"wait={seconds}"
    answer = await _answer(store, check, caller.owner)
    response.headers["Location"] = answer.links.self
    if earlier:
        response.headers["Idempotency-Replayed"] = "true"
    if seconds and check.ended:
        response.status_code = 200
    else:
        response.headers["Retry-After"] = "1"
    return answer


@checks_router.get("/checks", responses=problems())
async def list_checks(
    store: Store,
    caller: Caller,
    cursor: Annotated[str, Query(max_length=200, description="Of the list's previous part.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> CheckList:
    """The caller's checks, newest first."""
    page = await asyncio.to_thread(store.list, owner=caller.owner, cursor=cursor, limit=limit)
    return CheckList(checks=tuple(map(CheckSummary.of, page.checks)), cursor=page.cursor)


@checks_router.get("/checks/{id}", responses=problems(404, 409))
async def read_check(id_: _Id, store: Store, caller: Caller) -> CheckAnswer:
    """A check's state, and its result once it has ended."""
    return await _answer(store, store.get(id_, owner=caller.owner), caller.owner)


@checks_router.delete("/checks/{id}", status_code=204, responses=problems(409))
async def erase_check(id_: _Id, store: Store, caller: Caller) -> Response:
    """Stop a check and erase everything stored about it; a check that does not exist is erased already."""
    with suppress(UnknownCheck):
        await store.erase(id_, owner=caller.owner)
    return Response(status_code=204)


@checks_router.post("/checks/{id}/cancel", responses=problems(404, 409))
async def cancel_check(id_: _Id, store: Store, caller: Caller) -> CheckAnswer:
    """Stop a check; what it found until then stays."""
    return await _answer(store, await store.cancel(id_, owner=caller.owner), caller.owner)


@checks_router.get(
    "/checks/{id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The check's events, as they happen. `id` is the number of the line, `event` its kind,"
            " `data` the line of `events.jsonl` unchanged; the last frame is `event: end`.",
            "content": {
                "text/event-stream": {"schema": {"type": "string"}},
                "application/x-ndjson": {"schema": {"type": "string"}},
            },
        },
        **problems(404, 409),
    },
)
async def follow_check(
    id_: _Id,
    store: Store,
    caller: Caller,
    accept: Annotated[str, Header(max_length=1000)] = "",
    only: Annotated[
        str,
        Query(max_length=1000, pattern=r"^[a-z_]+(,[a-z_]+)*$|^$", description="Kinds of events: `answered,scored`."),
    ] = "",
    after: Annotated[int, Query(ge=0, le=1 << 53, description="The number of the last line that is known.")] = 0,
    last_event_id: Annotated[
        str, Header(alias="Last-Event-ID", max_length=100, description="As `after`; clients of SSE send it.")
    ] = "",
) -> StreamingResponse:
    """Follow a check: SSE, or JSON Lines with `Accept: application/x-ndjson`. Continues after `Last-Event-ID`."""
    store.get(id_, owner=caller.owner)
    first = int(last_event_id) if re.fullmatch(r"[0-9]{1,15}", last_event_id) else after
    json_lines = "application/x-ndjson" in accept
    silence = None if json_lines else _PING
    blocks = store.follow(id_, owner=caller.owner, after=first, silence=silence)
    kinds = only.split(",")
    wanted = ([line for line in lines if line.kind in kinds] async for lines in blocks) if only else blocks
    media = "application/x-ndjson" if json_lines else "text/event-stream"
    frames = _json_lines(wanted) if json_lines else _server_sent(wanted, store)
    return StreamingResponse(store.counted(frames), headers=STREAM_HEADERS, media_type=media)


async def _server_sent(blocks: _Blocks, store: CheckStore) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    try:
        async for lines in blocks:
            frames = (f"id: {line.number}\nevent: {line.kind}\ndata: {line.line}\n\n" for line in lines)
            yield ("".join(frames) or ": ping\n\n").encode()
    except RecordError as error:  # connecting again would not help
        yield f"event: end\ndata: {problem_of_error(error).model_dump_json()}\n\n".encode()
        return
    if not store.closing.is_set():
        yield b"event: end\ndata: {}\n\n"


async def _json_lines(blocks: _Blocks) -> AsyncIterator[bytes]:
    try:
        async for lines in blocks:
            if lines:
                yield "".join(f"{line.line}\n" for line in lines).encode()
    except RecordError as error:
        yield f"{problem_of_error(error).model_dump_json()}\n".encode()


@checks_router.get(
    "/checks/{id}/report.{format}",
    response_class=Response,
    responses={
        200: {
            "description": "The report.",
            "content": {
                media: {"schema": {"type": "string"} if name != "json" else {}} for name, media in MEDIA.items()
            },
        },
        **problems(404, 409),
    },
)
async def report_check(id_: _Id, format_: Format, store: Store, caller: Caller) -> Response:
    """The report of a check with at least one verdict."""
    check = store.get(id_, owner=caller.owner)
    await asyncio.to_thread(require_verdict, check)
    text = await asyncio.to_thread(render, check.folder, format_)
    return Response(text, media_type=MEDIA[format_], headers=_REPORT_HEADERS)


@checks_router.get(
    "/passages/{sha256}",
    response_class=PlainTextResponse,
    responses={200: {"description": "The text, unchanged.", "content": {"text/plain": {}}}, **problems(404, 409)},
)
async def read_passage(
    sha256: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    store: Store,
    caller: Caller,
    check: Annotated[
        str, Query(max_length=100, description="The check that found it; default: the newest checks.")
    ] = "",
) -> PlainTextResponse:
    """The stored text of a passage that one of the caller's checks found."""
    if check:
        checks: tuple[Check, ...] = (store.get(check, owner=caller.owner),)
    else:
        checks = (await asyncio.to_thread(store.list, owner=caller.owner, limit=PASSAGES_IN)).checks
    if (text := await asyncio.to_thread(_passage, checks, sha256, named=bool(check))) is None:
        raise HTTPException(404, "no passage of your newest checks has this sha256")
    return PlainTextResponse(text, headers=_NO_STORE)


def _passage(checks: Sequence[Check], sha256: str, *, named: bool) -> str | None:
    """A damaged log is an error only of a check that was named."""
    for folder in (check.folder for check in checks if check.recorded):
        with suppress(*(() if named else (RecordError,))):
            passages = chain.from_iterable(map(passages_of, read_events(folder)))
            if found := next((passage for passage in passages if passage.sha256 == sha256), None):
                return found.text
    return None


async def _answer(store: CheckStore, check: Check, owner: str) -> CheckAnswer:
    note(check.id, check.outcome or check.state)
    result = await asyncio.to_thread(store.result, check.id, owner=owner) if check.ended else None
    return CheckAnswer.with_result(check, result)


def wait_of(prefer: str) -> int:
    """The seconds of a Prefer header, at most :data:`_LONGEST_WAIT`; 0 without one."""
    match = re.search(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,9})", prefer.lower())
    return min(_LONGEST_WAIT, int(match.group(1))) if match else 0


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
        method = entry.method or entry.request.method or self._default
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
