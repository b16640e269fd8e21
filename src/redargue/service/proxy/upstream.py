"""Requests to the upstream: which headers pass, and whose key is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from redargue.net.fetch import pieces, read_bounded
from redargue.net.secrets import Secrets
from redargue.net.transport import LARGEST_ANSWER, Service, Transport
from redargue.sanitize import shortened
from redargue.service.guard import left, unless
from redargue.service.problems import openai_error
from redargue.service.proxy.dialect import compact_json, data_event

Headers = Sequence[tuple[str, str]]


class ProxyReply:
    """The response to one client, sent piece by piece."""

    def __init__(self, send: Send) -> None:
        self._send, self.started, self.is_stream = send, False, False

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        kinds = [value for name, value in headers if name == "content-type"]
        self.is_stream = any(kind.startswith("text/event-stream") for kind in kinds)
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


Serve = Callable[[ProxyReply], Coroutine[Any, Any, None]]


class ProxyExchange(Response):
    """A response that ``serve`` writes; when the client leaves, ``serve`` is cancelled, and its request upstream.

    When the service closes, a client whose answer has not begun is asked to come back, and a stream ends with an error.
    """

    def __init__(
        self, serve: Callable[[ProxyReply], Coroutine[Any, Any, None]], *, closing: asyncio.Event | None = None
    ) -> None:
        super().__init__()
        self._serve, self._closing = serve, closing or asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply, closing = ProxyReply(send), self._closing
        if not await unless(self._serve(reply), left(receive), closing.wait()) and closing.is_set():
            await _closed(reply)


async def _closed(reply: ProxyReply) -> None:
    message, kind, code = "the service is closing", "server_error", "closing"
    if not reply.started:
        await refuse(reply, 503, message, kind=kind, code=code, headers={"retry-after": "5"})
    elif reply.is_stream:
        await reply.send(data_event(openai_error(message, kind=kind, code=code)))
        await reply.end()


async def refuse(
    reply: ProxyReply,
    status: int,
    message: str,
    *,
    kind: str,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
    verdicts: Mapping[str, Any] | None = None,
) -> None:
    """Sends an error of OpenAI's shape, with the ``verdicts`` on a withheld answer as a message has them."""
    error = openai_error(message, kind=kind, code=code, param=param)
    error["error"] |= {"redargue": verdicts} if verdicts else {}
    body = compact_json(error).encode()
    await reply.whole(status, [("content-type", "application/json"), *(headers or {}).items()], body)


OUR_KEYS = "rdg_"  # prefix of the keys of this service, which no upstream may see
_FORWARDED = ("accept", "content-type", "idempotency-key", "traceparent", "tracestate", "user-agent")
_FORWARDED_PREFIXES = ("openai-", "x-stainless-", "x-client-request-id")
_OF_A_KEY = ("openai-organization", "openai-project", "idempotency-key")  # name things of a client's own account
_RETURNED = frozenset(
    (
        "content-type content-language cache-control retry-after retry-after-ms x-should-retry x-accel-buffering"
        " www-authenticate request-id x-request-id apim-request-id x-ms-request-id x-ms-region cf-ray"
    ).split()
)
_RETURNED_PREFIXES = ("ratelimit", "x-ratelimit-", "openai-processing-", "openai-version", "openai-model")
_LONGEST_HEADER = 1_000  # characters


@dataclass(frozen=True)
class Upstream:
    """The API behind the proxy.

    With a key of the operator's, every request uses it. Without one, each client's own ``Authorization`` is passed on,
    unless it is a key of this service.
    """

    service: Service
    transport: Transport

    def headers(self, client: Mapping[str, str]) -> dict[str, str]:
        """Those of a request, from a client's, whose names are in lower case."""
        key = self.service.key
        kept = {
            name: value
            for name, value in client.items()
            if (name in _FORWARDED or name.startswith(_FORWARDED_PREFIXES)) and not (key and name in _OF_A_KEY)
        }
        kept |= {"content-type": "application/json", "accept-encoding": "identity"}
        own = client.get("authorization", "")
        if key:
            kept["authorization"] = f"Bearer {key}"
        elif own and OUR_KEYS not in own:
            kept["authorization"] = own
        return kept

    @asynccontextmanager
    async def open(
        self, path: str, body: bytes, client: Mapping[str, str], *, method: str = "POST"
    ) -> AsyncIterator[httpx2.Response]:
        """Sends a request; raises ProviderError where nothing answers."""
        answer = self.transport.relay(self.service, method, path, headers=self.headers(client), content=body)
        async with self.transport, answer as response:
            yield response

    async def body(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """The body as it arrives, without the operator's key; a piece that may end within it waits for the next."""
        key, rest = self._hidden_key, ""
        async for piece in pieces(response, LARGEST_ANSWER):
            if not key:
                yield piece
                continue
            text = self._own.hide(rest + piece.decode("latin-1"))
            kept = len(text) - _begun(key, text)
            rest = text[kept:]
            if kept:
                yield text[:kept].encode("latin-1")
        if rest:
            yield rest.encode("latin-1")

    async def whole(self, response: httpx2.Response) -> bytes:
        """The body without the operator's key; that of an error without any of their keys."""
        body = (await read_bounded(response, LARGEST_ANSWER)).decode("utf-8", "surrogateescape")
        secrets = self.transport.secrets if response.status_code >= 400 else self._own
        return secrets.hide(body).encode("utf-8", "surrogateescape")

    @cached_property
    def _own(self) -> Secrets:
        return Secrets(known=(self.service.key,))

    @cached_property
    def _hidden_key(self) -> str:
        """The key, if it is one: what servers without keys are given ("ollama") is a word of answers, too."""
        return self.service.key if self._own.hide(self.service.key) != self.service.key else ""

    def returned(self, response: httpx2.Response) -> Headers:
        """The headers that a client gets of an upstream's response, without keys and control characters."""
        hop = {name.strip().lower() for name in response.headers.get("connection", "").split(",")}
        headers = [(name.lower(), value) for name, value in response.headers.multi_items()]
        return [
            (name, shortened(self.transport.secrets.hide(value), _LONGEST_HEADER))
            for name, value in headers
            if (name in _RETURNED or name.startswith(_RETURNED_PREFIXES)) and name not in hop
        ]


def _begun(key: str, text: str) -> int:
    """How many characters at the end of a text may be the beginning of the key."""
    return next((count for count in range(len(key) - 1, 0, -1) if text.endswith(key[:count])), 0)


def is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"
