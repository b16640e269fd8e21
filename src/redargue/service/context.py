"""What routers get from the application: the store of checks, the caller, and the event of the service's end.

A router is an ``APIRouter`` in its own module, and one name in ``app.py``::

    router = APIRouter()

    @router.get("/v1/example/{id}")
    async def example(id: str, store: Store, caller: Caller) -> Answer:
        return Answer(state=store.get(id, owner=caller.owner).state)

``Caller`` requires a valid key where the service has keys. A handler that waits or streams also waits for
``store.closing``; every error is raised as a :class:`~redargue.errors.RedargueError` or an ``HTTPException``.

Another package adds a router through the entry point ``redargue.service_parts``: a module or object like
:class:`ServicePart`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from redargue.assembly import Parts
from redargue.events import Event
from redargue.registry import Registry, an_instance
from redargue.service.checks import LOCAL, CheckStore
from redargue.service.guard import LOOPBACK
from redargue.service.keys import DayBudgets, Keys
from redargue.service.rules import RequestRules
from redargue.telemetry import Telemetry


class ServicePart(Protocol):
    """Routes of another package, and what they need while the service is running."""

    @property
    def router(self) -> APIRouter: ...

    def opened(self, application: FastAPI, parts: Parts) -> AbstractAsyncContextManager[None]: ...


service_parts: Registry[ServicePart] = Registry(
    "part of the service", group="redargue.service_parts", missing=an_instance("router", "opened")
)
COOKIE = "redargue_session"
MAX_BODY = 2_000_000  # bytes
MAX_UPLOAD = 256_000_000  # bytes of a form with files; a file that is too large is read to its end and dropped


@dataclass(frozen=True, kw_only=True)
class CallerInfo:
    """Who sent a request; ``owner`` is the id of the key, or empty for the user of this machine."""

    owner: str = LOCAL


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """What ``redargue serve`` is started with.

    Attributes:
        rules: the configuration of checks, and what requests may decide.
        running, waiting: number of checks that run and that may wait.
        hosts: names by which clients may reach the service.
        origins: sites whose pages may send requests (CORS), exactly.
        day_budget: of each key and day (UTC), such as ``5usd``; empty for none.
        max_body: bytes of a request's body.
        ledger: of batches: ``postgresql://…`` or a file; default: a file in redargue's home.
        telemetry: whether checks are traced with OpenTelemetry: ``off``, ``on``, or ``content`` for texts as well.
    """

    rules: RequestRules = field(default_factory=RequestRules)
    running: int = 4
    waiting: int = 100
    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()
    day_budget: str = ""
    max_body: int = MAX_BODY
    ledger: str = ""
    telemetry: Literal["off", "on", "content"] = "off"


def listeners_of(settings: ServiceSettings) -> list[Callable[[Event], None]]:
    """Further listeners of one check's events; raises UsageError."""
    return [] if settings.telemetry == "off" else [Telemetry(content=settings.telemetry == "content")]


def _of_state(name: str) -> Any:
    """What the application keeps under a name."""

    def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(found)


_documented = HTTPBearer(auto_error=False, description="A key of `redargue serve key add`, where the service has keys.")


def caller_of(request: Request, documented: Annotated[object, Depends(_documented)] = None) -> CallerInfo:
    """Raises a 401 where the service has keys and the request has none of them."""
    keys: Keys = request.app.state.keys
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme:
        key = keys.find(secret.strip()) if scheme.lower() == "bearer" else None
    else:
        key = keys.find_session(request.cookies.get(COOKIE, ""))
    if key:
        return CallerInfo(owner=key.id)
    if keys.needed:
        detail = "send a key: Authorization: Bearer rdg_…"
        if scheme:
            detail = "the key is not one of this service: redargue serve key ls lists those that there are"
        raise HTTPException(401, detail, {"WWW-Authenticate": 'Bearer realm="redargue"'})
    return CallerInfo()


Store = Annotated[CheckStore, _of_state("store")]
Settings = Annotated[ServiceSettings, _of_state("settings")]
Budgets = Annotated[DayBudgets, _of_state("budgets")]
Caller = Annotated[CallerInfo, Depends(caller_of)]
