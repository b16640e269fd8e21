"""An MCP server at a web address, over the SDK's streamable HTTP transport."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from redargue.net.secrets import display_url
from redargue.net.transport import LARGEST_ANSWER

TIMEOUT, START = 60.0, 30.0  # seconds for a call, and for a server to start
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class Address:
    """A server at a web address (streamable HTTP); ``token`` is sent as a bearer token if it is not empty."""

    url: str = field(repr=False)
    token: str = field(default="", repr=False)
    timeout: float = TIMEOUT

    @property
    def place(self) -> str:
        return display_url(self.url)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """The SDK's two streams of messages; answers are bounded, and redirects stay on the server's origin."""
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Accept-Encoding": "identity"}  # a few compressed bytes can expand beyond the bound
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(START, read=self.timeout + START),
            headers=headers,
            mounts={f"all://{host}": None for host in LOOPBACK},  # without a proxy
            event_hooks={"response": [_bound]},
        )
        async with (
            client,
            streamable_http_client(self.url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
        ):
            yield streams

    def last_words(self) -> str:
        return ""


async def _bound(response: httpx2.Response) -> None:
    """Bounds a JSON answer, which the SDK reads as a whole; it bounds events itself. Refuses compressed answers."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        await response.aclose()
        raise httpx2.StreamError("the answer is compressed, which was not asked for; it was discarded")
    if "json" in response.headers.get("content-type", ""):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > LARGEST_ANSWER:
                raise httpx2.StreamError(f"the answer is larger than {LARGEST_ANSWER:,} bytes; it was discarded")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
