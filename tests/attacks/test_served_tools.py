"""Tool servers that redargue offers over HTTP: who may call them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redargue.assembly import sources
from redargue.errors import UsageError
from redargue.retrieval.mcp.serving import _Guard, build_tool_server, serve_http

ADDRESS, TOKEN = "http://127.0.0.1:8080", "token-of-this-server"


def status(token: str, **headers: str) -> int:
    """What a request is answered with; 200 if it reaches the server."""
    answered: list[int] = []

    async def server(scope: Any, receive: Any, send: Any) -> None:
        answered.append(200)

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answered.append(message["status"])

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "headers": raw}
    asyncio.run(_Guard(server, ADDRESS, token)(scope, None, send))
    (code,) = answered
    return code


ORIGINS = (
    *(
        "http://localhost:3000",
        "http://127.0.0.1:3000",
        "http://127.0.0.1",
        "http://localhost:8080",
        "https://evil.example",
    ),
    *("null", "", "http://127.0.0.1:8080.evil.example", "http://127.0.0.1:80800", "https://127.0.0.1:8080", "file://"),
    *(
        "http://[::1]:8080",
        "http://127.0.0.1:8080/",
        "HTTP://127.0.0.1:8080",
        "chrome-extension://a",
        "http://0.0.0.0:8080",
    ),
)
WRONG: tuple[str, ...] = (
    "",
    TOKEN,
    f"Bearer  {TOKEN}",
    f"bearer {TOKEN}",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN}x",
    "Bearer",
    "Bearer ",
)
WRONG += (f"Basic {TOKEN}", f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}, Bearer x")


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_page_of_any_other_origin_reaches_nothing(origin: str, token: str) -> None:
    assert status(token, origin=origin, authorization=f"Bearer {TOKEN}") == 403


@pytest.mark.parametrize("sent", WRONG)
def test_a_request_without_the_token_reaches_nothing(sent: str) -> None:
    assert status(TOKEN, authorization=sent) == 401


def test_the_token_and_the_users_choice_let_a_client_in() -> None:
    assert status(TOKEN, authorization=f"Bearer {TOKEN}") == 200
    assert status(TOKEN) == 401
    assert status("") == 200
    assert status("", origin=ADDRESS) == 200


DIGITS: tuple[str, ...] = (
    "127.0.0.1:٨٠٨٠",
    "127.0.0.1:８０８０",
    "127.0.0.1:²",
    "127.0.0.1:-1",
    "127.0.0.1:+80",
    "127.0.0.1: 80",
)
DIGITS += ("127.0.0.1:80_80", "127.0.0.1:70000", "127.0.0.1:", "127.0.0.1:1e3")
ELSEWHERE = ("0.0.0.0:80", ":80", "[::]:80", "10.0.0.1:80", "127.1:80")


@pytest.mark.parametrize("place", DIGITS + ELSEWHERE)
def test_no_other_address_and_no_other_digits_are_served(place: str) -> None:
    with pytest.raises(UsageError, match="not an address on this machine"):
        serve_http(build_tool_server("papers", sources(offline=True)), place, TOKEN, print)
