"""The MCP server over standard input and output and over HTTP, in processes of its own, with the official client."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio  # noqa: E402
import httpx2  # noqa: E402
from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

from redargue.service.keys import Keys  # noqa: E402
from support.serving import Service  # noqa: E402

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."
MODES: list[Literal["legacy", "auto"]] = ["legacy", "auto"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(Path(os.environ["REDARGUE_HOME"])) as running:
        yield running


@asynccontextmanager
async def client(service: Service, mode: Literal["legacy", "auto"] = "auto", key: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120, trust_env=False) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=mode) as made,
    ):
        yield made


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content
    return dict(result.structured_content)


@pytest.mark.parametrize("mode", MODES)
async def test_over_standard_input_and_output(mode: Literal["legacy", "auto"]) -> None:
    environment = {name: os.environ[name] for name in ("PATH", "REDARGUE_HOME", "REDARGUE_OFFLINE")}
    arguments = ["-m", "redargue", "mcp", "--store", "starter", "--method", "single-reader", "--offline"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(server, mode=mode) as made:
        assert len((await made.list_tools()).tools) == 6
        answer = await called(made, "verify_claim", claim="Fred Perry was a tennis player.", wait_s=240)
        assert answer["outcome"] == "supported"
        (first, *_) = (await called(made, "search", query="Fred Perry"))["results"]
        assert "tennis" in (await called(made, "fetch", id=first["id"]))["text"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_has_left_finds_its_result_over_http(
    service: Service, mode: Literal["legacy", "auto"]
) -> None:
    service.stop()
    service.start(calls=10)  # a debate that does not end until it may
    async with client(service, mode) as first:
        handle = await called(first, "verify_claim", claim=CLAIM, wait_s=0)
        assert handle["result"] is None
    service.open()
    async with client(service, mode) as second:
        answer = await called(second, "get_check", id=handle["id"], wait_s=120)
    assert (answer["state"], answer["outcome"]) == ("done", "refuted")


async def test_a_host_that_ends_calls_after_50_s_gets_the_result_by_its_id(service: Service) -> None:
    service.stop()
    service.start(calls=10)
    async with client(service) as made:
        with anyio.fail_after(50):  # the server answers after 45 s, as its default says
            handle = await called(made, "verify_claim", claim=CLAIM)
        assert (handle["state"], handle["result"]) == ("running", None)
        service.open()
        answer = await called(made, "get_check", id=handle["id"])
    assert (answer["state"], answer["outcome"]) == ("done", "refuted")


async def test_keys_and_hosts_are_those_of_the_service(service: Service) -> None:
    (_, own), (_, other) = Keys().add("own"), Keys().add("other")
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with service.client() as http:
        assert http.post("/mcp", json=body).status_code == 401
        accept = {"Authorization": f"Bearer {own}", "Accept": "application/json, text/event-stream"}
        assert http.post("/mcp", json=body, headers={**accept, "Host": "evil.example"}).status_code == 400
        assert http.post("/mcp", json=body, headers={**accept, "Origin": "https://evil.example"}).status_code == 403
    async with client(service, key=own) as made:
        answer = await called(made, "verify_claim", claim=CLAIM, wait_s=120)
    async with client(service, key=other) as made:
        result = await made.call_tool("get_check", {"id": answer["id"]})
    assert result.is_error
    assert "no check" in str(result.content)


async def test_the_service_stops_while_a_client_is_connected(service: Service) -> None:
    service.stop()
    service.start(calls=10)
    async with client(service, "legacy") as made:
        await called(made, "verify_claim", claim=CLAIM, wait_s=0)
        assert service.stop() == 0
