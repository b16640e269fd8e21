"""The application, routers over one store of checks, and the server that runs it.

``redargue serve`` runs all routers; ``redargue view`` the page alone, for the user of this machine. uvicorn serves
both; open streams end as soon as the process is asked to stop.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.responses import HTMLResponse
from starlette.middleware.cors import CORSMiddleware

from redargue.assembly import Parts
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.files import make_folder
from redargue.net.listening import DEFAULT, Limits, PatientServer
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.reports.folders import kind_of, kinds
from redargue.runs.folders import runs_folder
from redargue.runs.record import writing
from redargue.service import answers, routes
from redargue.service.checks import CheckStore
from redargue.service.context import MAX_BODY, MAX_UPLOAD, ServiceSettings, caller_of, listeners_of, service_parts
from redargue.service.entries import RequestLog
from redargue.service.guard import LOOPBACK, Guard, Turns
from redargue.service.keys import DayBudgets, Keys
from redargue.service.page import failed, no_page, page_router, shown
from redargue.service.page.frames import LAYOUT, page_environment
from redargue.service.problems import MEDIA_TYPE, handle_problems
from redargue.service.proxy.routes import from_environment, proxied_schemas
from redargue.service.routes import Metrics
from redargue.service.rules import RequestRules

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
                with service_parts.blamed(name):
                    await stack.enter_async_context(service_parts[name].opened(application, shared))
            if not (shared.backend or settings.rules.spec.model or settings.rules.spec.backend):
                application.state.loading = asyncio.create_task(routes.load_models())
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
    handle_problems(application, no_page)
    _include_routers(application, settings)
    mcp = _mcp_endpoint(application, settings)
    if settings.origins:
        _allow_pages_of(settings.origins, application)
    guard = partial(Guard, hosts=settings.hosts, origins=settings.origins)
    application.add_middleware(guard, max_body=settings.max_body, larger={"/checks": MAX_UPLOAD})
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
        *(service_parts[name].router for name in service_parts.builtin),
        routes.system_router,
        answers.promptfoo_router,
        page_router,
    ):
        # FastAPI would make each again, with models of its own.
        application.router.routes.extend(router.routes)
    for name in service_parts:
        if name not in service_parts.builtin:
            application.include_router(service_parts[name].router, dependencies=[Depends(caller_of)])
    application.include_router(proxy)  # which has a life of its own


def _mcp_endpoint(application: FastAPI, settings: ServiceSettings) -> AbstractAsyncContextManager[None]:
    """Adds ``/mcp`` where the SDK is installed; open while the service runs."""
    if find_spec("mcp") is None:
        return nullcontext()
    from redargue.service.mcp.tools import McpDoor

    return McpDoor(application, settings).opened()


def _openapi(application: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which every error is problem+json and nothing else, but for OpenAI's routes."""
    document = FastAPI.openapi(application)  # which keeps it
    schemas = document["components"]["schemas"]
    schemas |= {name: schema for name, schema in proxied_schemas().items() if name not in schemas}
    for path in document["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                if status >= "400" and MEDIA_TYPE in answer.get("content", {}):
                    answer["content"] = {MEDIA_TYPE: answer["content"][MEDIA_TYPE]}
    return document


def create_viewer(folder: Path, own: Path, rules: RequestRules | None = None) -> FastAPI:
    """The page of the run folders in ``folder``; ``own`` is a folder for itself, in which there are no keys.

    A bench folder holds a run folder for each of its systems; ``/report`` compares them.
    """
    rules = rules or RequestRules()

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        resumes = folder == runs_folder()
        async with (
            Transport(limiter(), offline=rules.spec.offline) as transport,
            CheckStore(
                rules, parts=Parts(transport=transport), folder=folder, name="view", resumes=resumes
            ) as application.state.store,
        ):
            yield

    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=lifespan)
    application.state.keys = Keys(own)
    handle_problems(application, no_page)

    @application.get("/report")
    def report() -> HTMLResponse:
        try:
            if not (kind := kind_of(folder)):
                raise UsageError(f"{str(folder)!r} has no report", hint="redargue report RUN writes that of a run")
            with kinds.blamed(kind):
                return shown(kinds[kind].page(folder, page_environment(), **LAYOUT))
        except RedargueError as error:
            return failed(error, is_local=True)

    application.include_router(page_router)
    application.add_middleware(Guard, hosts=LOOPBACK, origins=(), max_body=MAX_BODY, larger={"/checks": MAX_UPLOAD})
    return application


class Server(PatientServer):
    """Closes the store of checks at the first signal, because uvicorn waits for open streams."""

    def __init__(
        self, application: FastAPI, ready: Callable[[], None] = lambda: None, *, limits: Limits = DEFAULT
    ) -> None:
        super().__init__(application, limits)
        self._application, self._ready = application, ready
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        store: CheckStore | None = getattr(self._application.state, "store", None)
        if store and self._loop:
            # A signal may interrupt asyncio.Event.wait() before the waiter is noted, who would then never be woken.
            self._loop.call_soon_threadsafe(store.close)
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def only_one(folder: Path, name: str) -> Iterator[None]:
    """Keeps out a second process with the same home, which would resume the same checks; raises UsageError."""
    make_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(writing(folder))
        except RecordError:
            what = f"{name} is running already with the home {str(folder.parent)!r}"
            raise UsageError(what, hint="use that one, stop it, or set REDARGUE_HOME to another folder") from None
        yield


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is a free one. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        what = f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise UsageError(what, hint="choose another --port, or --port 0 for a free one") from None
    return listener


def allowed_hosts(host: str, trusted: tuple[str, ...], *, has_keys: bool) -> tuple[str, ...]:
    """The names by which clients may reach a service that listens on an address.

    Raises UsageError beyond loopback without a key, and for a wildcard address without trusted hosts.
    """
    name = host.strip("[]").lower()
    if name == "localhost" or _address_is(name, "is_loopback"):
        return (*LOOPBACK, name, *trusted)
    if not has_keys:
        what = f"{host!r} can be reached from other machines, and the service has no key"
        raise UsageError(what, where="--host", hint="make one: redargue serve key add NAME")
    if name and not _address_is(name, "is_unspecified"):
        return (name, *trusted)
    if not trusted:
        what = f"{host!r} is every address of this machine, so that any Host header could be meant"
        hint = "name those that clients use: --trusted-host NAME"
        raise UsageError(what, where="--host", hint=hint)
    return (*LOOPBACK, *trusted)


def _address_is(name: str, what: str) -> bool:
    try:
        return bool(getattr(ipaddress.ip_address(name), what))
    except ValueError:
        return False
