"""arXiv as a source of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import httpx2
import pytest

from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.services import SERVICES, limiter, services
from redargue.net.transport import Limiter, Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.literature import ArxivTool
from support.loopback import Behaviour, Loopback

pytestmark = pytest.mark.anyio

FEED = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
    "<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def ask(to: Loopback | str, query: str = "scour piers", k: int = 3, **search: Any) -> tuple[Passage, ...]:
    """Searches on the server, or where every answer is that text."""
    inner = None if isinstance(to, Loopback) else httpx2.MockTransport(lambda request: httpx2.Response(200, text=to))
    url = to.url if isinstance(to, Loopback) else "http://127.0.0.1:1"
    async with Transport(patience=0, inner=inner) as transport:
        tool = ArxivTool(Service(name="arxiv", url=url, timeout=60), transport)
        return await tool.search(query, k, search=Search(**search))


async def test_a_preprint_is_shown_by_its_whole_abstract_with_its_source(server: Loopback) -> None:
    first, *_ = await ask(server)
    assert first.title == "Scour at masonry piers: measurements at the Velt"
    assert first.text.startswith("We measured scour at the seven-arch bridge")
    assert (first.url, first.document) == ("http://arxiv.org/abs/1901.00005v2", "1901.00005v2")
    assert (first.publisher, first.published, first.rank, first.tool) == ("arXiv", "2019-07-01", 1, "arxiv")


async def test_words_are_looked_for_everywhere_and_arxivs_own_language_is_left_alone(server: Loopback) -> None:
    await ask(server, "scour  piers", 500)
    await ask(server, "au:Tarnow AND ti:scour")
    sent = [request.body for request in server.requests]
    assert sent[0] == {
        "search_query": "all:scour piers",
        "start": "0",
        "max_results": "100",
        "sortBy": "relevance",
        "sortOrder": "descending",
    }
    assert sent[1]["search_query"] == "au:Tarnow AND ti:scour"


async def test_what_came_out_later_is_left_out_and_nothing_is_asked_for_nothing(server: Loopback) -> None:
    assert await ask(server, "electric ferry", as_of=date(2020, 1, 1)) == ()
    assert len(await ask(server, "electric ferry", as_of=date(2022, 1, 1))) == 1
    asked = server.counts.requests["arxiv"]
    assert await ask(server, " ?") == await ask(server, k=0) == ()
    assert server.counts.requests["arxiv"] == asked


async def test_an_empty_page_is_asked_for_again(server: Loopback) -> None:
    entry = "<entry><id>http://arxiv.org/abs/1</id><title>T</title><summary>Found.</summary></entry>"
    pages = iter([FEED.format(total=1, entries=""), FEED.format(total=1, entries=entry)])
    inner = httpx2.MockTransport(lambda request: httpx2.Response(200, text=next(pages)))
    async with Transport(patience=0, inner=inner) as transport:
        tool = ArxivTool(Service(name="arxiv", url="http://127.0.0.1:1"), transport)
        (found,) = await tool.search("x", 1, search=Search())
    assert found.text == "Found."
    assert await ask(FEED.format(total=0, entries="")) == ()


@pytest.mark.parametrize(
    "body", ["", "<html>Sign in</html>", "{}", "<feed/>", f"<!DOCTYPE a [<!ENTITY x 'y'>]>{FEED}", "<feed"]
)
async def test_an_answer_of_another_kind_is_an_error(body: str) -> None:
    with pytest.raises(ToolFailed, match="arxiv answered with no feed of preprints"):
        await ask(body)


@pytest.mark.parametrize(("status", "hint"), [(400, "cannot read"), (429, "every 3 seconds"), (503, "later")])
async def test_an_error_says_what_to_do(server: Loopback, status: int, hint: str) -> None:
    server.behaviour = Behaviour(statuses={"arxiv": status}, retry_after="9999")
    with pytest.raises(ToolFailed, match=f"arxiv answered {status}") as caught:
        await ask(server)
    assert hint in caught.value.hint


def test_it_is_made_from_the_settings_and_asks_at_arxivs_pace() -> None:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    known = services(environment={"REDARGUE_ARXIV_URL": "http://127.0.0.1:1/x"})
    made = tools["arxiv"].make(Sources(corpus=no_corpus, transport=Transport(), services=known))
    assert made.revision == "http://127.0.0.1:1/x"
    with pytest.raises(UsageError, match="no address"):
        tools["arxiv"].make(Sources(corpus=no_corpus, transport=Transport()))
    rate = limiter({}).for_service("arxiv").rate
    assert (rate.in_flight, rate.requests_per_minute, rate.burst) == (1, 20, 0)
    assert rate == SERVICES["arxiv"].rate != Limiter().for_service("arxiv").rate
