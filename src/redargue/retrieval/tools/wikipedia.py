"""Wikipedia by MediaWiki's Action API: reads whole articles and shows the best excerpt of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from importlib.metadata import version
from typing import Any, ClassVar

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]

from redargue.concurrency import gather_or_cancel
from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.corpus.documents import SIZE, chunks
from redargue.retrieval.corpus.ranking import Span, best_excerpt, word_scores
from redargue.retrieval.tools import Search, tools
from redargue.retrieval.tools.online import OnlineTool, clean, dicts, storable, web_address

_EXCERPT = 2 * SIZE  # characters of an excerpt, as in the corpus
BLOCK, REGION = 5_000, 100_000  # characters: of a longer page, only the best region is split into sentences
GONE = frozenset({"missingtitle", "nosuchpageid", "nosuchrevid", "permissiondenied"})


@tools.register("wikipedia")
class WikipediaTool(OnlineTool):
    """Searches one language's Wikipedia: one excerpt per article, at most 50, from the revision of the as-of date.

    Disambiguation pages and articles that did not exist on that date are skipped. ``service.extra["contact"]`` is sent
    to Wikimedia; UsageError if a header cannot hold it.
    """

    name: ClassVar[str] = "wikipedia"
    about: ClassVar[str] = "the articles of Wikipedia, of which it shows the parts that fit the query"
    max_query: ClassVar[int] = 300  # the service refuses more
    max_results: ClassVar[int] = 50
    hints: ClassVar[Mapping[int, str]] = {
        403: "Wikimedia requires a contact: export REDARGUE_CONTACT=you@example.org",
        429: "too many requests: export REDARGUE_CONTACT=you@example.org, and try again later",
    }

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        super().__init__(service, transport, price=price)
        contact = service.extra.get("contact", "").strip()
        if not contact.isascii() or not contact.isprintable():
            what = f"{contact!r} cannot be sent as a contact"
            raise UsageError(what, where="REDARGUE_CONTACT", hint="give a mail or web address")
        comment = contact or "claim verification; no contact set"
        self._headers = {"User-Agent": f"redargue/{version('redargue')} ({comment})"}

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        answer = await self._query(search, list="search", srsearch=query, srlimit=k, srprop="")
        ids = [hit.get("pageid") for hit in self.listed(answer, "search")]
        pages = dict.fromkeys(page for page in ids if type(page) is int and page > 0)
        return filter(None, await gather_or_cancel([self._passage(page, query, search) for page in pages]))

    async def _passage(self, number: int, query: str, search: Search) -> Passage | None:
        page = await (self._as_of(number, search.as_of, search) if search.as_of else self._now(number, search))
        if page is None:
            return None
        start, end = await asyncio.to_thread(_excerpt, page["text"], query)
        return Passage(
            text=page["text"],
            title=clean(page.get("title")),
            document=str(number),
            url=web_address(page.get("fullurl")),
            publisher="Wikipedia",
            published=page["published"],
        ).part(start, end)

    async def _now(self, number: int, search: Search) -> dict[str, Any] | None:
        page = await self._page(
            number, search, "extracts|info|pageprops|revisions", explaintext=1, exlimit=1, exsectionformat="wiki"
        )
        extract = page.get("extract") if page else None
        if page is None or not isinstance(extract, str):
            return None
        (revision,) = dicts(page.get("revisions"))[:1] or [{}]
        return page | {"text": storable(extract), "published": clean(revision.get("timestamp"))}

    async def _as_of(self, number: int, day: date, search: Search) -> dict[str, Any] | None:
        """The article's last revision of a day (UTC) or before."""
        limit = f"{day.isoformat()}T23:59:59Z"
        page = await self._page(number, search, "info|pageprops|revisions", rvstart=limit, rvdir="older", rvlimit=1)
        revisions = dicts(page.get("revisions"))[:1] if page else []
        if page is None or not revisions or not isinstance(revisions[0].get("revid"), int):
            return None
        published = clean(revisions[0].get("timestamp"))
        if not published or published > limit:
            return None
        params = {"action": "parse", "oldid": revisions[0]["revid"], "prop": "text"}
        params |= {"disableeditsection": 1, "disabletoc": 1, "disablelimitreport": 1}
        answer = await self._api(search, params)
        parsed = answer.get("parse")
        markup = parsed.get("text") if isinstance(parsed, dict) else None
        if answer and not isinstance(markup, str):
            raise self.unreadable("no text of a revision")
        return page | {"text": await asyncio.to_thread(_plain, markup or ""), "published": published}

    async def _page(self, number: int, search: Search, props: str, **params: Any) -> dict[str, Any] | None:
        fixed = {"inprop": "url", "ppprop": "disambiguation", "rvprop": "ids|timestamp"}
        page = await self._first_page(search, pageids=number, prop=props, **fixed, **params)
        properties = page.get("pageprops") if page else None
        return None if isinstance(properties, dict) and "disambiguation" in properties else page

    async def _first_page(self, search: Search, **params: Any) -> dict[str, Any] | None:
        answer = await self._query(search, redirects=1, **params)
        page = next(iter(dicts(answer.get("pages"))), None)
        return None if page is None or page.get("missing") or page.get("invalid") else page

    async def _query(self, search: Search, **params: Any) -> dict[str, Any]:
        answer = await self._api(search, {"action": "query", **params})
        query = answer.get("query", {})
        if not isinstance(query, dict):
            raise self.unreadable("no result of the query")
        return query

    async def _api(self, search: Search, params: Mapping[str, Any]) -> dict[str, Any]:
        """An answer of the Action API, which reports errors with HTTP 200; empty if the page no longer exists."""
        params = {**params, "format": "json", "formatversion": 2}
        answer = await self.ask("GET", "/w/api.php", search=search, headers=self._headers, params=params)
        if "error" not in answer:
            return answer
        error = answer["error"] if isinstance(answer["error"], dict) else {}
        code = clean(error.get("code")) or "unknown"
        if code in GONE:
            return {}
        what = f"wikipedia answered with the error {code[:50]}: {clean(error.get('info'))[:200]}"
        busy = code in ("maxlag", "ratelimited", "readonly")
        raise ToolFailed(what, hint="Wikipedia is busy; try again later" if busy else "")


def _excerpt(text: str, query: str) -> Span:
    first, last = 0, len(text)
    if last > REGION:  # splitting a megabyte into sentences takes a second
        blocks = list(_blocks(text))
        first, last = best_excerpt(blocks, word_scores([text[start:end] for start, end in blocks], query), REGION)
    pieces = chunks(text[first:last])
    if not pieces:
        return 0, 0
    scores = word_scores([piece.text for piece in pieces], query)
    start, end = best_excerpt([(piece.start, piece.end) for piece in pieces], scores, _EXCERPT)
    return first + start, first + end


def _blocks(text: str) -> Iterator[Span]:
    """Spans of at most ``BLOCK`` characters that end at the end of a line, or at least between words."""
    start = 0
    while start < len(text):
        end = start + BLOCK
        if end < len(text):
            cuts = (text.rfind(mark, start, end) for mark in "\n ")
            end = next((cut for cut in cuts if cut > start), end - 1) + 1
        yield start, min(end, len(text))
        start = end


# What TextExtracts removes from an article's plain text, as far as it can be recognised by class.
_CLASSES = (
    "ambox catlinks gallery hatnote infobox metadata mw-editsection mw-empty-elt mw-references-wrap navbox "
    "navigation-not-searchable noexcerpt noprint printfooter redirectMsg reference references reflist "
    "shortdescription side-box sistersitebox sortkey thumb toc"
).split()
_DROPPED = lxml.etree.XPath(
    "//style | //script | //table | //figure | //annotation | //comment() | //*["
    + " or ".join(f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')" for name in _CLASSES)
    + "]"
)
_BLOCKS = frozenset("blockquote br dd div dl dt li ol p pre ul".split())
_HEADINGS = {f"h{level}": "=" * level for level in range(2, 7)}


def _plain(markup: str) -> str:
    """The running text of an article's HTML: paragraphs and lists by line, headings as ``== History ==``."""
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        # In HTML a line end is a space; bytes, so that no declaration inside can contradict the encoding.
        page = markup.replace("\n", " ").encode("utf-8", "replace")
        tree = lxml.html.document_fromstring(page, parser=parser)
    except lxml.etree.ParserError:  # the page is empty
        return ""
    for element in _DROPPED(tree):
        if element.getparent() is not None:
            element.drop_tree()
    for element in tree.iter():
        if element.tag in _HEADINGS:
            marks = _HEADINGS[element.tag]
            element.text = f"\n\n{marks} {element.text or ''}"
            if len(element):
                element[-1].tail = f"{element[-1].tail or ''} {marks}"
            else:
                element.text += f" {marks}"
            element.tail = f"\n{element.tail or ''}"
        elif element.tag in _BLOCKS:
            element.text, element.tail = f"\n{element.text or ''}", f"\n{element.tail or ''}"
    lines = (" ".join(line.split()) for line in storable(tree.text_content()).split("\n"))
    return "\n".join(f"\n{line}" if line.startswith("==") else line for line in lines if line).strip()
