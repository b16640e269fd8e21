"""SearXNG as a source of evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import httpx2
import pytest

from redargue.cli.app import run
from redargue.cli.options import live_tool
from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.services import limiter, services
from redargue.net.transport import Limiter, Transport
from redargue.retrieval.tools import Search, Sources
from redargue.retrieval.tools.web import SearxngTool
from support.loopback import Behaviour, Loopback

pytestmark = pytest.mark.anyio
QUERY = "Who built Skarrow Bridge?"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def made(url: str, transport: Transport) -> SearxngTool:
    available = services(environment={"REDARGUE_SEARXNG_URL": url})
    return SearxngTool.make(Sources(corpus=lambda: None, transport=transport, services=available))  # type: ignore[arg-type,return-value]


async def ask(
    to: Loopback | str | dict[str, Any], query: str = QUERY, k: int = 3, *, as_of: date | None = None
) -> tuple[Passage, ...]:
    """Searches on the server, or where every answer is that body."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = f"{to.url}/searxng"
    else:
        body = to if isinstance(to, str) else json.dumps(to)
        inner = httpx2.MockTransport(lambda request: httpx2.Response(200, content=body))
    async with Transport(patience=0, inner=inner) as transport:
        return await made(url, transport).search(query, k, search=Search(as_of=as_of))


async def test_the_request_is_the_documented_one_and_has_no_key(server: Loopback) -> None:
    await ask(server)
    (request,) = server.requests
    assert request.path == "/searxng/search"
    assert request.body == {"q": QUERY, "format": "json"}
    assert "authorization" not in request.headers


async def test_passages_come_in_the_instances_order_with_their_source(server: Loopback) -> None:
    first, second, third = await ask(server)
    assert [first.rank, second.rank, third.rank] == [1, 2, 3]
    assert first.title == "Skarrow Bridge"
    assert first.text.startswith("Skarrow Bridge is a stone bridge over the Velt")
    assert first.document == first.url == "https://wiki.example/wiki/Skarrow_Bridge"
    assert (first.publisher, first.score, first.tool) == ("wiki.example", 4.0, "searxng")


async def test_pages_that_are_dated_later_than_the_day_are_left_out(server: Loopback) -> None:
    urls = [each.url for each in await ask(server, "electric ferry of Quillhaven", 9, as_of=date(2021, 3, 3))]
    assert "https://courier.example/2021/03/ferry" in urls
    assert "https://courier.example/2022/11/ferry-stays" not in urls


async def test_an_instance_without_json_is_refused_with_the_setting_that_allows_it(server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={"searxng": 403})
    with pytest.raises(ToolFailed, match="searxng answered 403") as caught:
        await ask(server)
    assert "settings.yml" in caught.value.hint
    assert "formats: [html, json]" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "hint"), [(429, "limiter.toml"), (404, "REDARGUE_SEARXNG_URL"), (500, "later"), (301, "_SEARXNG_URL")]
)
async def test_other_refusals_say_what_to_do(server: Loopback, status: int, hint: str) -> None:
    server.behaviour = Behaviour(statuses={"searxng": status}, retry_after="9999")
    with pytest.raises(ToolFailed, match=f"searxng answered {status}") as caught:
        await ask(server)
    assert hint in caught.value.hint


async def test_nothing_found_is_empty_and_engines_that_did_not_answer_are_a_failure(server: Loopback) -> None:
    assert await ask(server, "xyzzy") == ()
    with pytest.raises(ToolFailed, match=r"google \(access denied\), qwant \(timeout\)"):
        await ask(server, "engines down")


@pytest.mark.parametrize(
    "body", ["<html>a page</html>", "[]", "{}", {"results": None}, {"results": {"url": "https://a.example"}}]
)
async def test_what_is_no_answer_of_that_interface_is_a_failure(body: str | dict[str, Any]) -> None:
    with pytest.raises(ToolFailed):
        await ask(body)


async def test_results_are_cleaned_and_no_odd_field_fails() -> None:
    odd = {"url": "javascript:alert(1)", "title": 7, "content": "A <b>stone</b>\x07 bridge.", "score": "NaN"}
    results = [odd, {"url": "https://a.example"}, "text", {"content": None, "publishedDate": 5}]
    (passage,) = await ask({"results": results})
    assert (passage.text, passage.url, passage.title, passage.score) == ("A stone bridge.", "", "", None)


async def test_without_an_address_the_tool_says_which_variable_names_it() -> None:
    with pytest.raises(UsageError, match="'searxng' has no address") as caught:
        made("", Transport())
    assert "REDARGUE_SEARXNG_URL" in caught.value.hint


def test_its_rate_is_limited_and_can_be_changed() -> None:
    slower: Limiter = limiter({"REDARGUE_SEARXNG_REQUESTS_PER_MINUTE": "7"})
    assert limiter({}).rates["searxng"].requests_per_minute == 60
    assert slower.rates["searxng"].requests_per_minute == 7


def test_an_address_makes_it_the_live_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_SEARXNG_URL", "http://127.0.0.1:8080")
    assert live_tool(offline=False) == "searxng"
    assert live_tool(offline=True) == "keywords"


def test_a_wrong_address_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("REDARGUE_SEARXNG_URL", "localhost:8080")
    assert run(["check", "Bees are insects.", "--tool", "searxng", "--no-record"]) == 2
    said = capfd.readouterr().err
    assert "REDARGUE_SEARXNG_URL" in said
    assert "'localhost:8080' is not an address" in said
