"""Responses that end when their client leaves, and errors in OpenAI's shape."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from redargue.service.problems import openai_error
from redargue.service.proxy.sse import compact_json

Headers = Sequence[tuple[str, str]]


class ProxyReply:
    """The response to one client, sent piece by piece."""

    def __init__(self, send: Send) -> None:
        self._send, self.started, self.is_stream = send, False, False

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        self.is_stream = any(
            name == "content-type" and value.startswith("text/event-stream") for name, value in headers
        )
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def send(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        await self.start(status, [*headers, ("content-length", str(len(body)))])
        await self.send(body)
        await self.end()


class ProxyExchange(Response):
    """A response that ``serve`` writes; when the client leaves, ``serve`` is cancelled, and its request upstream.

    When the service closes, a client whose answer has not begun is asked to come back, and a stream ends with an error.
    """

    def __init__(self, serve: Callable[[ProxyReply], Awaitable[None]], *, closing: asyncio.Event | None = None) -> None:
        super().__init__()
        self._serve, self._closing = serve, closing or asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = ProxyReply(send)
        work = asyncio.ensure_future(self._serve(reply))
        leaving, closing = asyncio.create_task(_left(receive)), asyncio.create_task(self._closing.wait())
        tasks: tuple[asyncio.Future[Any], ...] = (work, leaving, closing)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if closing.done() and not closing.cancelled() and work.cancelled():
            await _closed(reply)


async def _closed(reply: ProxyReply) -> None:
    message, kind, code = "the service is closing", "server_error", "closing"
    if not reply.started:
        await refuse(reply, 503, message, kind=kind, code=code, headers={"retry-after": "5"})
    elif reply.is_stream:
        await reply.send(f"data: {compact_json(openai_error(message, kind=kind, code=code))}\n\n".encode())
        await reply.end()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def refuse(
    reply: ProxyReply,
    status: int,
    message: str,
    *,
    kind: str,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = compact_json(openai_error(message, kind=kind, code=code, param=param)).encode()
    await reply.whole(status, [("content-type", "application/json"), *(headers or {}).items()], body)
