"""A log line for each request: route, status, duration, check and outcome; never a text or a key."""

from __future__ import annotations

import logging
import time
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LINE = "redargue.line"  # in the scope of a request
_log = logging.getLogger("redargue.requests")
_current: ContextVar[dict[str, str] | None] = ContextVar("line of the request", default=None)


def note(check: str, outcome: str, scope: Scope | None = None) -> None:
    """Adds a check to the line of the request that is being answered; without a request, nothing.

    ``scope`` is of the request, where another task than the request's answers it. ``check`` is empty for a check
    without an id. A request with several checks names the last, and the outcomes of all.
    """
    line: dict[str, str] | None = scope.get(LINE) if scope else _current.get()
    if line is not None:
        earlier = line.get("outcome", "")
        line |= {"check": check} if check else {}
        line["outcome"] = f"{earlier},{outcome}" if earlier else outcome


class RequestLog:
    """Logs a line when a response has been sent, or its client has left.

    ``route`` is the path as the service declares it, so that it holds no value of a request; it is empty for a path
    that the service does not have. ``status`` is 0 where nothing was sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        line = scope[LINE] = dict[str, str]()
        token = _current.set(line)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception:
            status = status or 500
            raise
        finally:
            _current.reset(token)
            milliseconds = round(1_000 * (time.monotonic() - began), 1)
            route = getattr(scope.get("route"), "path", "")
            fields = {"method": _method(scope), "route": route, "status": status, "ms": milliseconds, **line}
            _log.info("request", extra={"fields": fields})


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
