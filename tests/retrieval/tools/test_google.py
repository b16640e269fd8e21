"""Google as a source of evidence, by Serper and by Custom Search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import httpx2
import pytest

from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.online import clean
from redargue.retrieval.tools.web import GoogleTool
from redargue.runs.budget import Account
from support.loopback import Behaviour, Loopback

pytestmark = pytest.mark.anyio

KEY = "0123456789abcdef0123456789"
AS_OF = Search(as_of=date(2021, 3, 3))
BOTH = pytest.mark.parametrize(("name", "route"), [("serper", "serper"), ("google-cse", "cse")])


def quick(**options: Any) -> Transport:
    """Asks again at once."""
    return Transport(patience=0, **options)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def ask(
    to: Loopback | bytes | dict[str, Any],
    name: str = "serper",
    query: str = "Who built Skarrow Bridge?",
    k: int = 3,
    *,
    price: float = 0.0,
    seconds: float = 60,
    search: Search | None = None,
) -> tuple[Passage, ...]:
    """Searches on the server, or where every answer is that body."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = f"{to.url}/serper" if name == "serper" else to.url
    else:
        body = to if isinstance(to, bytes) else json.dumps(to)
        inner = httpx2.MockTransport(lambda request: httpx2.Response(200, content=body))
    service = Service(name=name, url=url, key=KEY, timeout=seconds, extra={"cx": "engine"} if name != "serper" else {})
    async with quick(inner=inner) as transport:
        return await GoogleTool(service, transport, price=price).search(query, k, search=search or Search())


async def test_serpers_request_is_the_one_it_documents(server: Loopback) -> None:
    await ask(server, k=500, search=AS_OF)
    (request,) = server.requests
    assert request.headers["x-api-key"] == KEY
    assert request.body == {"q": "Who built Skarrow Bridge?", "num": 100, "tbs": "cdr:1,cd_max:03/03/2021"}


async def test_custom_searchs_request_holds_its_key_in_no_address(server: Loopback) -> None:
    await ask(server, "google-cse", k=500, search=AS_OF)
    (request,) = server.requests
    assert request.headers["x-goog-api-key"] == KEY
    assert request.path == "/customsearch/v1"
    assert request.body == {"q": "Who built Skarrow Bridge?", "cx": "engine", "num": "10", "sort": "date:r::20210303"}


@BOTH
async def test_passages_come_in_googles_order_with_their_source(server: Loopback, name: str, route: str) -> None:
    first, second, third = await ask(server, name)
    assert [first.rank, second.rank, third.rank] == [1, 2, 3]
    assert (first.title, first.publisher) == ("Skarrow Bridge", "wiki.example")
    assert first.document == first.url == "https://wiki.example/wiki/Skarrow_Bridge"
    assert first.text.startswith("Skarrow Bridge is a stone bridge")
    assert (first.published, first.score) == ("2014-05-02", None)
    assert (first.query, first.tool) == ("Who built Skarrow Bridge?", "google")


@BOTH
async def test_what_was_published_after_the_day_is_not_asked_for(server: Loopback, name: str, route: str) -> None:
    urls = [each.url for each in await ask(server, name, "electric ferry of Quillhaven", 8, search=AS_OF)]
    assert "https://courier.example/2021/03/ferry" in urls
    assert "https://courier.example/2022/11/ferry-stays" not in urls


@BOTH
async def test_no_results_are_no_error_and_a_blank_query_is_not_sent(server: Loopback, name: str, route: str) -> None:
    assert await ask(server, name, "xyzzy") == ()
    assert await ask(server, name, " ") == ()
    assert await ask(server, name, k=0) == ()
    assert server.counts.requests[route] == 1


async def test_serpers_answers_come_first_where_they_say_whose_they_are() -> None:
    organic = {"title": "C", "link": "https://c.example", "snippet": "Seven arches."}
    box = {"title": "Skarrow", "link": "https://www.a.example/x", "answer": "1887", "snippet": "Built in <b>1887</b>."}
    graph = {
        "title": "Skarrow Bridge",
        "description": "A stone bridge.",
        "descriptionSource": "Wikipedia",
        "descriptionLink": "https://wiki.example/Skarrow",
        "website": "https://skarrow.example",
    }
    said = {"searchParameters": {}, "answerBox": box, "knowledgeGraph": graph, "organic": [organic]}
    found = await ask(said)
    assert [(each.text, each.publisher) for each in found] == [
        ("Built in 1887.", "a.example"),
        ("A stone bridge.", "Wikipedia"),
        ("Seven arches.", "c.example"),
    ]
    assert [each.text for each in await ask(said, k=1)] == ["Built in 1887."]
    del box["link"], box["snippet"], graph["descriptionLink"]
    assert [each.text for each in await ask(said)] == ["Seven arches."]
    box["link"] = "https://www.a.example/x"
    assert [each.text for each in await ask(said)] == ["1887", "Seven arches."]


async def test_custom_search_dates_a_page_by_its_own_word_or_googles_and_shows_no_date_as_text() -> None:
    own = {"metatags": [{"article:published_time": "2020-01-02T08:00:00Z"}]}
    items = [
        {"link": "https://a.example", "snippet": "Mar 3, 2021 ... The ferry opened.", "pagemap": own},
        {"link": "https://b.example", "snippet": "Mar 3, 2021 ... The ferry sank.", "pagemap": {"metatags": [None]}},
        {"link": "https://c.example", "snippet": "2 days ago ... The ferry rose.", "pagemap": {"metatags": "x"}},
        {"link": "https://d.example", "snippet": "May 2021 saw no ferry.", "pagemap": None},
    ]
    found = await ask({"items": items}, "google-cse", k=9)
    assert [(each.published, each.text) for each in found] == [
        ("2020-01-02", "The ferry opened."),
        ("2021-03-03", "The ferry sank."),
        ("", "The ferry rose."),
        ("", "May 2021 saw no ferry."),
    ]


@BOTH
@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "credits"),
        (401, "SERPER_API_KEY"),
        (403, "GOOGLE_CSE_API_KEY"),
        (404, "_URL"),
        (429, "_REQUESTS_PER_MINUTE"),
        (500, "later"),
        (503, "later"),
    ],
)
async def test_an_error_says_what_the_service_said_but_not_the_key(
    server: Loopback, name: str, route: str, status: int, hint: str
) -> None:
    server.behaviour = Behaviour(statuses={route: status}, echo_key=True, retry_after="9999")
    with pytest.raises(ToolFailed) as caught:
        await ask(server, name)
    assert f"{name} answered {status}: " in caught.value.what
    assert "[secret]" in caught.value.what
    assert hint in caught.value.hint
    assert KEY not in str(caught.value)
    assert len(caught.value.what) < 250


@BOTH
async def test_a_busy_service_is_asked_again(server: Loopback, name: str, route: str) -> None:
    server.behaviour = Behaviour(busy=0.8, busy_statuses=(429,), retry_after="0", seed=0)
    assert len(await ask(server, name)) == 3
    assert server.counts.requests[route] > 1


@pytest.mark.parametrize(
    ("message", "requests"), [("Quota exceeded for 'Queries' and limit 'Queries per day'", 1), ("Per minute", 6)]
)
async def test_custom_searchs_quota_of_a_day_is_not_waited_for(message: str, requests: int) -> None:
    seen = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(429, json={"error": {"code": 429, "message": message}})

    service = Service(name="google-cse", url="http://127.0.0.1:1", key=KEY, extra={"cx": "engine"})
    async with quick(inner=httpx2.MockTransport(answer)) as transport:
        with pytest.raises(ToolFailed, match=message):
            await GoogleTool(service, transport).search("bridge", 3, search=Search())
    assert len(seen) == requests


@BOTH
async def test_a_service_that_hangs_fails_in_time(server: Loopback, name: str, route: str) -> None:
    server.behaviour = Behaviour(hang_routes=(route,))
    with pytest.raises(ToolFailed, match=rf"{name} gave no answer in 0\.1 s"):
        await ask(server, name, seconds=0.1)


@BOTH
@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"", b"null", b'"x"', b"{}", b'{"items": 1, "organic": 1}'])
async def test_an_answer_of_another_kind_is_an_error_without_the_answer_in_it(
    name: str, route: str, body: bytes
) -> None:
    with pytest.raises(ToolFailed, match=f"{name} answered with no") as caught:
        await ask(body, name)
    assert "<html>" not in str(caught.value)


@BOTH
async def test_results_without_text_and_repeated_ones_are_left_out(name: str, route: str) -> None:
    good = {"link": "https://a.example", "title": None, "snippet": "Seven arches."}
    results = [None, 3, {}, {"snippet": None}, {"snippet": ["x"]}, good, {**good, "link": "https://b.example"}]
    said: dict[str, Any] = {"kind": "x", "searchParameters": {}, "answerBox": None, "knowledgeGraph": [1]}
    (passage,) = await ask({**said, "organic": results, "items": results}, name)
    assert (passage.text, passage.url, passage.rank) == ("Seven arches.", "https://a.example", 1)
    assert await ask({**said, "organic": None, "items": None}, name) == ()


async def test_more_than_ten_results_cost_serpers_user_twice(server: Loopback) -> None:
    account = Account(charge="search")
    await ask(server, price=0.01, search=Search(account=account), k=10)
    assert account.usd == 0.01
    await ask(server, price=0.01, search=Search(account=account), k=11)
    assert account.usd == 0.03


async def test_it_is_made_from_the_settings_serper_first_and_says_both_ways_to_set_a_key() -> None:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    def made(serper: str, custom: str, cx: str) -> GoogleTool:
        services = {
            "serper": Service(name="serper", url="https://google.serper.dev", key=serper),
            "google-cse": Service(name="google-cse", url="https://www.googleapis.com", key=custom, extra={"cx": cx}),
        }
        sources = Sources(corpus=no_corpus, transport=Transport(), services=services, prices={"google": 0.001})
        tool = tools["google"].make(sources)
        assert isinstance(tool, GoogleTool)
        return tool

    assert made(KEY, KEY, "engine").service.name == "serper"
    custom = made("", KEY, "engine")
    assert (custom.service.name, custom.price) == ("google-cse", 0.001)
    revisions = {made(KEY, "", "").revision, custom.revision, made("", KEY, "other").revision}
    assert len(revisions) == 3
    assert not any(KEY in revision or "engine" in revision for revision in revisions)
    for lacking in (("", "", ""), ("", KEY, ""), ("", "", "engine")):
        with pytest.raises(UsageError, match=r"export SERPER_API_KEY=.*GOOGLE_CSE_API_KEY=.*GOOGLE_CSE_ID="):
            made(*lacking)
    with pytest.raises(UsageError, match="no key"):
        tools["google"].make(Sources(corpus=no_corpus, transport=Transport()))


def test_entities_are_decoded_and_superscripts_stay_superscripts() -> None:
    snippet = "10<sup>6</sup> cells &amp; CO<sub>2</sub>, 10<sup>-3</sup> m on the 1<sup>st</sup> day"
    assert clean(snippet) == "10⁶ cells & CO2, 10⁻³ m on the 1st day"
