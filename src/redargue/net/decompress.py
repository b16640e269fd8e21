"""Decompresses an HTTP body piece by piece, up to a limit: half a megabyte can hold a gigabyte."""

from __future__ import annotations

import zlib

import httpx2

ACCEPTED = "gzip, deflate"  # the value of Accept-Encoding; httpx2 would unpack others as a whole
_GZIP, _ZLIB = 47, 15  # window bits of zlib


async def read_bounded(response: httpx2.Response, limit: int) -> bytes:
    """The body of a streamed response.

    Raises httpx2.ReadError if it is larger than ``limit`` bytes, damaged, or compressed in a way not asked for.
    """
    if response.is_stream_consumed:  # a transport that answers from memory
        content = response.content
        if len(content) > limit:
            raise httpx2.ReadError(f"the answer is larger than {limit:,} bytes")
        return content
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise httpx2.ReadError(f"the answer is compressed as {encoding[:40]!r}, which was not asked for")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(_GZIP if "gzip" in encoding else _ZLIB)
    parts: list[bytes] = []
    size = 0
    async for raw in response.aiter_raw(65_536):
        try:
            part = unpack.decompress(raw, limit + 1 - size) if unpack else raw
        except zlib.error as error:
            raise httpx2.ReadError(f"the answer is damaged: {error}") from None
        size += len(part)
        if size > limit:
            raise httpx2.ReadError(f"the answer is larger than {limit:,} bytes")
        parts.append(part)
    return b"".join(parts)
