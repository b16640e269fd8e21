"""Which addresses from documents may become links."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from redargue.sanitize import printable


def web_address(url: str) -> str | None:
    """The address if it may be a link: http or https, with a host, no user name and no unusual character; else None."""
    address = url.strip()
    if (
        address != printable(address, lines=False)
        or re.search(r"[\s<>\"'\\`{}|^]", address)
        or not re.match(r"https?://", address, re.IGNORECASE)
    ):
        return None
    try:
        parts = urlsplit(address)
        return address if parts.hostname and parts.username is None and parts.password is None else None
    except ValueError:
        return None
