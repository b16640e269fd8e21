"""PubMed as a source of evidence."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import httpx2
import pytest

from redargue.errors import BudgetReached, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.literature import PubmedTool
from redargue.runs.budget import Account, Budget
from support.loopback import DOCUMENTS, Behaviour, Doc, Loopback
from support.loopback_papers import article, article_set

pytestmark = pytest.mark.anyio

KEY = "ncbi0a1b2c3d4e5f60718293a4b5c6d7e8f9"
AS_OF = Search(as_of=date(2021, 3, 3))
LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10 if at else "ha"}">' for at in range(12))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def service(url: str, *, key: str = KEY, mailto: str = "", seconds: float = 60) -> Service:
    return Service(name="pubmed", url=url, key=key, timeout=seconds, extra={"mailto": mailto})


async def ask(
    to: Loopback | str,
    query: str = "Who built Skarrow Bridge?",
    k: int = 3,
    *,
    found: Any = None,
    search: Search | None = None,
    price: float = 0.0,
    **options: Any,
) -> tuple[Passage, ...]:
    """Searches on the server, or where that text is what efetch answers and ``found`` what esearch does."""
    inner, url = None, "http://127.0.0.1:1"
    if isinstance(to, Loopback):
        url = f"{to.url}/entrez/eutils"
    else:
        text, first = to, {"esearchresult": {"idlist": ["7", "8", "9"]}} if found is None else found
        first = first if isinstance(first, str) else json.dumps(first)
        inner = httpx2.MockTransport(
            lambda request: httpx2.Response(200, text=first if "esearch" in request.url.path else text)
        )
    async with Transport(patience=0, inner=inner) as transport:
        tool = PubmedTool(service(url, **options), transport, price=price)
        return await tool.search(query, k, search=search or Search())


def record(abstract: str = "<AbstractText>Seven.</AbstractText>", number: str = "7", **parts: str) -> str:
    """A record; ``title``, ``journal``, ``issue`` (a PubDate's inside) and ``online`` (an ArticleDate's) fill it."""
    online = f'<ArticleDate DateType="Electronic">{parts["online"]}</ArticleDate>' if "online" in parts else ""
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{number}</PMID><Article><Journal><JournalIssue><PubDate>'
        f"{parts.get('issue', '')}</PubDate></JournalIssue>{parts.get('journal', '')}</Journal>"
        f"<ArticleTitle>{parts.get('title', '')}</ArticleTitle><Abstract>{abstract}</Abstract>{online}</Article>"
        "</MedlineCitation></PubmedArticle>"
    )


async def test_the_requests_are_those_that_ncbi_documents(server: Loopback) -> None:
    await ask(server, k=300, mailto="me@example.org", search=AS_OF)
    first, second = server.requests
    told = {"db": "pubmed", "tool": "redargue", "email": "me@example.org", "api_key": KEY}
    assert first.path == "/entrez/eutils/esearch.fcgi"
    assert first.body == {
        **told,
        "term": "(Who built Skarrow Bridge?) AND hasabstract",
        "retmode": "json",
        "retmax": "100",
        "sort": "relevance",
        "datetype": "pdat",
        "mindate": "1000/01/01",
        "maxdate": "2021/03/03",
    }
    assert second.path == "/entrez/eutils/efetch.fcgi"
    assert second.body == {**told, "id": "30000001,30000003,30000002,30000006", "retmode": "xml"}


async def test_without_key_and_address_neither_is_sent(server: Loopback) -> None:
    assert len(await ask(server, key="")) == 3
    assert all({*request.body} & {"api_key", "email"} == set() for request in server.requests)


async def test_passages_come_in_the_searchs_order_with_their_source(server: Loopback) -> None:
    found = await ask(server)
    assert [(each.rank, each.document) for each in found] == [(1, "30000001"), (2, "30000003"), (3, "30000002")]
    first = found[0]
    assert (first.title, first.publisher, first.published) == (
        "Skarrow Bridge.",
        "Annals of wiki.example",
        "2014-05-02",
    )
    assert first.url == "https://pubmed.ncbi.nlm.nih.gov/30000001/"
    assert (first.query, first.tool, first.score) == ("Who built Skarrow Bridge?", "pubmed", None)
    parts = DOCUMENTS[0].text.replace("\n\n== History ==\n", "\nHISTORY: ").replace("\n\n== Today ==\n", "\nTODAY: ")
    assert first.text == f"BACKGROUND: {parts}"
    assert await ask(server) == found


async def test_what_was_published_after_the_day_is_not_asked_for(server: Loopback) -> None:
    found = await ask(server, "electric ferry of Quillhaven", 9, search=AS_OF)
    assert "Mayor Wirral opens the new ferry of Quillhaven." in [each.title for each in found]
    assert all(each.published <= "2021-03-03" for each in found)


async def test_records_without_abstract_are_passed_over() -> None:
    empty = article_set(record("", "7"), record("<AbstractText> </AbstractText>", "8"), record(number="9"))
    said = json.dumps({"esearchresult": {"idlist": ["9", "8", "7"]}})
    inner = httpx2.MockTransport(lambda r: httpx2.Response(200, text=said if "esearch" in r.url.path else empty))
    async with Transport(inner=inner) as transport:
        tool = PubmedTool(service("http://127.0.0.1:1"), transport)
        assert [each.document for each in await tool.search("arches", 3, search=Search())] == ["9"]


async def test_a_long_abstract_stays_whole() -> None:
    text = "The flood took two of its arches. " * 500 + "They were rebuilt."
    with Loopback(documents=(Doc("Arches", "https://a.example/x", text),)) as server:
        (passage,) = await ask(server, "arches")
    assert passage.text == text


async def test_no_results_are_no_error_and_a_blank_query_is_not_sent(server: Loopback) -> None:
    assert await ask(server, "xyzzy") == ()
    assert [request.path.rpartition("/")[2] for request in server.requests] == ["esearch.fcgi"]
    for blank in (" \n\ud800 ", "()", '?"'):
        assert await ask(server, blank) == ()
    assert await ask(server, k=0) == ()
    assert server.counts.requests["pubmed"] == 1


@pytest.mark.parametrize(
    ("query", "term"),
    [
        ("(statins OR aspirin) AND surgery[ti]", "(statins OR aspirin) AND surgery[ti]"),
        ("statins) OR (all[sb]", "statins OR all[sb]"),
        ("a (b", "a b"),
        ('the "long QT', "the long QT"),
        ("word " * 200, ("word " * 80).strip()),
    ],
)
async def test_a_query_cannot_break_out_of_its_brackets(server: Loopback, query: str, term: str) -> None:
    await ask(server, query)
    assert server.requests[0].body["term"] == f"({term}) AND hasabstract"


async def test_a_structured_abstract_keeps_its_labels_and_markup_becomes_text() -> None:
    parts = """<AbstractText Label="AIMS:" NlmCategory="OBJECTIVE">To test <i>H.
    pylori</i> &amp; CO<sub>2</sub> at 10<sup>-3</sup> m<sup>2</sup><sup>a</sup>.</AbstractText>
    <AbstractText Label="UNLABELLED">p &lt; 0.05 &amp;lt; 0.1.</AbstractText><AbstractText/>
    <!-- note --><AbstractText Label="RESULTS"><b>No</b> effect&#x2009;(n = 12).</AbstractText>
    <CopyrightInformation>© 2020 A. Publisher.</CopyrightInformation>"""
    journal = "<Title>Annals of <i>Bridges</i></Title>"
    text = article_set(record(parts, title="On <i>arches</i>.", journal=journal))
    (passage,) = await ask(text)
    assert passage.text.split("\n") == [
        "AIMS: To test H. pylori & CO2 at 10⁻³ m²a.",
        "p < 0.05 < 0.1.",
        "RESULTS: No effect (n = 12).",
    ]
    assert (passage.title, passage.publisher) == ("On arches.", "Annals of Bridges")


@pytest.mark.parametrize(
    ("issue", "online", "read"),
    [
        ("<Year>2021</Year><Month>Mar</Month><Day>3</Day>", "", "2021-03-03"),
        ("<Year>2021</Year><Month>03</Month>", "", "2021-03"),
        ("<Year>2021</Year><Season>Spring</Season>", "", "2021"),
        ("<Year>2021</Year><Month>Feb</Month><Day>30</Day>", "", "2021-02"),
        ("<Year>2021</Year><Month>Sol</Month><Day>x</Day>", "", "2021"),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "", "1998"),
        ("<MedlineDate>Winter</MedlineDate>", "", ""),
        ("<Year>MMXXI</Year>", "", ""),
        ("", "", ""),
        ("<Year>2021</Year><Month>Mar</Month>", "<Year>2020</Year><Month>11</Month><Day>05</Day>", "2020-11-05"),
        ("<Year>2021</Year>", "<Year>2021</Year><Month>2</Month><Day>5</Day>", "2021-02-05"),
        ("<Year>2020</Year>", "<Year>2021</Year><Month>2</Month><Day>5</Day>", "2020"),
        ("", "<Year>2021</Year><Month>2</Month><Day>5</Day>", "2021-02-05"),
    ],
)
async def test_the_date_is_the_first_one_as_far_as_it_is_stated(issue: str, online: str, read: str) -> None:
    parts = {"issue": issue} | ({"online": online} if online else {})
    (passage,) = await ask(article_set(record(**parts)))
    assert passage.published == read


async def test_a_record_later_than_the_day_is_never_shown_and_an_undated_one_is() -> None:
    dated = [record(issue="<Year>2022</Year>"), record("<AbstractText>A.</AbstractText>", "8", issue="")]
    dated.append(record("<AbstractText>B.</AbstractText>", "9", issue="<Year>2021</Year>"))
    found = await ask(article_set(*dated), search=AS_OF)
    assert [(each.document, each.published) for each in found] == [("8", ""), ("9", "2021")]


async def test_a_chapter_of_a_book_is_read_too() -> None:
    book = """<PubmedBookArticle><BookDocument><PMID Version="1">8</PMID><Book><Publisher><PublisherName>NCBI Shelf
    </PublisherName></Publisher><BookTitle>Bridges</BookTitle><PubDate><Year>2019</Year></PubDate></Book>
    <Abstract><AbstractText>Stone lasts.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"""
    (passage,) = await ask(article_set(book))
    assert (passage.text, passage.title, passage.document) == ("Stone lasts.", "Bridges", "8")
    assert (passage.publisher, passage.published) == ("NCBI Shelf", "2019")


async def test_records_that_lack_parts_or_were_not_asked_for_are_left_out() -> None:
    odd = [
        "<DeleteCitation><PMID>7</PMID></DeleteCitation>",
        "<PubmedArticle/>",
        "<PubmedArticle><MedlineCitation><PMID>7</PMID></MedlineCitation></PubmedArticle>",
        "<PubmedArticle><MedlineCitation><Article/></MedlineCitation></PubmedArticle>",
        record(number="x7"),
        record(number="12"),
        "<PubmedArticle><MedlineCitation><PMID>8</PMID><Article><Abstract><AbstractText>Bare.</AbstractText></Abstract>"
        "</Article></MedlineCitation></PubmedArticle>",
        record("<AbstractText>Again.</AbstractText>", number="8"),
    ]
    (passage,) = await ask(article_set(*odd))
    assert (passage.text, passage.title, passage.publisher, passage.published) == ("Bare.", "", "", "")
    assert await ask(article_set()) == ()


@pytest.mark.parametrize("ids", [["7", "7", None, 8, "8 OR 1", "١٢", "", "7" * 13], ["7"]])
async def test_only_numbers_are_asked_for(ids: list[Any]) -> None:
    sent: list[Mapping[str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(dict(request.url.params))
        first = json.dumps({"esearchresult": {"idlist": ids}})
        return httpx2.Response(200, text=first if len(sent) == 1 else article_set(record()))

    async with Transport(inner=httpx2.MockTransport(answer)) as transport:
        (passage,) = await PubmedTool(service("http://127.0.0.1:1"), transport).search("arches", 3, search=Search())
    assert (sent[1]["id"], passage.text) == ("7", "Seven.")


@pytest.mark.parametrize(
    "found",
    [
        "<html>Sign in</html>",
        "",
        '{"esearchresult": {"idlist": [',
        "[" * 100_000,
        [],
        {},
        {"esearchresult": []},
        {"esearchresult": {}},
        {"esearchresult": {"idlist": None}},
        {"esearchresult": {"idlist": "7,8"}},
    ],
)
async def test_a_search_answered_with_another_kind_is_an_error_without_the_answer_in_it(found: Any) -> None:
    with pytest.raises(ToolFailed, match="pubmed answered with no") as caught:
        await ask(article_set(record()), found=found)
    assert "<html>" not in str(caught.value)


async def test_an_error_that_comes_with_status_200_is_an_error() -> None:
    said = "Search Backend failed: <b>address</b> table is empty " + "x" * 999
    with pytest.raises(ToolFailed, match="the error: Search Backend failed: address table is empty x") as caught:
        await ask("", found={"esearchresult": {"ERROR": said}})
    assert len(caught.value.what) < 300


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!DOCTYPE html><html><head><title>Error</title><body>Gateway<br>down</html>",
        "<html><body>Down</body></html>",
        '{"error": "API rate limit exceeded"}',
        article_set(record())[:-30],
        article_set(record().replace("Seven.", "Seven\x01.")),
        article_set("<PubmedArticle>" * 500),
        "<PubmedArticleSet>&nbsp;</PubmedArticleSet>",
    ],
)
async def test_records_of_another_kind_are_an_error_without_the_answer_in_it(text: str) -> None:
    with pytest.raises(ToolFailed, match="pubmed answered with no set of records") as caught:
        await ask(text)
    assert "Gateway" not in str(caught.value)


@pytest.mark.parametrize(
    "inside",
    [
        LAUGHS,
        '<!ENTITY l11 SYSTEM "file:///etc/passwd">',
        '<!ENTITY % more SYSTEM "http://127.0.0.1:9/x.dtd"> %more; <!ENTITY l11 "x">',
    ],
)
async def test_entities_are_neither_expanded_nor_fetched(inside: str) -> None:
    text = f"<!DOCTYPE PubmedArticleSet [{inside}]><PubmedArticleSet>"
    text += record("<AbstractText Label='&l11;'>&l11;</AbstractText>") + "</PubmedArticleSet>"
    seconds = []
    for _ in range(3):  # a garbage collection may fall into one of them
        began = time.process_time()
        with pytest.raises(ToolFailed, match="no set of records"):
            await ask(text)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 1.0


async def test_a_dtd_is_not_loaded_and_a_declaration_cannot_contradict_the_encoding(server: Loopback) -> None:
    text = article_set(record("<AbstractText>Zürich bridge.</AbstractText>"))
    text = text.replace("https://dtd.nlm.nih.gov/ncbi/pubmed/out", server.url)
    text = text.replace('version="1.0"', 'version="1.0" encoding="UTF-16"')
    (passage,) = await ask(text)
    assert passage.text == "Zürich bridge."
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (400, "API key invalid", "NCBI_API_KEY"),
        (403, "Status 403", "REDARGUE_MAILTO"),
        (301, "Status 301", "REDARGUE_PUBMED_URL"),
        (404, "Status 404", "REDARGUE_PUBMED_URL"),
        (429, "API rate limit exceeded", "REDARGUE_PUBMED_REQUESTS_PER_MINUTE"),
        (500, "Internal Server Error", "later"),
        (503, "Status 503", "later"),
    ],
)
async def test_an_error_says_what_the_service_said_but_not_the_key(
    server: Loopback, status: int, said: str, hint: str
) -> None:
    server.behaviour = Behaviour(statuses={"pubmed": status}, echo_key=True, retry_after="9999")
    with pytest.raises(ToolFailed) as caught:
        await ask(server)
    assert f"pubmed answered {status}: {said}" in caught.value.what
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
    server.behaviour = Behaviour(hang_routes=("pubmed",))
    with pytest.raises(ToolFailed) as caught:
        await ask(server, seconds=0.1)
    assert "pubmed gave no answer in 0.1 s" in caught.value.what
    with pytest.raises(ToolFailed) as unreachable:
        async with Transport(patience=0) as transport:
            await PubmedTool(service("http://127.0.0.1:1"), transport).search("bridge", 3, search=Search())
    shown = caplog.text + "".join(record.getMessage() for record in caplog.records)
    assert "esearch.fcgi" in shown
    assert KEY not in shown + str(caught.value) + str(unreachable.value) + repr(unreachable.value.__cause__)


async def test_a_busy_service_is_asked_again_when_it_says(server: Loopback) -> None:
    server.behaviour = Behaviour(busy=0.5, busy_statuses=(429,), retry_after="0", seed=1)
    for _ in range(4):
        assert len(await ask(server)) == 3
    assert server.counts.requests["pubmed"] > 8


async def test_offline_nothing_is_asked() -> None:
    async with Transport(offline=True) as transport:
        tool = PubmedTool(service("https://eutils.ncbi.nlm.nih.gov/entrez/eutils"), transport)
        with pytest.raises(ToolFailed, match="--offline"):
            await tool.search("bridge", 3, search=Search())


async def test_both_requests_are_paid_for_and_the_budget_is_kept(server: Loopback) -> None:
    account = Account(Budget(usd=0.03), charge="search")
    await ask(server, price=0.01, search=Search(account=account))
    assert (account.usd, account.requests) == (0.02, 2)
    with pytest.raises(BudgetReached):
        await ask(server, price=0.01, search=Search(account=account))


async def test_it_is_made_from_the_settings_and_needs_no_key() -> None:
    def made(**services: Service) -> Any:
        return tools["pubmed"].make(Sources(corpus=no_corpus, transport=Transport(), services=services))

    def no_corpus() -> Any:
        raise AssertionError("not needed")

    tool = made(pubmed=service("https://user:password9@eutils.example/entrez/eutils?x=1", key=""))
    assert isinstance(tool, PubmedTool)
    assert (tool.online, tool.name, tool.revision) == (True, "pubmed", "https://eutils.example/entrez/eutils")
    with pytest.raises(UsageError, match="REDARGUE_PUBMED_URL"):
        made()
    for wrong in ("me", "me@x y@z", "me@example.org\r\nX: 1"):
        with pytest.raises(UsageError, match="REDARGUE_MAILTO"):
            made(pubmed=service("https://eutils.example", mailto=wrong))


async def test_a_record_as_ncbi_writes_it_is_read_whole() -> None:
    (passage,) = await ask(article_set(article("7", DOCUMENTS[3])))
    assert passage.text == DOCUMENTS[3].text
    assert passage.published == "2021-03-03"
