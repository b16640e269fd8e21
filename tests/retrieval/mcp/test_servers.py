"""MERMAID's tool servers: tools, parameters and shapes, and what becomes of a service's errors."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from redargue.cli import app
from redargue.errors import ToolFailed, UsageError
from redargue.net.transport import Service, Transport
from redargue.retrieval.mcp.client import list_tools, servers
from redargue.retrieval.mcp.serving import build_tool_server, serve_http
from redargue.retrieval.tools import Search, Sources
from redargue.runs.budget import Account
from support.loopback import Behaviour, Doc, Loopback

pytestmark = pytest.mark.anyio

KEY = "0123456789abcdef0123456789"
DEEP = Doc(
    "Deep article",
    "https://wiki.example/wiki/Deep_article",
    "A lead about Skarrow Bridge and Ostermoor.\n\n== One ==\nFirst. Second. Third.\n\n=== Inner ===\nInside.\n\n"
    "== Two ==\n" + "Word " * 60,
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        running.documents = (*running.documents, DEEP)
        yield running


def services(url: str, keys: Mapping[str, str]) -> dict[str, Service]:
    known = {
        "wikipedia": (url, {"language": "en"}),
        "serper": (f"{url}/serper", {}),
        "google-cse": (url, {"cx": "engine"}),
        "arxiv": (url, {}),
        "pubmed": (f"{url}/entrez/eutils", {}),
    }
    return {
        name: Service(name=name, url=at, key=keys.get(name, ""), timeout=60, extra=extra)
        for name, (at, extra) in known.items()
    }


def sources(
    url: str, keys: Mapping[str, str] | None = None, *, inner: httpx2.AsyncBaseTransport | None = None
) -> Sources:
    def no_corpus() -> Any:
        raise AssertionError("not needed")

    return Sources(corpus=no_corpus, transport=Transport(patience=0, inner=inner), services=services(url, keys or {}))


async def ask(
    to: Loopback | httpx2.MockTransport,
    kind: str,
    tool: str,
    keys: Mapping[str, str] | None = None,
    /,
    **arguments: Any,
) -> Any:
    """What the tool returns: an object, or a list of them."""
    given = {"serper": KEY} if keys is None else keys
    made = sources(to.url, given) if isinstance(to, Loopback) else sources("http://127.0.0.1:1", given, inner=to)
    (one,) = servers([kind], made, {})
    async with one:
        called = (await list_tools([one]))[tool]
        called.max_chars = 1_000_000
        found = [json.loads(each.text) for each in await called.call(arguments, search=Search(account=Account()))]
    return found[0] if kind == "wikipedia" else found


def said(body: Any, status: int = 200) -> httpx2.MockTransport:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.MockTransport(lambda request: httpx2.Response(status, content=content))


async def test_the_tools_and_their_parameters_are_those_of_table_5(server: Loopback) -> None:
    kinds = ["wikipedia", "google", "scholar", "papers"]
    tools = await list_tools(servers(kinds, sources(server.url, {"serper": KEY}), {}))
    defaults = {
        name: {each: told.get("default", "required") for each, told in tool.parameters["properties"].items()}
        for name, tool in tools.items()
    }
    assert defaults == {
        "search_wikipedia": {"query": "required", "limit": 10},
        "get_article": {"title": "required"},
        "get_summary": {"title": "required"},
        "get_sections": {"title": "required"},
        "summarize_article_section": {"title": "required", "section_title": "required", "max_length": 150},
        "extract_key_facts": {"title": "required", "topic_within_article": "", "count": 5},
        "get_related_topics": {"title": "required", "limit": 10},
        "search_google": {"query": "required", "num_results": 10},
        "search_google_scholar": {"query": "required", "max_results": 10},
        "search_arxiv": {
            "query": "required",
            "max_results": 10,
            "sort_by": "relevance",
            "sort_order": "descending",
        },
        "search_pubmed": {"query": "required", "max_results": 10, "sort": "relevance"},
    }


async def test_search_wikipedia(server: Loopback) -> None:
    found = await ask(server, "wikipedia", "search_wikipedia", query="seven arches bridge", limit=2)
    assert [found[name] for name in ("query", "status", "count", "language")] == [
        "seven arches bridge",
        "success",
        2,
        "en",
    ]
    first = found["results"][0]
    assert set(first) == {"title", "snippet", "pageid", "wordcount", "timestamp"}
    assert first["title"] == "Skarrow Bridge"
    assert '<span class="searchmatch">' in first["snippet"]
    nothing = await ask(server, "wikipedia", "search_wikipedia", query="xyzzy")
    assert (nothing["status"], nothing["results"], nothing["count"]) == ("no_results", [], 0)
    assert (await ask(server, "wikipedia", "search_wikipedia", query=" "))["status"] == "error"


async def test_get_article_follows_redirects_and_nests_its_sections(server: Loopback) -> None:
    found = await ask(server, "wikipedia", "get_article", title="Bridge of Skarrow")
    assert (found["title"], found["exists"], found["url"]) == (
        "Skarrow Bridge",
        True,
        "https://wiki.example/wiki/Skarrow_Bridge",
    )
    assert found["summary"].endswith("has seven arches.")
    assert "== History ==" in found["text"]
    assert (found["links"], found["categories"]) == (["Ilse Tarnow", "Ostermoor"], ["Category:Pages of wiki.example"])
    deep = await ask(server, "wikipedia", "get_sections", title="deep_article")
    one, two = deep["sections"]
    assert (one["title"], one["level"], one["text"]) == ("One", 0, "First. Second. Third.")
    assert one["sections"] == [{"title": "Inner", "level": 1, "text": "Inside.", "sections": []}]
    assert (two["title"], two["sections"], deep["title"]) == ("Two", [], "deep_article")


async def test_get_summary_is_the_lead(server: Loopback) -> None:
    found = await ask(server, "wikipedia", "get_summary", title="Deep article")
    assert found == {"title": "Deep article", "summary": "A lead about Skarrow Bridge and Ostermoor."}


async def test_summarize_article_section_is_how_it_begins(server: Loopback) -> None:
    asked = {"title": "Deep article", "section_title": "two"}
    short = await ask(server, "wikipedia", "summarize_article_section", max_length=9, **asked)
    assert short == {**asked, "summary": "Word Word..."}
    inner = await ask(server, "wikipedia", "summarize_article_section", title="Deep article", section_title="inner")
    assert inner["summary"] == "Inside."
    absent = await ask(server, "wikipedia", "summarize_article_section", title="Deep article", section_title="Ten")
    assert absent["summary"] == "Section 'Ten' not found or is empty in article 'Deep article'."


async def test_extract_key_facts_splits_a_section_or_the_lead(server: Loopback) -> None:
    of_one = await ask(
        server, "wikipedia", "extract_key_facts", title="Deep article", topic_within_article="ONE", count=2
    )
    assert of_one == {"title": "Deep article", "topic_within_article": "ONE", "facts": ["First.", "Second."]}
    whole = await ask(server, "wikipedia", "extract_key_facts", title="Deep article", topic_within_article="none such")
    assert whole["facts"] == ["A lead about Skarrow Bridge and Ostermoor."]


async def test_get_related_topics_are_links_with_leads_then_categories(server: Loopback) -> None:
    found = await ask(server, "wikipedia", "get_related_topics", title="Deep article")
    first, second, third = found["related_topics"]
    assert (first["title"], first["type"], first["url"]) == ("Ostermoor", "link", "https://wiki.example/wiki/Ostermoor")
    assert second["title"] == "Skarrow Bridge"
    assert len(second["summary"]) <= 203
    assert third == {"title": "Pages of wiki.example", "type": "category"}
    assert (
        len((await ask(server, "wikipedia", "get_related_topics", title="Deep article", limit=1))["related_topics"])
        == 1
    )


@pytest.mark.parametrize("title", ["No such page", "Bad <title>", "Skarrow Bridge|Ostermoor"])
async def test_an_article_that_is_not_there_is_said_in_each_tools_own_shape(server: Loopback, title: str) -> None:
    none = f"No Wikipedia article found for '{title}'."
    wanted = {
        "get_article": {"title": title, "exists": False, "error": "Page does not exist"},
        "get_summary": {"title": title, "summary": None, "error": none},
        "get_sections": {"title": title, "sections": []},
        "extract_key_facts": {"title": title, "topic_within_article": "", "facts": [none]},
        "get_related_topics": {"title": title, "related_topics": []},
    }
    assert {tool: await ask(server, "wikipedia", tool, title=title) for tool in wanted} == wanted
    section = await ask(server, "wikipedia", "summarize_article_section", title=title, section_title="x")
    assert section["summary"] == none


@pytest.mark.parametrize("keys", [{"serper": KEY}, {"google-cse": KEY}])
async def test_search_google_over_serper_and_over_custom_search(server: Loopback, keys: dict[str, str]) -> None:
    found = await ask(server, "google", "search_google", keys, query="seven arches bridge", num_results=2)
    assert [set(each) for each in found] == [{"title", "link", "snippet"}] * 2
    assert (found[0]["title"], found[0]["link"]) == ("Skarrow Bridge", "https://wiki.example/wiki/Skarrow_Bridge")
    assert await ask(server, "google", "search_google", keys, query="xyzzy") == []


PAPER = set(
    "paper_id title authors abstract doi published_date pdf_url url source updated_date categories keywords citations "
    "references extra".split()
)


async def test_search_google_scholar(server: Loopback) -> None:
    first, *_ = await ask(server, "scholar", "search_google_scholar", query="scour masonry piers", max_results=3)
    assert set(first) == PAPER
    assert (first["authors"], first["published_date"], first["source"]) == ("I Tarnow", "2019", "google_scholar")
    assert first["citations"] == len(first["title"])
    assert ast.literal_eval(first["extra"]) == {"publication_info": "I Tarnow - papers.example"}
    assert await ask(server, "scholar", "search_google_scholar", query="xyzzy") == []


async def test_search_arxiv(server: Loopback) -> None:
    first, *_ = await ask(server, "papers", "search_arxiv", query="scour at piers", max_results=2)
    assert set(first) == PAPER
    assert (first["title"], first["authors"]) == (
        "Scour at masonry piers: measurements at the Velt",
        "Ilse Tarnow; Jonas Wirral",
    )
    assert (first["paper_id"], first["published_date"]) == ("1901.00005v2", "2019-07-01T08:00:00Z")
    assert (first["url"], first["pdf_url"]) == (
        "http://arxiv.org/abs/1901.00005v2",
        "http://arxiv.org/pdf/1901.00005v2",
    )
    assert (first["categories"], first["doi"]) == ("physics.geo-ph; cs.CE", "10.5555/5")
    (request,) = server.requests
    assert request.body["search_query"] == "all:scour at piers"
    newest, *_ = await ask(server, "papers", "search_arxiv", query="ti:ferry", sort_by="submittedDate")
    assert newest["published_date"].startswith("2022")
    assert await ask(server, "papers", "search_arxiv", query="xyzzy") == []


async def test_search_pubmed(server: Loopback) -> None:
    first, *_ = await ask(server, "papers", "search_pubmed", query="scour piers", max_results=2, sort="pub_date")
    assert set(first) == PAPER
    assert (first["paper_id"], first["url"]) == ("30000006", "https://pubmed.ncbi.nlm.nih.gov/30000006/")
    assert (first["authors"], first["doi"], first["published_date"]) == (
        "Ilse Tarnow",
        "10.5555/velt-scour.pdf",
        "2019-07-01",
    )
    assert server.requests[0].body["sort"] == "pub_date"
    assert await ask(server, "papers", "search_pubmed", query="xyzzy") == []


CALLS = {
    "mediawiki": ("wikipedia", "search_wikipedia"),
    "serper": ("google", "search_google"),
    "cse": ("google", "search_google"),
    "arxiv": ("papers", "search_arxiv"),
    "pubmed": ("papers", "search_pubmed"),
}


def keys_for(route: str) -> dict[str, str]:
    return {"google-cse": KEY} if route == "cse" else {"serper": KEY, "pubmed": KEY}


@pytest.mark.parametrize("route", CALLS)
@pytest.mark.parametrize("retry_after", ["0", None])
async def test_a_busy_service_is_asked_again_with_and_without_its_word_when(
    server: Loopback, route: str, retry_after: str | None
) -> None:
    every = (Behaviour(busy=0.6, busy_statuses=(429,), retry_after=retry_after, seed=seed) for seed in range(99))
    first_alone = (
        each for each in every if [bool(each.fault(route, at)[0]) for at in range(3)] == [True, False, False]
    )
    server.behaviour = next(first_alone)
    kind, tool = CALLS[route]
    assert await ask(server, kind, tool, keys_for(route), query="bridge")
    assert server.counts.requests[route] > 1


@pytest.mark.parametrize("route", CALLS)
@pytest.mark.parametrize("status", [400, 403, 429, 500])
async def test_a_refusing_service_is_named_with_its_status_and_without_its_key(
    server: Loopback, route: str, status: int
) -> None:
    server.behaviour = Behaviour(statuses={route: status}, retry_after="9999", echo_key=True)
    kind, tool = CALLS[route]
    with pytest.raises(ToolFailed, match=f"answered {status}") as caught:
        await ask(server, kind, tool, keys_for(route), query="bridge")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "tool", "body", "told"),
    [
        ("wikipedia", "search_wikipedia", {"error": {"code": "readonly", "info": "locked"}}, "error readonly: locked"),
        ("wikipedia", "get_article", {"error": {"code": "badvalue", "info": "bad"}}, "the error badvalue: bad"),
        ("wikipedia", "get_article", {"query": {"pages": [{"title": "x"}]}}, "no text of an article"),
        ("papers", "search_pubmed", {"esearchresult": {"ERROR": "Empty term"}}, "the error: Empty term"),
        ("papers", "search_pubmed", {"header": {}}, "no result of a search"),
        ("papers", "search_arxiv", b"<html><body>Sign in</body></html>", "no feed of preprints"),
        ("papers", "search_arxiv", b"", "no feed of preprints"),
        ("google", "search_google", b"<html>", "no JSON object"),
        ("scholar", "search_google_scholar", {"x": 1}, "no results and no account"),
    ],
)
async def test_an_error_in_an_answer_of_status_200_is_an_error(kind: str, tool: str, body: Any, told: str) -> None:
    name = "title" if tool == "get_article" else "query"
    with pytest.raises(ToolFailed, match=told):
        await ask(said(body), kind, tool, None, **{name: "bridge"})


async def test_arxivs_empty_page_is_asked_for_again_and_its_error_feed_is_an_error(server: Loopback) -> None:
    with pytest.raises(ToolFailed, match="an empty page 3 times, though it has results"):
        await ask(server, "papers", "search_arxiv", query="emptypage bridge")
    assert server.counts.requests["arxiv"] == 3
    with pytest.raises(ToolFailed, match="malformed query: a quotation mark is missing"):
        await ask(server, "papers", "search_arxiv", query='ti:"bridge')


@pytest.mark.parametrize(
    ("kind", "tool", "arguments"),
    [
        ("wikipedia", "search_wikipedia", {"query": "x", "limit": 0}),
        ("wikipedia", "search_wikipedia", {"query": "x", "limit": 501}),
        ("wikipedia", "get_article", {"query": "x"}),
        ("papers", "search_arxiv", {"query": "x", "sort_by": "date"}),
        ("papers", "search_pubmed", {"query": ""}),
        ("google", "search_google", {"query": "x", "num_results": "ten"}),
    ],
)
async def test_arguments_that_do_not_fit_reach_no_service(
    server: Loopback, kind: str, tool: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ToolFailed, match="wrong arguments"):
        await ask(server, kind, tool, None, **arguments)
    assert not server.requests


def test_a_server_without_its_key_or_of_another_name_or_beyond_this_machine_is_refused() -> None:
    nothing = sources("http://127.0.0.1:1")
    for kind, told in (("google", "no key"), ("scholar", "no key"), ("wikipedai", "there is no tool server")):
        with pytest.raises(UsageError, match=told):
            build_tool_server(kind, nothing)
    for place in ("0.0.0.0:80", "example.org:80", "127.0.0.1:x", "127.0.0.1:70000", "8080", "127.0.0.1:٨٠٨٠"):
        with pytest.raises(UsageError, match="not an address on this machine"):
            serve_http(build_tool_server("papers", nothing), place, "", print)


@pytest.fixture
def environment(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDARGUE_WIKIPEDIA_URL", server.url)
    monkeypatch.setenv("REDARGUE_ARXIV_URL", server.url)
    monkeypatch.setenv("REDARGUE_PUBMED_URL", f"{server.url}/entrez/eutils")
    monkeypatch.setenv("REDARGUE_SERPER_URL", f"{server.url}/serper")
    monkeypatch.setenv("SERPER_API_KEY", KEY)


COMMAND = (sys.executable, "-m", "redargue.cli.app", "mcp-tools")


@pytest.mark.usefixtures("environment")
@pytest.mark.slow
async def test_the_command_serves_over_standard_input_and_output(server: Loopback) -> None:
    passed = {"REDARGUE_WIKIPEDIA_URL": server.url, "REDARGUE_MCP_OURS_ENV": "REDARGUE_WIKIPEDIA_URL"}
    (ours,) = servers([f"ours={' '.join(COMMAND)} wikipedia"], sources(server.url), passed)
    async with ours:
        tools = await list_tools([ours])
        (found,) = await tools["get_summary"].call({"title": "Ostermoor"}, search=Search(account=Account()))
    assert "41,200 inhabitants" in found.text


@pytest.fixture
def papers(environment: None) -> Iterator[str]:
    """The address of the papers' server over HTTP."""
    command = [*COMMAND, "papers", "--http", "127.0.0.1:0", "--no-token"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.kill()


@pytest.mark.slow
async def test_the_command_serves_over_http(server: Loopback, papers: str) -> None:
    (ours,) = servers([papers], sources(server.url), {})
    async with ours:
        tools = await list_tools([ours])
        (found,) = await tools["search_arxiv"].call({"query": "scour"}, search=Search(account=Account()))
    assert found.url.startswith("http://arxiv.org/abs/")


@pytest.mark.usefixtures("environment")
def test_the_tools_of_servers_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["list", "tools", "--json", "--mcp", "wikipedia", "--mcp", "google"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["search_google"]["parameters"]["required"] == ["query"]
    assert len(told) == 8
