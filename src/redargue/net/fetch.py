"""Fetches web pages: the only place that opens an address which a user, a text or a page names.

An address is http or https without user name, on port 80 or 443. Its host is resolved once, every resolved address has
to be public, and the connection is made to a resolved address, so that a name which resolves differently a moment later
(DNS rebinding) reaches nothing. Each redirect is checked in the same way. Proxies are not used, because they resolve
names themselves.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

import httpx2

from redargue.errors import ProviderError, UsageError
from redargue.net.secrets import display_url
from redargue.sanitize import page_text, printable


def trusted(*, from_environment: bool = True) -> ssl.SSLContext:
    """What httpx makes for each client, shared; ``from_environment``: ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` hold."""
    places = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")) if from_environment else ()
    return _load(from_environment, places)


@lru_cache(maxsize=8)
def _load(from_environment: bool, places: tuple[str | None, ...]) -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=from_environment)


# Networks that are not of the public internet: the special-purpose registries of IANA (RFC 6890 and its updates),
# which Python's ``is_global`` follows differently from release to release, and the addresses at which clouds answer
# with a machine's credentials.
#
# 100.64.0.0/10: carrier-grade NAT; 168.63.129.16: a public address at which Azure answers its own machines;
# 169.254.0.0/16: link-local, with the metadata services of most clouds; 192.88.99.0/24: relays of 6to4;
# 224.0.0.0/3: multicast, reserved, broadcast.
_NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12"
            " 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16"
            " 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3"
        ).split(),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
# Inside it: protocols, documentation, and tunnels, which deliver to an IPv4 address inside the address.
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")))
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})  # third quarter of an address that contains an IPv4 address


def is_public(address: str) -> bool:
    """Whether a packet to this address leaves for the public internet; False for anything that is not an address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC)
    special = any(parsed in network for network in _NOT_PUBLIC_V6)
    return parsed in _PUBLIC_V6 and not special and int(parsed) >> 32 & 0xFFFFFFFF not in _ISATAP


ACCEPTED = "gzip, deflate"  # the value of Accept-Encoding; httpx2 would unpack others as a whole
_GZIP, _ZLIB = 47, 15  # window bits of zlib


async def read_bounded(response: httpx2.Response, limit: int) -> bytes:
    """The body of a streamed response; raises httpx2.ReadError like :func:`pieces`."""
    return b"".join([piece async for piece in pieces(response, limit)])


async def pieces(response: httpx2.Response, limit: int) -> AsyncIterator[bytes]:
    """The body of a streamed response as it arrives, decompressed piece by piece: half a megabyte can hold a gigabyte.

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


HTTP_ERRORS = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, UnicodeError)  # of a request
REDIRECTS = 3
LARGEST_PAGE = 2_000_000  # bytes, decompressed
TIMEOUT = 10.0  # seconds for a page with its redirects
PORTS = (80, 443)
ALLOW = "REDARGUE_FETCH_ALLOW"  # HOST:PORT …, which may be private: a wiki of the user's organisation

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"User-Agent": f"redargue/{version('redargue')}", "Accept": "*/*", "Accept-Encoding": ACCEPTED}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host name; OSError if it has none."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A fetched page; ``url`` is its address after redirects, ``content_type`` has no parameters."""

    url: str
    content_type: str
    charset: str
    content: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return page_text(self.content, self.charset)


class DeadLink(ProviderError):
    """There is no page at an address: its host is unknown, or answers that there is none."""


class PageFetcher:
    """Fetches pages one by one or concurrently; keeps no connection, cookie or referrer.

    Args:
        allow: ``HOST:PORT`` that may be private or on another port. A page elsewhere cannot redirect to them.
        offline: refuse every page.
        resolve: the addresses of a host name.
        transport: sends requests to the resolved addresses.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        offline: bool = False,
        resolve: Resolve | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._allowed = frozenset(origin.strip().lower() for origin in allow)
        self._offline, self._resolve, self._transport = offline, resolve or _resolve, transport

    @classmethod
    def from_environment(cls, *, offline: bool = False, environment: Mapping[str, str] | None = None) -> PageFetcher:
        variables = os.environ if environment is None else environment
        return cls(allow=variables.get(ALLOW, "").replace(",", " ").split(), offline=offline)

    async def fetch(self, url: str) -> Page:
        """Fetches a page of at most 2 MB, within 10 s and over at most 3 redirects.

        Raises:
            UsageError: the address, or one that it redirects to, must not be opened; nothing was sent there.
            ProviderError: offline, no answer in time, a status other than 200, or a page that is too large.
        """
        if self._offline:
            what = f"{_shown(url)!r} was not fetched: --offline does not fetch pages"
            raise ProviderError(what, hint="drop --offline, or save the page and give the file")
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._follow(_parsed(url))
        except TimeoutError:
            raise ProviderError(f"{_shown(url)!r} gave no answer in {TIMEOUT:g} s") from None
        except HTTP_ERRORS as error:
            why = printable(str(error), lines=False)[:200] or type(error).__name__
            raise ProviderError(f"{_shown(url)!r} cannot be fetched: {why}") from None

    async def _follow(self, url: httpx2.URL) -> Page:
        allowed = _origin(url) in self._allowed
        for followed in range(REDIRECTS + 1):
            answer = await self._send(url, await self._checked(url, allowed=allowed, redirected=followed > 0))
            if isinstance(answer, Page):
                return answer
            target = _parsed(str(url.join(answer)))
            allowed = allowed and _origin(target) == _origin(url)
            url = target
        raise ProviderError(f"{_shown(str(url))!r} is reached over more than {REDIRECTS} redirects")

    async def _checked(self, url: httpx2.URL, *, allowed: bool, redirected: bool) -> Sequence[str]:
        """The addresses of the URL's host; raises UsageError unless all of them may be contacted."""
        host, port = url.raw_host.decode("ascii"), _port(url)
        shown = _shown(str(url))
        refused = "a page redirects to it, which no setting allows" if redirected else ""
        if port not in PORTS and not allowed:
            hint = refused or f"{ALLOW}={host}:{port} allows it"
            raise UsageError(f"{shown!r} is not fetched: its port is {port}, not 80 or 443", hint=hint)
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            unknown = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME  # not: no network
            failure = DeadLink if unknown else ProviderError
            raise failure(f"{shown!r} cannot be fetched: no address of {host!r} is known ({error})") from None
        private = [address for address in addresses if not is_public(address)]
        if private and not allowed:
            what = f"{shown!r} is not fetched: {private[0]} is not an address of the public internet"
            raise UsageError(what, hint=refused or f"{ALLOW}={host}:{port} allows a server in your own network")
        if not addresses:
            raise ProviderError(f"{shown!r} cannot be fetched: no address of {host!r} is known")
        return addresses

    async def _send(self, url: httpx2.URL, addresses: Sequence[str]) -> Page | str:
        """The page, or the address that it redirects to."""
        host = url.raw_host.decode("ascii")
        name = url.netloc.decode("ascii")
        async with httpx2.AsyncClient(
            transport=self._transport,
            trust_env=False,
            verify=trusted(from_environment=False),
            timeout=None,
            follow_redirects=False,
        ) as client:
            for number, address in enumerate(addresses, 1):
                answer = client.stream(
                    "GET",
                    url.copy_with(host=address.partition("%")[0], fragment=None),
                    headers={**_HEADERS, "Host": name},
                    extensions={"sni_hostname": host},  # TLS checks the certificate of the name, not of the address
                )
                try:
                    async with answer as response:
                        return await _read(url, response)
                except httpx2.ConnectError:
                    if number == len(addresses):
                        raise
        raise ProviderError(f"{_shown(str(url))!r} cannot be reached")


async def _resolve(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _parsed(text: str) -> httpx2.URL:
    if text != printable(text, lines=False) or re.search(r"[\s\\<>\"`{}|^]", text):
        raise UsageError(f"{_shown(text)!r} is not fetched: it contains a character that no address has")
    try:
        url = httpx2.URL(text)
        host = url.raw_host.decode("ascii")
        _port(url)
    except (httpx2.InvalidURL, ValueError):
        raise UsageError(f"{_shown(text)!r} is not an address") from None
    if url.scheme not in ("http", "https") or not host or not text.lower().startswith(f"{url.scheme}://"):
        raise UsageError(f"{_shown(text)!r} is not fetched: not an address with http:// or https:// and a host")
    authority = re.split(r"[/?#]", text.partition("://")[2], maxsplit=1)[0]
    if "@" in authority:
        raise UsageError(f"{_shown(text)!r} is not fetched: it contains a user name")
    # neither a zone nor digits of another script
    if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:%]+)(:[0-9]{1,5})?", authority):
        raise UsageError(f"{_shown(text)!r} is not fetched: {printable(authority)[:100]!r} is not a host and a port")
    return url


def _port(url: httpx2.URL) -> int:
    return (443 if url.scheme == "https" else 80) if url.port is None else url.port


def _origin(url: httpx2.URL) -> str:
    return f"{url.raw_host.decode('ascii')}:{_port(url)}".lower()


def _shown(url: str) -> str:
    """The address without user name and query, for errors."""
    return printable(display_url(url), lines=False)[:200]


async def _read(url: httpx2.URL, response: httpx2.Response) -> Page | str:
    shown = _shown(str(url))
    if response.status_code in _REDIRECTS and (target := response.headers.get("location")):
        return str(target)
    if response.status_code != 200:
        failure = DeadLink if response.status_code in (404, 410) else ProviderError
        raise failure(f"{shown!r} answered with status {response.status_code}")
    content = await read_bounded(response, LARGEST_PAGE)
    kind, _, parameters = response.headers.get("content-type", "").partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    return Page(url=str(url), content_type=kind.strip().lower(), charset=charset[1] if charset else "", content=content)
