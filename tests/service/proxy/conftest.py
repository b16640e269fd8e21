"""A proxy in front of an upstream whose answers the test writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import FastAPI

from redargue.service.keys import Keys
from redargue.service.proxy import Proxy
from redargue.service.proxy.routes import make_proxy, proxy_router
from redargue.service.proxy.settings import ProxySettings
from support.chat_upstream import Asked, Upstream, Written
from support.quick_server import QuickServer

BRIDGE = "The Millau Viaduct in France was opened in December 2004. Its tallest mast is 343 metres above the ground."
TRUE = "The Millau Viaduct was opened in December 2004."
FALSE = "The Millau Viaduct was opened in December 1998."
ANSWER = f"{TRUE} {FALSE}"


@dataclass(frozen=True)
class Running:
    """A proxy and its upstream."""

    upstream: Upstream
    proxy: Proxy
    url: str


Start = Callable[..., Running]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a proxy: ``start(answer, **settings)``."""
    with ExitStack() as stack:

        def started(answer: Callable[[Asked], Written], *, key: str = "", **settings: Any) -> Running:
            upstream = stack.enter_context(Upstream(answer))
            settings.setdefault("timeout_s", 60.0)  # a busy machine is slow
            proxy = make_proxy(ProxySettings(upstream=f"{upstream.url}/v1", **settings), key=key)
            application = FastAPI()
            application.state.keys = Keys()
            application.include_router(proxy_router(proxy))
            return Running(upstream, proxy, stack.enter_context(QuickServer(application, lifespan="on")).url)

        yield started
