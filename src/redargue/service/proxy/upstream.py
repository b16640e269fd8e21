"""Requests to the upstream: which headers pass, and whose key is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from redargue.net.decompress import pieces
from redargue.net.transport import LARGEST_ANSWER, Transport
from redargue.service.proxy.exchange import Headers
from redargue.service.proxy.settings import ProxySettings, hidden

OUR_KEYS = "rdg_"  # prefix of the keys of this service, which no upstream may see
_FORWARDED = ("accept", "content-type", "idempotency-key", "traceparent", "tracestate", "user-agent")
_FORWARDED_PREFIXES = ("openai-", "x-stainless-", "x-client-request-id")
_OF_A_KEY = ("openai-organization", "openai-project")  # which of a key's accounts pays
_NOT_RETURNED = frozenset(
    (
        "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade"
        " content-length content-encoding content-md5 digest etag server date set-cookie location alt-svc"
        " strict-transport-security"
    ).split()
)
_NOT_RETURNED_PREFIXES = ("access-control-", "x-redargue-")  # the service says itself which pages may read what


@dataclass(frozen=True)
class Upstream:
    """The API behind the proxy.

    With a key of the operator's, every request uses it. Without one, each client's own ``Authorization`` is passed on,
    unless it is a key of this service.
    """

    settings: ProxySettings
    transport: Transport
    key: str = ""

    def headers(self, client: Mapping[str, str]) -> dict[str, str]:
        """Those of a request, from a client's, whose names are in lower case."""
        kept = {
            name: value for name, value in client.items() if name in _FORWARDED or name.startswith(_FORWARDED_PREFIXES)
        }
        kept |= {"content-type": "application/json", "accept-encoding": "identity"}
        own = client.get("authorization", "")
        if self.key:
            kept = {name: value for name, value in kept.items() if name not in _OF_A_KEY}
            kept["authorization"] = f"Bearer {self.key}"
        elif own and OUR_KEYS not in own:
            kept["authorization"] = own
        return kept

    @asynccontextmanager
    async def open(
        self, path: str, body: bytes, client: Mapping[str, str], *, method: str = "POST"
    ) -> AsyncIterator[httpx2.Response]:
        """Sends a request; raises ProviderError where nothing answers."""
        service = self.settings.service(self.key)
        async with (
            self.transport,
            self.transport.relay(service, method, path, headers=self.headers(client), content=body) as response,
        ):
            yield response

    def body(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        return pieces(response, LARGEST_ANSWER)

    async def whole(self, response: httpx2.Response) -> bytes:
        """The body; that of an error without the operator's keys."""
        body = b"".join([piece async for piece in self.body(response)])
        return hidden(self.transport.secrets, body) if response.status_code >= 400 else body


def returned(response: httpx2.Response) -> Headers:
    """The headers that a client gets of an upstream's response."""
    hop = {name.strip().lower() for name in response.headers.get("connection", "").split(",")}
    headers = [(name.lower(), value) for name, value in response.headers.multi_items()]
    return [
        (name, value)
        for name, value in headers
        if name not in _NOT_RETURNED | hop and not name.startswith(_NOT_RETURNED_PREFIXES)
    ]


def is_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"
