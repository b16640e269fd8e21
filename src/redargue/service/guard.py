"""Limits of the service: what is checked before a request is read, and how many requests compute concurrently.

A request's Host, Origin and size are checked before its body is read, which has to be JSON that every program reads
alike. What a request computes before it is answered runs in threads of its own, and checks take turns at the processor.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from redargue.concurrency import Busy
from redargue.net.listening import UNCLEAR, unclear
from redargue.service.problems import refusal, shown_name

_T = TypeVar("_T")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Bytes that are read of a body that is too large, so that its client can read why.
DRAINED = 16_000_000
# An address of IPv6 in brackets, or a name or address without them; and a port.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/?#\\\s]+))(?::[0-9]{0,5})?")


class Guard:
    """Refuses requests for other hosts (DNS rebinding), from other sites' pages, and with too large bodies.

    Args:
        hosts: names by which the service may be reached.
        origins: sites whose pages may send requests, such as ``https://example.org``.
        max_body: bytes.
        larger: bytes of requests to certain paths.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        origins: Collection[str],
        max_body: int,
        larger: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._app, self._max_body, self._larger = app, max_body, larger
        self._hosts, self._origins = frozenset(map(str.lower, hosts)), frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return  # there are none: the connection is closed
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._larger.get(scope["path"], self._max_body)
        if refused := self._refusal(headers, most):
            # A connection that is closed while its client is sending is reset, and the answer is lost.
            whole = refused[0] == 413 and "expect" not in headers and await _drained(receive)
            closing = {} if whole else {"Connection": "close"}
            await refusal(scope["path"], *refused, headers=closing)(scope, receive, send)
            return
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413, f"the body has more than {most:,} bytes")
            return message

        await self._app(scope, limited, send)

    def _refusal(self, headers: Headers, most: int) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_of(hosts[0]) not in self._hosts:
            return 400, "the Host header names another host: redargue serve --trusted-host NAME allows one"
        origin = headers.get("origin")
        own = (f"http://{hosts[0]}".lower(), f"https://{hosts[0]}".lower())
        if origin is not None and origin not in self._origins and origin.lower() not in own:
            return 403, "the Origin header names another site: redargue serve --cors ORIGIN allows one"
        if unclear(headers.raw):
            return 400, UNCLEAR
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            return 413, f"the body has more than {most:,} bytes"
        return None


async def _drained(receive: Receive) -> bool:
    """Reads a body that nobody wants; whether to its end."""
    read = 0
    while read <= DRAINED:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bool(message["type"] != "http.disconnect")
    return False


def host_of(host: str) -> str:
    """The name or address in a Host header, in lower case; empty if it cannot be read."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower().rstrip(".") if match else ""


class UnclearJson(ValueError):
    """JSON in which programs read different values."""


JsonObject = dict[str, Any]


def read_json(text: str | bytes, fields: Callable[[JsonObject], JsonObject] = dict) -> Any:
    """Reads JSON; ``fields`` makes an object of what is read of one.

    Raises:
        UnclearJson: an object has a name twice, or a number is NaN or beyond a double.
        ValueError: it is not JSON, or an integer has more digits than Python reads.
        RecursionError: it has too many levels.
    """

    def once(pairs: list[tuple[str, Any]]) -> JsonObject:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
            raise UnclearJson(f"an object has the name {shown_name(twice)} twice")
        return fields(found)

    return json.loads(text, object_pairs_hook=once, parse_constant=_refuse_constant, parse_float=_finite_float)


def _refuse_constant(name: str) -> float:
    raise UnclearJson(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise UnclearJson("a number is too large")
    return number


def depth(value: Any, most: int) -> int:
    """How deep lists and objects are nested, counted up to one more than ``most``."""
    level, levels = [value], 0
    while level and levels <= most:
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level, levels = [part for parts in inner for part in parts], levels + bool(inner)
    return levels


class JsonRoute(APIRoute):
    """A route whose bodies are read by :func:`read_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(JsonRequest(request.scope, request.receive))

        return handle


class JsonRequest(Request):
    """A request whose body is read by :func:`read_json`; raises HTTPException where that is not clear."""

    async def json(self) -> Any:
        try:
            return read_json(await self.body())
        except UnclearJson as error:
            raise HTTPException(400, f"the body is not clear: {error}") from None


async def left(receive: Receive) -> None:
    """Waits until the client of a request that has been read leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless(work: Coroutine[Any, Any, _T], *others: Coroutine[Any, Any, object]) -> tuple[_T] | None:
    """What the work gives; None where one of the others ends before it. Those that have not ended are cancelled."""
    working = asyncio.create_task(work)
    tasks: tuple[asyncio.Task[Any], ...] = (working, *map(asyncio.create_task, others))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return (working.result(),) if working.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


THREADS = 2  # they compute in Python: more would only take turns with the event loop


class Pool:
    """A few threads, for which so many further calls may wait; others raise Busy."""

    def __init__(self, waiting: int, threads: int = THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._waiting, self._free = waiting, waiting + threads

    async def run(self, function: Callable[[], _T]) -> _T:
        if not self._free:
            raise Busy(f"{self._waiting} requests are waiting", hint="try again later")
        self._free -= 1
        done = self._threads.submit(function)
        loop = asyncio.get_running_loop()
        # Of a call that nobody awaits any more, the thread is busy all the same.
        done.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._release))
        return await asyncio.wrap_future(done)

    def _release(self) -> None:
        self._free += 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Turns:
    """Places for ``running`` computations at a time; of those that wait, the one with the lowest number is next.

    Computations that all share the processor all end late; in turns, the first ones end in time.
    Where ``most`` of them wait, further ones raise Busy.
    """

    def __init__(self, running: int, most: int | None = None) -> None:
        self._free, self._most, self._order = running, most, count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def take(self, number: int = 0) -> AsyncIterator[None]:
        if self._free:
            self._free -= 1
        else:
            await self._wait(number)
        try:
            yield
        finally:
            self._give()

    async def _wait(self, number: int) -> None:
        waiting = sum(not turn.done() for *_, turn in self._waiting)
        if self._most is not None and waiting >= self._most:
            raise Busy(f"{self._most} answers are waiting", hint="try again later")
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (number, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had been given its turn
                self._give()
            raise

    def _give(self) -> None:
        while self._waiting:
            *_, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
