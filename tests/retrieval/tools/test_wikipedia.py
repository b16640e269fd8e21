"""Wikipedia as a source of evidence."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from typing import Any

import httpx2
import pytest

from redargue.errors import BudgetReached, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.wikipedia import WikipediaTool
from redargue.runs.budget import Account, Budget
from support.loopback import DOCUMENTS, Behaviour, Doc, Loopback

pytestmark = pytest.mark.anyio

Api = Callable[[httpx2.QueryParams], Any]
AT = "2020-05-06T07:08:09Z"


def quick(**options: Any) -> Transport:
    """Asks again at once."""
    return Transport(patience=0, **options)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def ask(
    to: Loopback | Api,
    query: str = "Who built Skarrow Bridge?",
    k: int = 3,
    *,
    seconds: float = 60,
    search: Search | None = None,
    contact: str = "",
) -> tuple[Passage, ...]:
    """Searches on the server, or where a function answers each request."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = to.url
    else:
        api = to
        inner = httpx2.MockTransport(lambda request: httpx2.Response(200, content=json.dumps(api(request.url.params))))
    service = Service(name="wikipedia", url=url, timeout=seconds, extra={"contact": contact})
    async with quick(inner=inner) as transport:
        return await WikipediaTool(service, transport).search(query, k, search=search or Search())


def api(extract: Any, *, more: dict[str, Any] | None = None, parsed: Any = None) -> Api:
    """A wiki of one page."""
    page = {"pageid": 7, "title": "Skarrow Bridge", "fullurl": "https://en.wikipedia.org/wiki/Skarrow", **(more or {})}
    page.setdefault("revisions", [{"revid": 70, "timestamp": AT}])

    def answer(params: httpx2.QueryParams) -> Any:
        if params.get("list") == "search":
            return {"query": {"search": [{"pageid": 7, "title": "Skarrow Bridge"}]}}
        if params["action"] == "parse":
            return parsed
        return {"query": {"pages": [{**page, "extract": extract}]}}

    return answer


async def test_it_says_who_asks_and_asks_for_one_whole_page_a_request(server: Loopback) -> None:
    found = await ask(server, contact="me@example.org")
    agents = {request.headers["user-agent"] for request in server.requests}
    assert agents == {f"redargue/{version('redargue')} (me@example.org)"}
    first, *others = [request.body for request in server.requests]
    assert first["list"] == "search"
    assert (first["srsearch"], first["srlimit"]) == ("Who built Skarrow Bridge?", "3")
    assert len(others) == len(found) == 3
    assert all("|" not in other["pageids"] and (other["exlimit"], other["redirects"]) == ("1", "1") for other in others)
    assert all((body["format"], body["formatversion"]) == ("json", "2") for body in (first, *others))
    server.reset()
    await ask(server)
    assert "no contact set" in server.requests[0].headers["user-agent"]


async def test_passages_come_in_the_order_of_the_search_with_their_source(server: Loopback) -> None:
    first, second, third = await ask(server)
    assert [first.rank, second.rank, third.rank] == [1, 2, 3]
    assert (first.title, first.publisher, first.document) == ("Skarrow Bridge", "Wikipedia", "1001")
    assert first.url == "https://wiki.example/wiki/Skarrow_Bridge"
    assert first.published == "2015-05-02T08:00:00Z"
    assert first.start == DOCUMENTS[0].text.index(first.text)
    assert (first.query, first.tool) == ("Who built Skarrow Bridge?", "wikipedia")


async def test_of_a_long_page_the_part_that_fits_the_query_is_shown() -> None:
    filler = "The valley is wide and its meadows are wet in spring. " * 60
    text = f"Skarrow is a valley.\n\n== Nature ==\n{filler}\n\n== Rail ==\nA railway crosses it.\n\n== Art ==\n{filler}"
    (passage,) = await ask(api(text), "Does a railway line cross Skarrow?")
    assert "A railway crosses it." in passage.text
    assert text[passage.start : passage.start + len(passage.text)] == passage.text
    assert passage.start > 2000
    assert len(passage.text) <= 1400
    for query in ("zebra", "!!! ???"):
        (passage,) = await ask(api(text), query)
        assert passage.start == 0


async def test_a_page_of_a_megabyte_is_read_in_time() -> None:
    line = "The bridge of Ostermoor was built in 1887 by an engineer from Quillhaven.\n"
    text = line * 14_000 + "A zebra crossed it.\n" + line * 10
    seconds = []
    for _ in range(3):  # a garbage collection may fall into one of them
        began = time.process_time()
        (passage,) = await ask(api(text), "zebra")
        seconds.append(time.process_time() - began)
    assert min(seconds) < 1.5
    assert "A zebra crossed it." in passage.text
    assert text[passage.start :].startswith(passage.text)


async def test_what_stood_there_on_the_day_is_shown_and_what_did_not_exist_is_not(server: Loopback) -> None:
    found = await ask(server, k=8, search=Search(as_of=date(2014, 12, 31)))
    by_title = {each.title: each for each in found}
    assert by_title["Skarrow Bridge"].text == DOCUMENTS[0].lead
    assert by_title["Skarrow Bridge"].published == "2014-05-02T08:00:00Z"
    assert "Ostermoor" not in by_title  # begun in 2016
    assert all(each.published <= "2014-12-31T23:59:59Z" for each in found)
    asked = next(request.body for request in server.requests if "rvstart" in request.body)
    assert (asked["rvstart"], asked["rvdir"], asked["rvlimit"]) == ("2014-12-31T23:59:59Z", "older", "1")
    (same,) = [
        each for each in await ask(server, k=8, search=Search(as_of=date(2014, 5, 2))) if each.document == "1001"
    ]
    assert same.text == by_title["Skarrow Bridge"].text


async def test_an_old_revisions_text_is_the_running_text() -> None:
    markup = """<div class="mw-content-ltr mw-parser-output"><div class="shortdescription">Short</div>
    <table class="infobox"><tr><td>Box</td></tr></table><style>.a{}</style><!-- note -->
    <p><b>Skarrow</b> is a
    bridge<sup id="r" class="reference"><a href="#n">[1]</a></sup> &amp; more.<script>evil()</script></p>
    <div class="mw-heading mw-heading2"><h2 id="H"><span>His</span>tory</h2>
    <span class="mw-editsection">[edit]</span></div>
    <p>Flood.</p><ul><li>One<ul><li>In</li></ul></li><li>Two</li></ul><div class="navbox">Nav</div></div>"""
    parsed = {"parse": {"title": "Skarrow Bridge", "pageid": 7, "revid": 70, "text": markup}}
    (passage,) = await ask(api("not this", parsed=parsed), search=Search(as_of=date(2021, 3, 3)))
    assert passage.text == "Skarrow is a bridge & more.\n\n== History ==\nFlood.\nOne\nIn\nTwo"
    assert passage.published == AT


@pytest.mark.parametrize(
    "parsed",
    [
        {"parse": {"text": '<div class="redirectMsg"><p>Redirect to:</p><ul><li>Bridge</li></ul></div>'}},
        {"parse": {"text": ""}},
        {"error": {"code": "nosuchrevid", "info": "There is no revision with ID 70."}},
    ],
)
async def test_a_revision_without_text_of_its_own_is_left_out(parsed: Any) -> None:
    assert await ask(api("not this", parsed=parsed), search=Search(as_of=date(2021, 3, 3))) == ()


async def test_a_revision_later_than_the_day_is_never_shown() -> None:
    parsed = {"parse": {"text": "<p>Text.</p>"}}
    assert await ask(api("x", parsed=parsed), search=Search(as_of=date(2020, 5, 5))) == ()
    assert len(await ask(api("x", parsed=parsed), search=Search(as_of=date(2020, 5, 6)))) == 1


async def test_disambiguation_pages_are_left_out(server: Loopback) -> None:
    found = await ask(server, "Velt village near Ostermoor composer", 9)
    assert found
    assert not any("disambiguation" in each.title for each in found)


@pytest.mark.parametrize(
    ("extract", "more"),
    [("Text.", {"missing": True}), ("Text.", {"invalid": True}), ("", {}), (None, {}), (["x"], {}), (" \n\x00", {})],
)
async def test_pages_without_text_are_left_out(extract: Any, more: dict[str, Any]) -> None:
    assert await ask(api(extract, more=more)) == ()


async def test_a_page_with_odd_fields_is_still_shown() -> None:
    more = {"fullurl": "javascript:alert(1)", "title": None, "revisions": [None], "pageprops": None}
    (passage,) = await ask(api("A\ud800 bridge.\x00", more=more))
    assert (passage.text, passage.url, passage.title, passage.published) == ("A bridge.", "", "", "")
    assert passage.sha256


async def test_pages_with_the_same_text_are_shown_once() -> None:
    documents = tuple(Doc(f"Bridge {at}", f"https://wiki.example/{at}", "The same bridge.") for at in range(3))
    with Loopback(documents=documents) as server:
        (passage,) = await ask(server, "bridge")
    assert passage.title == "Bridge 0"


async def test_no_results_are_no_error_and_a_blank_query_is_not_sent(server: Loopback) -> None:
    assert await ask(server, "xyzzy") == ()
    assert await ask(server, " ") == ()
    assert await ask(server, k=0) == ()
    assert server.counts.requests["mediawiki"] == 1


async def test_a_query_that_is_too_long_is_cut_at_a_word(server: Loopback) -> None:
    await ask(server, "xyzzy " * 100)
    sent = server.requests[0].body["srsearch"]
    assert len(sent) <= 300
    assert set(sent.split()) == {"xyzzy"}
    await ask(server, "x" * 400)
    assert server.requests[1].body["srsearch"] == "x" * 300


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (403, "set a user-agent", "REDARGUE_CONTACT"),
        (429, "too many requests", "REDARGUE_CONTACT"),
        (500, "under maintenance", "later"),
        (503, "under maintenance", "later"),
    ],
)
async def test_a_refusal_says_what_the_service_said(server: Loopback, status: int, said: str, hint: str) -> None:
    server.behaviour = Behaviour(statuses={"mediawiki": status}, retry_after="9999")
    with pytest.raises(ToolFailed, match=f"wikipedia answered {status}: .*{said}") as caught:
        await ask(server)
    assert hint in caught.value.hint


@pytest.mark.parametrize("code", ["maxlag", "ratelimited", "readonly", "badvalue", "cirrussearch-backend-error"])
async def test_an_error_that_comes_with_status_200_is_an_error(code: str) -> None:
    with pytest.raises(ToolFailed, match=f"error {code}: Waiting for 10.64.0.1") as caught:
        await ask(lambda params: {"error": {"code": code, "info": "Waiting for 10.64.0.1", "docref": "x" * 999}})
    assert bool(caught.value.hint) == (code in ("maxlag", "ratelimited", "readonly"))


@pytest.mark.parametrize(
    "said", [None, [], {}, {"error": None}, {"query": []}, {"query": {}}, {"query": {"search": None}}]
)
async def test_an_answer_of_another_kind_is_an_error(said: Any) -> None:
    with pytest.raises(ToolFailed, match="wikipedia answered with"):
        await ask(lambda params: said)


async def test_hits_that_name_no_page_are_passed_over() -> None:
    one = api("A bridge.")
    hits = [None, "x", {}, {"pageid": 0}, {"pageid": True}, {"pageid": "7"}, {"pageid": 7}, {"pageid": 7}]
    found = await ask(lambda params: {"query": {"search": hits}} if "list" in params else one(params))
    assert [each.document for each in found] == ["7"]


async def test_a_busy_service_is_asked_again(server: Loopback) -> None:
    server.behaviour = Behaviour(busy=0.5, busy_statuses=(429,), retry_after="0", seed=1)
    assert len(await ask(server)) == 3
    assert server.counts.requests["mediawiki"] > 4


async def test_a_service_that_hangs_fails_in_time(server: Loopback) -> None:
    server.behaviour = Behaviour(hang_routes=("mediawiki",))
    with pytest.raises(ToolFailed, match=r"wikipedia gave no answer in 0\.1 s"):
        await ask(server, seconds=0.1)


async def test_one_page_that_fails_fails_the_search_and_the_budget_is_kept(server: Loopback) -> None:
    def half(params: httpx2.QueryParams) -> Any:
        if "list" in params:
            return {"query": {"search": [{"pageid": 1}, {"pageid": 2}]}}
        return {"error": {"code": "internal_api_error"}} if params["pageids"] == "2" else api("x")(params)

    with pytest.raises(ToolFailed, match="internal_api_error"):
        await ask(half)
    account = Account(Budget(calls=2))
    with pytest.raises(BudgetReached):
        await ask(server, search=Search(account=account))
    assert account.requests == 2


async def test_it_is_made_from_the_settings_and_tells_languages_apart() -> None:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    def made(url: str, contact: str = "") -> WikipediaTool:
        services = {"wikipedia": Service(name="wikipedia", url=url, extra={"contact": contact})}
        tool = tools["wikipedia"].make(Sources(corpus=no_corpus, transport=Transport(), services=services))
        assert isinstance(tool, WikipediaTool)
        return tool

    english, german = made("https://en.wikipedia.org"), made("https://de.wikipedia.org")
    assert english.online
    assert english.revision != german.revision
    assert made("https://en.wikipedia.org", "me@example.org").revision == english.revision
    for contact in ("mé@example.org", "me\r\nX-Evil: 1"):
        with pytest.raises(UsageError, match="REDARGUE_CONTACT"):
            made("https://en.wikipedia.org", contact)
    with pytest.raises(UsageError, match="REDARGUE_WIKIPEDIA_URL"):
        tools["wikipedia"].make(Sources(corpus=no_corpus, transport=Transport()))
