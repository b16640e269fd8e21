"""Tavily as a source of evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

import httpx2
import pytest

from redargue.errors import BudgetReached, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.web import TavilyTool
from redargue.runs.budget import Account, Budget
from support.loopback import Behaviour, Loopback

pytestmark = pytest.mark.anyio

KEY = "tvly-0123456789abcdef0123"


def quick(**options: Any) -> Transport:
    """Asks again at once."""
    return Transport(patience=0, **options)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def ask(
    to: Loopback | bytes | dict[str, Any] | str,
    query: str = "Who built Skarrow Bridge?",
    k: int = 3,
    *,
    depth: Literal["basic", "advanced"] = "basic",
    price: float = 0.0,
    seconds: float = 60,
    search: Search | None = None,
) -> tuple[Passage, ...]:
    """Searches on the server, or where every answer is that body."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = f"{to.url}/tavily"
    else:
        body = to if isinstance(to, str | bytes) else json.dumps(to)
        inner = httpx2.MockTransport(lambda request: httpx2.Response(200, content=body))
    service = Service(name="tavily", url=url, key=KEY, timeout=seconds)
    async with quick(inner=inner) as transport:
        tool = TavilyTool(service, transport, price=price, depth=depth)
        return await tool.search(query, k, search=search or Search())


async def test_the_request_is_the_one_the_service_documents(server: Loopback) -> None:
    await ask(server, k=30, depth="advanced", search=Search(as_of=date(2021, 3, 3)))
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "query": "Who built Skarrow Bridge?",
        "search_depth": "advanced",
        "max_results": 20,
        "include_answer": False,
        "end_date": "2021-03-03",
    }


async def test_passages_come_in_the_services_order_with_their_source(server: Loopback) -> None:
    first, second, third = await ask(server)
    assert [first.rank, second.rank, third.rank] == [1, 2, 3]
    assert first.title == "Skarrow Bridge"
    assert first.text.startswith("Skarrow Bridge is a stone bridge over the Velt")
    assert first.document == first.url == "https://wiki.example/wiki/Skarrow_Bridge"
    assert first.publisher == "wiki.example"
    assert first.published == ""
    assert first.score is not None
    assert first.score >= (second.score or 0) > 0
    assert (first.query, first.tool) == ("Who built Skarrow Bridge?", "tavily")


async def test_what_was_published_after_the_day_is_not_asked_for(server: Loopback) -> None:
    query = "electric ferry of Quillhaven"
    urls = [each.url for each in await ask(server, query, 5, search=Search(as_of=date(2021, 3, 3)))]
    assert "https://courier.example/2021/03/ferry" in urls
    assert "https://courier.example/2022/11/ferry-stays" not in urls


async def test_no_results_are_no_error_and_a_blank_query_is_not_sent(server: Loopback) -> None:
    assert await ask(server, "xyzzy") == ()
    assert await ask(server, " \n\ud800 ") == ()
    assert await ask(server, k=0) == ()
    assert server.counts.requests["tavily"] == 1


async def test_a_query_that_is_too_long_is_cut_at_a_word(server: Loopback) -> None:
    await ask(server, "bridge " * 100)
    sent = server.requests[0].body["query"]
    assert len(sent) <= 400
    assert set(sent.split()) == {"bridge"}


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (400, "Bad request", ""),
        (401, "missing or invalid API key", "TAVILY_API_KEY"),
        (403, "Forbidden", "TAVILY_API_KEY"),
        (301, "Status 301", "REDARGUE_TAVILY_URL"),
        (404, "Status 404", "REDARGUE_TAVILY_URL"),
        (429, "excessive requests", "REDARGUE_TAVILY_REQUESTS_PER_MINUTE"),
        (432, "plan's set usage limit", "credits"),
        (433, "pay-as-you-go limit", "raise it"),
        (500, "Internal Server Error", "later"),
        (503, "Status 503", "later"),
    ],
)
async def test_an_error_says_what_the_service_said_but_not_the_key(
    server: Loopback, status: int, said: str, hint: str
) -> None:
    server.behaviour = Behaviour(statuses={"tavily": status}, echo_key=True, retry_after="9999")
    with pytest.raises(ToolFailed) as caught:
        await ask(server)
    assert f"tavily answered {status}: " in caught.value.what
    assert said in caught.value.what
    assert "[secret]" in caught.value.what
    assert hint in caught.value.hint
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<html><title>Gateway</title></html>", ""),
        ("  {broken", ""),
        ("plain words", ": plain words"),
        ('{"detail": [{"loc": ["body"], "msg": "Field required"}]}', ": Field required"),
        ('{"error": {"code": "x", "message": "Keyless <b>limit</b> <script>reached"}}', ": Keyless limit reached"),
        ('{"detail": 5, "message": null}', ""),
        ("word " * 1000, ": " + ("word " * 1000)[:199] + "…"),
        ("<" * 100_000 + "x", ""),
    ],
)
async def test_of_an_error_page_only_plain_words_are_shown(body: str, said: str) -> None:
    inner = httpx2.MockTransport(lambda request: httpx2.Response(418, content=body))
    async with quick(inner=inner) as transport:
        tool = TavilyTool(Service(name="tavily", url="http://127.0.0.1:1", key=KEY), transport)
        with pytest.raises(ToolFailed) as caught:
            await tool.search("bridge", 3, search=Search())
    assert caught.value.what == f"tavily answered 418{said}"


async def test_a_busy_service_is_asked_again(server: Loopback) -> None:
    server.behaviour = Behaviour(busy=0.7, busy_statuses=(429,), retry_after="0", seed=4)
    assert len(await ask(server)) == 3
    assert server.counts.requests["tavily"] > 1


async def test_a_service_that_hangs_fails_in_time(server: Loopback) -> None:
    server.behaviour = Behaviour(hang_routes=("tavily",))
    with pytest.raises(ToolFailed, match=r"tavily gave no answer in 0\.1 s"):
        await ask(server, seconds=0.1)


async def test_offline_nothing_is_asked() -> None:
    async with Transport(offline=True) as transport:
        tool = TavilyTool(Service(name="tavily", url="https://api.tavily.com", key=KEY), transport)
        with pytest.raises(ToolFailed, match="--offline"):
            await tool.search("bridge", 3, search=Search())


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"[" * 100_000,
        {"results": None},
        {"results": {"url": "https://a.example"}},
    ],
)
async def test_an_answer_of_another_kind_is_an_error_without_the_answer_in_it(body: Any) -> None:
    with pytest.raises(ToolFailed, match="tavily answered with no") as caught:
        await ask(body)
    assert "<html>" not in str(caught.value)


async def test_results_without_text_and_repeated_ones_are_left_out() -> None:
    good = {"url": "https://www.a.example/x", "title": "A", "content": "Seven arches.", "score": 0.5}
    results = [
        None,
        "text",
        {},
        {"content": None, "url": "https://b.example"},
        {"content": " \t", "url": "https://b.example"},
        good,
        {"content": 5},
        {"content": "Nine arches.", "url": None, "title": ["x"], "score": "high", "published_date": 7},
        {**good, "url": "https://mirror.example"},
        {"content": "Ten.", "url": "javascript:alert(1)", "score": True},
        {"content": "Eleven.", "url": "http://[", "score": float("nan")},
        {"content": "Twelve.", "score": 10**400, "published_date": "٢٠٢١"},
    ]
    found = await ask({"results": results}, k=9)
    assert [each.text for each in found] == ["Seven arches.", "Nine arches.", "Ten.", "Eleven.", "Twelve."]
    assert [each.rank for each in found] == [1, 2, 3, 4, 5]
    assert [each.url for each in found] == ["https://www.a.example/x", "", "", "http://[", ""]
    assert [each.publisher for each in found] == ["a.example", "", "", "", ""]
    assert [each.score for each in found] == [0.5, None, None, None, None]


async def test_text_is_shown_without_markup_and_never_cut_where_there_is_none() -> None:
    shown = {
        "The <b>bridge</b>, of&nbsp;Skarrow&#39;s &amp; Co.<br />Two": "The bridge, of Skarrow's & Co. Two",
        "a\x00b \ud800c\r\n\n d": "ab c d",
        "if a <b and c> d; x<5 &copy=2 AT&T": "if a <b and c> d; x<5 &copy=2 AT&T",
    }
    found = await ask({"results": [{"content": text} for text in shown]})
    assert [each.text for each in found] == list(shown.values())
    assert all(each.sha256 for each in found)


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ("Wed, 03 Mar 2021 23:10:00 GMT", "2021-03-03"),
        ("2021-03-03T08:00:00Z", "2021-03-03"),
        ("2021-03-03 08:00", "2021-03-03"),
        ("2021-03", "2021-03"),
        ("2021", "2021"),
        ("Mar 3, 2021", "2021-03-03"),
        ("3 March 2021", "2021-03-03"),
        ("March 2021", "2021-03"),
        ("2021-02-30", ""),
        ("2 days ago", ""),
        ("2021 metres", ""),
        ("", ""),
    ],
)
async def test_dates_are_read_where_they_do_not_depend_on_today(stated: str, read: str) -> None:
    (passage,) = await ask({"results": [{"content": "Text.", "published_date": stated}]})
    assert passage.published == read


async def test_only_answers_are_paid_for_and_advanced_ones_twice(server: Loopback) -> None:
    account = Account(Budget(usd=0.03), charge="search")
    await ask(server, price=0.01, depth="advanced", search=Search(account=account))
    assert account.usd == 0.02
    server.behaviour = Behaviour(statuses={"tavily": 401})
    with pytest.raises(ToolFailed):
        await ask(server, price=0.01, search=Search(account=account))
    assert (account.usd, account.requests) == (0.02, 2)
    with pytest.raises(BudgetReached):
        await ask(server, price=0.02, search=Search(account=account))


async def test_it_is_made_from_the_settings_and_says_how_to_set_the_key() -> None:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    kind, transport = tools["tavily"], Transport()
    service = Service(name="tavily", url="https://user:password9@api.tavily.com?x=1", key=KEY)
    sources = Sources(
        corpus=no_corpus, transport=transport, services={"tavily": service}, prices={"tavily": 0.008, "google": 1}
    )
    tool = kind.make(sources)
    assert (tool.price, tool.online, tool.name) == (0.008, True, "tavily")
    assert tool.revision == "https://api.tavily.com basic"
    assert TavilyTool(service, transport, depth="advanced").revision != tool.revision
    for services in ({}, {"tavily": Service(name="tavily", url="https://api.tavily.com")}):
        with pytest.raises(UsageError, match="export TAVILY_API_KEY="):
            kind.make(Sources(corpus=no_corpus, transport=transport, services=services))
