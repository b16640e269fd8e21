"""The certificates that an HTTPS client trusts: reading them takes some 30 ms, so a process reads them once."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

import httpx2


def trusted(*, from_environment: bool = True) -> ssl.SSLContext:
    """What httpx makes for each client, shared; ``from_environment``: ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` hold."""
    places = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")) if from_environment else ()
    return _read(from_environment, places)


@lru_cache(maxsize=8)
def _read(from_environment: bool, places: tuple[str | None, ...]) -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=from_environment)
