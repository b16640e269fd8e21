"""OpenAlex as a source of evidence."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import date
from typing import Any

import httpx2
import pytest

from redargue.errors import BudgetReached, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.literature import OpenAlexTool, abstract
from redargue.runs.budget import Account, Budget
from support.loopback import DOCUMENTS, Behaviour, Doc, Loopback
from support.loopback_papers import inverted

pytestmark = pytest.mark.anyio

KEY = "oa-77b1d0c2-93fe-41aa-8a11-0c7d2e9f55aa"
AS_OF = Search(as_of=date(2021, 3, 3))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def service(url: str, *, key: str = KEY, mailto: str = "", seconds: float = 60) -> Service:
    return Service(name="openalex", url=url, key=key, timeout=seconds, extra={"mailto": mailto})


async def ask(
    to: Loopback | bytes | str | dict[str, Any] | list[Any],
    query: str = "Who built Skarrow Bridge",
    k: int = 3,
    *,
    search: Search | None = None,
    price: float = 0.0,
    **options: Any,
) -> tuple[Passage, ...]:
    """Searches on the server, or where every answer is that body; a list is one of works."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = to.url
    else:
        whole = {"meta": {"count": len(to)}, "results": to, "group_by": []} if isinstance(to, list) else to
        body = whole if isinstance(whole, str | bytes) else json.dumps(whole)
        inner = httpx2.MockTransport(lambda request: httpx2.Response(200, content=body))
    async with Transport(patience=0, inner=inner) as transport:
        tool = OpenAlexTool(service(url, **options), transport, price=price)
        return await tool.search(query, k, search=search or Search())


def work(text: str = "Seven arches.", **fields: Any) -> dict[str, Any]:
    return {"abstract_inverted_index": inverted(text), **fields}


async def test_the_request_is_the_one_the_service_documents(server: Loopback) -> None:
    await ask(server, k=300, mailto="me@example.org", search=AS_OF)
    (request,) = server.requests
    assert request.path == "/works"
    assert request.body == {
        "search": "Who built Skarrow Bridge",
        "filter": "has_abstract:true,to_publication_date:2021-03-03",
        "per-page": "100",
        "mailto": "me@example.org",
        "api_key": KEY,
    }


async def test_without_key_and_address_neither_is_sent(server: Loopback) -> None:
    assert len(await ask(server, key="")) == 3
    assert server.requests[0].body == {
        "search": "Who built Skarrow Bridge",
        "filter": "has_abstract:true",
        "per-page": "3",
    }


async def test_passages_come_in_the_services_order_with_their_source(server: Loopback) -> None:
    found = await ask(server)
    assert [(each.rank, each.title) for each in found] == [(1, "Skarrow Bridge"), (2, "Ilse Tarnow"), (3, "Ostermoor")]
    first = found[0]
    assert first.text == " ".join(DOCUMENTS[0].text.split())
    assert (first.document, first.url) == ("10.5555/Skarrow_Bridge", "https://doi.org/10.5555/Skarrow_Bridge")
    assert (first.publisher, first.published) == ("Annals of wiki.example", "2014-05-02")
    assert first.score is not None
    assert first.score >= (found[1].score or 0) > 0
    assert (first.query, first.tool) == ("Who built Skarrow Bridge", "openalex")
    assert await ask(server) == found


async def test_what_was_published_after_the_day_is_not_asked_for(server: Loopback) -> None:
    found = await ask(server, "electric ferry of Quillhaven", 9, search=AS_OF)
    assert "Mayor Wirral opens the new ferry of Quillhaven" in [each.title for each in found]
    assert all(each.published <= "2021-03-03" for each in found)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"is": [1], "Water": [0], "wet": [2]}, "Water is wet"),
        ({"wet": [9], "Water": [0], "is": [4]}, "Water is wet"),
        ({"the": [0, 2], "bridge": [1], "river": [3]}, "the bridge the river"),
        ({"the": [0, 0], "bridge": [1, 1]}, "the bridge"),
        ({"b": [0], "a": [0], "c": [1]}, "b a c"),
        ({"a": [-1], "b": [0]}, "a b"),
        ({"a": [True, None, "0", 1.5], "b": 3, "c": [2]}, "c"),
        ({"&lt;": [1], "p": [0], "0.05<br/>": [2], "x\u0000y": [3]}, "p < 0.05 xy"),
        ({"": [0]}, ""),
        ({}, ""),
        (None, ""),
        (["a"], ""),
        ("text", ""),
    ],
)
def test_an_abstract_is_put_together_from_its_inverted_index(index: Any, text: str) -> None:
    assert abstract(index) == text


async def test_works_without_abstract_are_passed_over() -> None:
    works = [{"title": "A"}, {"abstract_inverted_index": None}, work(), {"abstract_inverted_index": {}}, None, "x"]
    body = json.dumps({"results": works})
    inner = httpx2.MockTransport(lambda request: httpx2.Response(200, text=body))
    async with Transport(inner=inner) as transport:
        tool = OpenAlexTool(service("http://127.0.0.1:1"), transport)
        (passage,) = await tool.search("arches", 9, search=Search())
        assert passage.text == "Seven arches."


async def test_a_long_abstract_stays_whole() -> None:
    text = "The flood took two of its arches. " * 500 + "They were rebuilt."
    with Loopback(documents=(Doc("Arches", "https://a.example/x", text),)) as server:
        (passage,) = await ask(server, "arches")
    assert passage.text == text


async def test_no_results_are_no_error_and_a_blank_query_is_not_sent(server: Loopback) -> None:
    assert await ask(server, "xyzzy") == ()
    for blank in (" \n\ud800 ", "?!", '"'):
        assert await ask(server, blank) == ()
    assert await ask(server, k=0) == ()
    assert server.counts.requests["openalex"] == 1


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("Do statins* help, or ~not\\?", "Do statins help, or not"),
        ('("long QT" AND drug) NOT dog', '("long QT" AND drug) NOT dog'),
        ('the "long QT', "the long QT"),
        ("bridge " * 100, ("bridge " * 57).strip()),
    ],
)
async def test_a_query_is_sent_as_the_service_takes_it(server: Loopback, query: str, sent: str) -> None:
    await ask(server, query)
    assert server.requests[0].body["search"] == sent
    assert server.counts.answered["openalex"] == 1


async def test_what_a_work_lacks_is_left_empty_and_nothing_in_it_is_trusted() -> None:
    place = {"landing_page_url": "https://www.paper.example/1", "source": None}
    works = [
        work("One."),
        work("Two.", id="https://openalex.org/W2", doi=None, primary_location=place, display_name="<i>D</i> &amp; E"),
        work("Three.", id=["x"], doi="javascript:alert(1)", title=7, primary_location="x", relevance_score="high"),
        work("Four.", doi="https://doi.org/10.1/ab", primary_location={"source": {"display_name": 5}}),
        work("Five.", doi="http://dx.doi.org/10.1/CD", relevance_score=float("inf")),
        work("One."),
    ]
    found = await ask(works, k=9)
    assert [(each.text, each.document, each.url, each.publisher, each.title) for each in found] == [
        ("One.", "", "", "", ""),
        ("Two.", "W2", "https://www.paper.example/1", "paper.example", "D & E"),
        ("Three.", "", "", "", ""),
        ("Four.", "10.1/ab", "https://doi.org/10.1/ab", "", ""),
        ("Five.", "10.1/CD", "http://dx.doi.org/10.1/CD", "", ""),
    ]
    assert [each.score for each in found] == [None] * 5
    assert [each.rank for each in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("stated", "year", "read"),
    [
        ("2021-03-03", 2021, "2021-03-03"),
        ("2021-01-01", 2021, "2021"),
        (None, 2021, "2021"),
        ("spring", 987, "0987"),
        (None, "2021", ""),
        (None, True, ""),
        (None, 10**9, ""),
    ],
)
async def test_the_date_is_read_as_far_as_it_is_known(stated: Any, year: Any, read: str) -> None:
    (passage,) = await ask([work(publication_date=stated, publication_year=year)])
    assert passage.published == read


async def test_a_work_later_than_the_day_is_never_shown_and_an_undated_one_is() -> None:
    works = [
        work("One.", publication_date="2021-03-04"),
        work("Two."),
        work("Three.", publication_date="2021-01-01"),
        work("Four.", publication_date="2021-03-03"),
    ]
    assert [each.text for each in await ask(works, k=9, search=AS_OF)] == ["Two.", "Three.", "Four."]


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"results": [{"id": ',
        b"[" * 100_000,
        {"results": None},
        {"results": {"id": "https://openalex.org/W2"}},
    ],
)
async def test_an_answer_of_another_kind_is_an_error_without_the_answer_in_it(body: Any) -> None:
    with pytest.raises(ToolFailed, match="openalex answered with no") as caught:
        await ask(body)
    assert "<html>" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (400, "Invalid query parameters error.", ""),
        (401, "Invalid API key", "OPENALEX_API_KEY"),
        (403, "Rate limit exceeded", "OPENALEX_API_KEY"),
        (301, "Error", "REDARGUE_OPENALEX_URL"),
        (404, "Error", "REDARGUE_OPENALEX_URL"),
        (429, "Rate limit exceeded", "REDARGUE_OPENALEX_REQUESTS_PER_MINUTE"),
        (500, "Internal Server Error", "later"),
        (503, "Error", "later"),
    ],
)
async def test_an_error_says_what_the_service_said_but_not_the_key(
    server: Loopback, status: int, said: str, hint: str
) -> None:
    server.behaviour = Behaviour(statuses={"openalex": status}, echo_key=True, retry_after="9999")
    with pytest.raises(ToolFailed) as caught:
        await ask(server)
    assert f"openalex answered {status}: {said}" in caught.value.what
    assert "[secret]" in caught.value.what
    assert hint in caught.value.hint
    assert KEY not in str(caught.value)


async def test_a_key_in_the_address_is_in_no_log_and_no_passage(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.documents = (Doc("Bridge", "https://a.example/x", f"The bridge has the key {KEY}."),)
    (passage,) = await ask(server, "bridge")
    assert passage.text == "The bridge has the key [secret]."
    server.behaviour = Behaviour(hang_routes=("openalex",))
    with pytest.raises(ToolFailed, match=r"openalex gave no answer in 0\.1 s") as caught:
        await ask(server, seconds=0.1)
    shown = caplog.text + "".join(record.getMessage() for record in caplog.records)
    assert "/works" in shown
    assert KEY not in shown + str(caught.value)


@pytest.mark.parametrize(
    ("headers", "body", "requests"),
    [
        ({"retry-after": "0"}, {"error": "Too many requests"}, 12),
        ({"retry-after": "0", "x-ratelimit-remaining": "12"}, {"error": "Slow down"}, 12),
        ({"retry-after": "0", "x-ratelimit-remaining": "0"}, {"error": "Rate limit exceeded"}, 1),
        ({"retry-after": "0"}, {"error": "Rate limit exceeded", "message": "Daily limit reached"}, 1),
    ],
)
async def test_a_days_allowance_that_is_used_up_is_not_asked_for_again(
    headers: dict[str, str], body: dict[str, str], requests: int
) -> None:
    sent = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        sent += 1
        return httpx2.Response(429, headers=headers, json=body)

    async with Transport(patience=0, inner=httpx2.MockTransport(answer)) as transport:
        with pytest.raises(ToolFailed, match="openalex answered 429"):
            await OpenAlexTool(service("http://127.0.0.1:1"), transport).search("arches", 3, search=Search())
    assert sent == requests


async def test_a_busy_service_is_asked_again(server: Loopback) -> None:
    server.behaviour = Behaviour(busy=0.7, busy_statuses=(503,), retry_after="0", seed=4)
    for _ in range(4):
        assert len(await ask(server)) == 3
    assert server.counts.requests["openalex"] > 4


async def test_offline_nothing_is_asked() -> None:
    async with Transport(offline=True) as transport:
        tool = OpenAlexTool(service("https://api.openalex.org"), transport)
        with pytest.raises(ToolFailed, match="--offline"):
            await tool.search("bridge", 3, search=Search())


async def test_only_answers_are_paid_for(server: Loopback) -> None:
    account = Account(Budget(usd=0.015), charge="search")
    await ask(server, price=0.01, search=Search(account=account))
    with pytest.raises(BudgetReached):
        await ask(server, price=0.01, search=Search(account=account))
    assert (account.usd, account.requests) == (0.01, 1)


async def test_it_is_made_from_the_settings_and_needs_no_key() -> None:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    def made(**services: Service) -> Any:
        return tools["openalex"].make(Sources(corpus=no_corpus, transport=Transport(), services=services))

    tool = made(openalex=service("https://user:password9@api.openalex.example?x=1", key=""))
    assert isinstance(tool, OpenAlexTool)
    assert (tool.online, tool.name, tool.revision) == (True, "openalex", "https://api.openalex.example")
    with pytest.raises(UsageError, match="REDARGUE_OPENALEX_URL"):
        made()
    with pytest.raises(UsageError, match="'me' is not an e-mail address"):
        made(openalex=service("https://api.openalex.example", mailto="me"))
