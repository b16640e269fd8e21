"""Where the body of a request ends: two servers in a row have to agree on it, or one request hides in another."""

from __future__ import annotations

from collections.abc import Iterable

UNCLEAR = "the end of the body is not clear: send either Content-Length or Transfer-Encoding: chunked"


def unclear(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the headers of a request, with names in lower case, have any other coding, or both."""
    pairs = list(headers)
    codings = [value.strip().lower() for name, value in pairs if name == b"transfer-encoding"]
    lengths = [value for name, value in pairs if name == b"content-length"]
    return (bool(codings) and (codings != [b"chunked"] or bool(lengths))) or len(lengths) > 1
