"""Addresses that a text or a page names to reach what only this machine reaches: not one request leaves."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest

from redargue.errors import ProviderError, UsageError
from redargue.net.fetch import LARGEST_PAGE, Page, PageFetcher, is_public
from support.loopback import Loopback

PUBLIC = "93.184.215.14"
INSIDE = {  # addresses that no page may be fetched from
    "this network": "0.0.0.0",
    "private": "10.0.0.1",
    "private 10, last": "10.255.255.254",
    "private 172": "172.16.0.1",
    "private 172, last": "172.31.255.254",
    "private 192": "192.168.1.1",
    "carrier-grade NAT": "100.64.0.1",
    "Alibaba's metadata": "100.100.100.200",
    "loopback": "127.0.0.1",
    "loopback, other": "127.8.9.10",
    "link-local": "169.254.1.1",
    "metadata of AWS, Google, Azure": "169.254.169.254",
    "metadata of ECS tasks": "169.254.170.2",
    "Azure's wire server": "168.63.129.16",
    "Oracle's metadata": "192.0.0.192",
    "protocol assignments": "192.0.0.9",
    "documentation 1": "192.0.2.1",
    "documentation 2": "198.51.100.1",
    "documentation 3": "203.0.113.1",
    "6to4 relay": "192.88.99.1",
    "benchmarking": "198.18.0.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "IPv6 loopback": "::1",
    "IPv6 unspecified": "::",
    "IPv4-mapped loopback": "::ffff:127.0.0.1",
    "IPv4-mapped metadata": "::ffff:a9fe:a9fe",
    "IPv4-mapped public": "::ffff:93.184.215.14",
    "IPv4-compatible": "::127.0.0.1",
    "IPv4-translated": "::ffff:0:127.0.0.1",
    "NAT64 loopback": "64:ff9b::7f00:1",
    "NAT64 metadata": "64:ff9b::a9fe:a9fe",
    "NAT64 local": "64:ff9b:1::a9fe:a9fe",
    "6to4 loopback": "2002:7f00:1::",
    "6to4 metadata": "2002:a9fe:a9fe::1",
    "Teredo": "2001:0:7f00:1::",
    "ISATAP private": "2a00:1450::5efe:10.0.0.1",
    "ISATAP global": "2a00:1450::200:5efe:169.254.169.254",
    "unique local": "fc00::1",
    "unique local, AWS's metadata": "fd00:ec2::254",
    "link-local IPv6": "fe80::1",
    "link-local IPv6 with a zone": "fe80::1%eth0",
    "site-local": "fec0::1",
    "multicast IPv6": "ff02::1",
    "discard": "100::1",
    "documentation IPv6": "2001:db8::1",
    "documentation IPv6, new": "3fff::1",
    "segment routing": "5f00::1",
    "ORCHID": "2001:10::1",
}
NUMERIC = {  # spellings of an address that a resolver reads
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "017700000001",
    "octal part": "0177.0.0.1",
    "hexadecimal part": "0x7f.0.0.1",
    "two parts": "127.1",
    "three parts": "127.0.1",
    "decimal metadata": "2852039166",
    "hexadecimal metadata": "0xA9FEA9FE",
    "mixed metadata": "0251.0xfe.43518",
    "zero": "0",
    "localhost": "localhost",
    "localhost with a full stop": "localhost.",
    "upper case": "LOCALHOST",
    "full-width full stops": "127。0。0。1",
}
MALFORMED = {  # addresses that no page has
    "file": "file:///etc/passwd",
    "file with a host": "file://localhost/etc/passwd",
    "gopher": "gopher://127.0.0.1:6379/_INFO",
    "dict": "dict://127.0.0.1:11211/stat",
    "ftp": "ftp://example.org/a",
    "data": "data:text/html,hello",
    "javascript": "javascript:alert(1)",
    "jar": "jar:http://example.org!/",
    "ldap": "ldap://example.org",
    "no scheme": "//127.0.0.1/",
    "no host": "http:///etc/passwd",
    "one slash": "http:/127.0.0.1/",
    "user name": "http://example.org@127.0.0.1/",
    "user name, public": "http://127.0.0.1@example.org/",
    "user and password": "https://a:b@example.org/",
    "empty user": "http://@example.org/",
    "back slash": "http://example.org\\@127.0.0.1/",
    "back slash for a slash": "http:\\\\127.0.0.1\\",
    "line break": "http://example.org/\r\nHost: 127.0.0.1",
    "tab": "http://exa\tmple.org/",
    "space": "http://example.org /",
    "NUL": "http://example.org\0.evil.org/",
    "zero-width space": "http://127.0.0\u200b.1/",
    "digits in circles": "http://①②⑦.⓪.⓪.①/",
    "port of ssh": "http://example.org:22/",
    "port of mail": "http://example.org:25/",
    "port of redis": "http://example.org:6379/",
    "port zero": "http://example.org:0/",
    "port too large": "http://example.org:65616/",
    "negative port": "http://example.org:-80/",
    "digits of another script": "http://example.org:٨٠/",
    "empty": "",
    "a word": "localhost",
    "only a scheme": "http://",
    "brackets left open": "http://[::1/",
    "a surrogate": "http://example.org/\ud800",
}


class Net(httpx2.AsyncBaseTransport):
    """Answers every request, and keeps the addresses that were contacted."""

    def __init__(self, *answers: httpx2.Response) -> None:
        self.contacted: list[str] = []
        self.hosts: list[str] = []
        self._answers = list(answers)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.contacted.append(request.url.host)
        self.hosts.append(request.headers["host"])
        return self._answers.pop(0) if self._answers else httpx2.Response(200, stream=Body(b"secret"))


def names(**known: str | Sequence[str]) -> tuple[object, list[str]]:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        name = host.strip("[]").rstrip(".").partition(".")[0]
        found = known.get(name, PUBLIC)
        return (found,) if isinstance(found, str) else tuple(found)

    return resolve, asked


def fetch(url: str, net: Net, **known: str | Sequence[str]) -> Page:
    resolve, _ = names(**known)
    return asyncio.run(PageFetcher(resolve=resolve, transport=net).fetch(url))  # type: ignore[arg-type]


def redirect(target: str, status: int = 302) -> httpx2.Response:
    return httpx2.Response(status, headers={"location": target})


def test_there_are_more_than_eighty_cases() -> None:
    # Each inside address as a URL, behind a name, beside a public address, behind a redirect, and at a new resolution.
    assert 4 * len(INSIDE) + len(NUMERIC) + len(MALFORMED) >= 80


@pytest.mark.parametrize("address", INSIDE.values(), ids=INSIDE)
def test_an_address_inside_is_refused_as_a_url_behind_a_name_beside_a_public_one_and_behind_a_redirect(
    address: str,
) -> None:
    assert not is_public(address)
    literal = f"[{address.replace('%', '%25')}]" if ":" in address else address
    direct, named, beside, redirected = Net(), Net(), Net(), Net(redirect("https://inside.example/"))
    with pytest.raises(UsageError):
        asyncio.run(PageFetcher(transport=direct).fetch(f"http://{literal}/"))
    with pytest.raises(UsageError, match="is not fetched"):
        fetch("http://inside.example/", named, inside=address)
    with pytest.raises(UsageError, match="is not fetched"):
        fetch("http://inside.example/", beside, inside=(PUBLIC, address))
    with pytest.raises(UsageError, match="is not fetched"):
        fetch("https://outside.example/", redirected, inside=address)
    assert direct.contacted == named.contacted == beside.contacted == []
    assert redirected.contacted == [PUBLIC]


@pytest.mark.parametrize("host", NUMERIC.values(), ids=NUMERIC)
def test_a_number_that_a_resolver_reads_as_an_address_is_refused(host: str) -> None:
    net = Net()
    with pytest.raises((UsageError, ProviderError)):
        asyncio.run(PageFetcher(transport=net).fetch(f"http://{host}/latest/meta-data/"))
    assert net.contacted == []


@pytest.mark.parametrize("url", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_the_address_of_a_page_is_refused(url: str) -> None:
    direct = Net()
    with pytest.raises(UsageError):
        fetch(url, direct)
    assert direct.contacted == []
    if "://" in url and url.isascii() and url.isprintable() and url != MALFORMED["empty user"]:  # which is dropped
        redirected = Net(redirect(url))
        with pytest.raises((UsageError, ProviderError)):
            fetch("https://outside.example/", redirected)
        assert redirected.contacted == [PUBLIC]


def test_a_name_that_resolves_differently_the_second_time_reaches_nothing_inside() -> None:
    answers = [(PUBLIC,), ("127.0.0.1",), ("127.0.0.1",)]
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers.pop(0)

    net = Net()
    page = asyncio.run(PageFetcher(resolve=rebinding, transport=net).fetch("http://rebinding.example/a?b=c#d"))
    assert page.text == "secret"
    assert (asked, net.contacted, net.hosts) == (["rebinding.example"], [PUBLIC], ["rebinding.example"])
    again = Net(redirect("http://rebinding.example/b"))  # each redirect is resolved and checked again
    answers[:] = [(PUBLIC,), ("127.0.0.1",)]
    with pytest.raises(UsageError):
        asyncio.run(PageFetcher(resolve=rebinding, transport=again).fetch("http://rebinding.example/"))
    assert again.contacted == [PUBLIC]


def test_three_redirects_are_followed_and_four_are_not() -> None:
    hops = [redirect(f"/{number}", status) for number, status in enumerate((301, 302, 303, 307, 308))]
    net = Net(*hops[:3])
    assert fetch("https://outside.example/", net).url == "https://outside.example/2"
    net = Net(*hops[:4])
    with pytest.raises(ProviderError, match="more than 3 redirects"):
        fetch("https://outside.example/", net)
    assert len(net.contacted) == 4


class Body(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self.content, self.sent = content, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), 4096):
            part = self.content[start : start + 4096]
            self.sent += len(part)
            yield part


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("", b"a" * 2_100_000),
        ("gzip", gzip.compress(b"a" * 50_000_000, 1)),
        ("deflate", zlib.compress(b"a" * 50_000_000)),
        ("br", b"\x8b\x02"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"a" * 50_000_000))),
    ],
    ids=["plain", "gzip bomb", "deflate bomb", "another compression", "twice"],
)
def test_a_page_of_more_than_two_megabytes_is_not_read_on(encoding: str, packed: bytes) -> None:
    body = Body(packed)
    headers = {"content-encoding": encoding} if encoding else {}
    net = Net(httpx2.Response(200, headers=headers, stream=body))
    with pytest.raises(ProviderError, match=r"larger than 2,000,000 bytes|which was not asked for"):
        fetch("https://outside.example/", net)
    assert body.sent <= LARGEST_PAGE + 65_536


def test_a_compressed_page_in_its_own_charset_is_read() -> None:
    content = gzip.compress('<meta charset="iso-8859-1"><p>Café'.encode("latin-1"))
    net = Net(
        httpx2.Response(200, headers={"content-encoding": "gzip", "content-type": "text/html"}, stream=Body(content))
    )
    page = fetch("https://outside.example/", net)
    assert page.text.endswith("Café")
    assert page.content_type == "text/html"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("<p>“It’s ours” – Café", ""),
        ("<p>“It’s ours” – Café".encode("cp1252"), "ISO-8859-1"),
        ('<meta charset="latin1"><p>“It’s ours” – Café'.encode("cp1252"), ""),
        ("<p>“It’s ours” – Café".encode("cp1252"), ""),
        ("<p>“It’s ours” – Café".encode("utf-8-sig"), "iso-8859-1"),
        ("<p>“It’s ours” – Café".encode("utf-16"), ""),
        ("<p>镕 “It’s ours” – Café".encode("gb18030"), "gb2312"),
        ("<p>“It’s ours” – Café", "rot13"),
    ],
    ids=["nothing", "header", "meta", "ANSI", "mark before header", "UTF-16", "GBK", "no text codec"],
)
def test_a_page_is_decoded_as_browsers_decode_it(content: str | bytes, named: str) -> None:
    raw = content.encode() if isinstance(content, str) else content
    page = Page(url="https://outside.example/", content_type="text/html", charset=named, content=raw)
    assert page.text.endswith("“It’s ours” – Café")


def test_a_private_server_is_fetched_from_only_where_the_user_allows_it_and_never_after_a_redirect() -> None:
    with Loopback() as server:
        origin = server.url.removeprefix("http://")
        fetcher = PageFetcher.from_environment(environment={"REDARGUE_FETCH_ALLOW": f"{origin}, wiki.example:8443"})
        with pytest.raises(ProviderError, match="status 404"):  # it was reached
            asyncio.run(fetcher.fetch(f"{server.url}/nothing"))
        net = Net(redirect(f"{server.url}/nothing"))
        resolve, _ = names()
        outside = PageFetcher(allow=[origin], resolve=resolve, transport=net)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="no setting allows"):  # and not how to allow it
            asyncio.run(outside.fetch("https://outside.example/"))
        with pytest.raises(UsageError):
            asyncio.run(PageFetcher().fetch(f"{server.url}/nothing"))


def test_offline_fetches_nothing() -> None:
    net = Net()
    with pytest.raises(ProviderError, match="--offline"):
        asyncio.run(PageFetcher(offline=True, transport=net).fetch("https://outside.example/"))
    assert net.contacted == []


def test_a_server_that_sends_a_byte_a_second_is_left_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b"a"
                await asyncio.sleep(0.01)

    monkeypatch.setattr("redargue.net.fetch.TIMEOUT", 0.1)
    with pytest.raises(ProviderError, match="gave no answer"):
        fetch("https://outside.example/", Net(httpx2.Response(200, stream=Slow())))
