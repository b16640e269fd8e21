"""Decompresses an HTTP body piece by piece, up to a limit: half a megabyte can hold a gigabyte."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

import httpx2

ACCEPTED = "gzip, deflate"  # the value of Accept-Encoding; httpx2 would unpack others as a whole
_GZIP, _ZLIB = 47, 15  # window bits of zlib


async def read_bounded(response: httpx2.Response, limit: int) -> bytes:
    """The body of a streamed response; raises httpx2.ReadError like :func:`pieces`."""
    return b"".join([piece async for piece in pieces(response, limit)])


async def pieces(response: httpx2.Response, limit: int) -> AsyncIterator[bytes]:
    """The body of a streamed response as it arrives.

    Raises httpx2.ReadError if it is larger than ``limit`` bytes, damaged, or compressed in a way not asked for.
    """
    too_large = f"the answer is larger than {limit:,} bytes"
    if response.is_stream_consumed:  # a transport that answers from memory
        if len(response.content) > limit:
            raise httpx2.ReadError(too_large)
        yield response.content
        return
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise httpx2.ReadError(f"the answer is compressed as {encoding[:40]!r}, which was not asked for")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(_GZIP if "gzip" in encoding else _ZLIB)
    size = 0
    async for raw in response.aiter_raw():
        try:
            piece = unpack.decompress(raw, limit + 1 - size) if unpack else raw
        except zlib.error as error:
            raise httpx2.ReadError(f"the answer is damaged: {error}") from None
        size += len(piece)
        if size > limit:
            raise httpx2.ReadError(too_large)
        yield piece
