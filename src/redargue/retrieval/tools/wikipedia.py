"""Wikipedia by MediaWiki's Action API: whole articles are read, and the best excerpt of each is shown."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from importlib.metadata import version
from typing import Any, ClassVar

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]

from redargue.concurrency import gather_or_cancel
from redargue.errors import ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.corpus.chunk import SIZE, chunks
from redargue.retrieval.corpus.ranking import Span, best_excerpt, fts5_query
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import OnlineTool, address, clean, cut, dicts, storable

LONGEST_QUERY = 300  # characters; the service refuses more
MOST_PAGES = 50
EXCERPT = 2 * SIZE  # characters that stand for a page, as in the corpus
BLOCK, REGION = 5_000, 100_000  # characters: of a longer page, only the best region is cut into sentences
GONE = frozenset({"missingtitle", "nosuchpageid", "nosuchrevid", "permissiondenied"})


@tools.register("wikipedia")
class WikipediaTool(OnlineTool):
    """Searches one language's Wikipedia.

    Args:
        service: its address, which holds the language; ``extra["contact"]`` is told to Wikimedia.
        transport: sends the requests.
        price: US dollars a request.

    Raises:
        UsageError: a contact that cannot be sent.
    """

    name: ClassVar[str] = "wikipedia"
    about: ClassVar[str] = "the articles of Wikipedia, of which it shows the parts that fit the query"
    hints: ClassVar[Mapping[int, str]] = {
        403: "Wikimedia wants to know whom to ask: export REDARGUE_CONTACT=you@example.org",
        429: "Wikimedia is asked too often: export REDARGUE_CONTACT=you@example.org, and try again later",
    }

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        super().__init__(service, transport, price=price)
        contact = service.extra.get("contact", "").strip()
        if not contact.isascii() or not contact.isprintable():
            raise UsageError(
                f"{contact!r} cannot be sent as a contact", where="REDARGUE_CONTACT", hint="give a mail or web address"
            )
        known = contact or "claim verification; no contact set"
        self._headers = {"User-Agent": f"redargue/{version('redargue')} ({known})"}

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` excerpts, one an article; with ``search.as_of``, of what stood there at the end of that day.

        Fewer come where hits are disambiguation pages, or articles that did not exist yet.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for a request.
        """
        asked = cut(query, LONGEST_QUERY)
        if k < 1 or not asked:
            return ()
        found = await self._query(search, list="search", srsearch=asked, srlimit=min(k, MOST_PAGES), srprop="")
        if not isinstance(found.get("search"), list):
            raise self.unreadable("no list of results")
        hits = [hit.get("pageid") for hit in dicts(found["search"])]
        pages = dict.fromkeys(hit for hit in hits if type(hit) is int and hit > 0)
        shown = await gather_or_cancel([self._passage(page, asked, search) for page in pages])
        return self.ordered((passage for passage in shown if passage), k, query)

    async def _passage(self, number: int, query: str, search: Search) -> Passage | None:
        """An article's best excerpt; None where there is nothing to show."""
        page = await (self._as_of(number, search.as_of, search) if search.as_of else self._now(number, search))
        if page is None:
            return None
        text, start = await asyncio.to_thread(_excerpt, page["text"], query)
        url = address(page.get("fullurl"))
        return Passage(
            text=text,
            start=start,
            title=clean(page.get("title")),
            document=str(number),
            url=url,
            publisher="Wikipedia",
            published=page["published"],
        )

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
        """The article as it stood at the end of a day (UTC)."""
        limit = f"{day.isoformat()}T23:59:59Z"
        page = await self._page(number, search, "info|pageprops|revisions", rvstart=limit, rvdir="older", rvlimit=1)
        revisions = dicts(page.get("revisions"))[:1] if page else []
        if page is None or not revisions or not isinstance(revisions[0].get("revid"), int):
            return None
        published = clean(revisions[0].get("timestamp"))
        if not published or published > limit:
            return None
        params = {"action": "parse", "oldid": revisions[0]["revid"], "prop": "text"}
        off = {"disableeditsection": 1, "disabletoc": 1, "disablelimitreport": 1}
        said = await self._api(search, params | off)
        markup = said.get("parse", {}).get("text") if isinstance(said.get("parse"), dict) else None
        if said and not isinstance(markup, str):
            raise self.unreadable("no text of a revision")
        return page | {"text": await asyncio.to_thread(_plain, markup or ""), "published": published}

    async def _page(self, number: int, search: Search, props: str, **params: Any) -> dict[str, Any] | None:
        """What the API tells of an article; None where it is missing or only points to others."""
        fixed = {"redirects": 1, "inprop": "url", "ppprop": "disambiguation", "rvprop": "ids|timestamp"}
        found = await self._query(search, pageids=number, prop=props, **fixed, **params)
        page = next(iter(dicts(found.get("pages"))), None)
        if page is None or page.get("missing") or page.get("invalid"):
            return None
        props_found = page.get("pageprops")
        return None if isinstance(props_found, dict) and "disambiguation" in props_found else page

    async def _query(self, search: Search, **params: Any) -> dict[str, Any]:
        found = await self._api(search, {"action": "query", **params})
        query = found.get("query", {})
        if not isinstance(query, dict):
            raise self.unreadable("no result of the query")
        return query

    async def _api(self, search: Search, params: Mapping[str, Any]) -> dict[str, Any]:
        """An answer of the Action API, whose errors come with HTTP 200; empty for what is not there any more."""
        every = {**params, "format": "json", "formatversion": 2}
        found = await self.ask("GET", "/w/api.php", search=search, headers=self._headers, params=every)
        if "error" not in found:
            return found
        error = found["error"] if isinstance(found["error"], dict) else {}
        code = clean(error.get("code")) or "unknown"
        if code in GONE:
            return {}
        what = f"wikipedia answered with the error {code[:50]}: {clean(error.get('info'))[:200]}"
        busy = code in ("maxlag", "ratelimited", "readonly")
        raise ToolFailed(what, hint="Wikipedia is busy; try again later" if busy else "")


def _excerpt(text: str, query: str) -> tuple[str, int]:
    """The part of a page that fits the query best, and its offset; the beginning where nothing fits."""
    first, last = 0, len(text)
    if last > REGION:  # finding the sentences of a megabyte takes a second
        blocks = list(_blocks(text))
        first, last = best_excerpt(blocks, _scores([text[start:end] for start, end in blocks], query), REGION)
    pieces = chunks(text[first:last])
    if not pieces:
        return "", 0
    scores = _scores([piece.text for piece in pieces], query)
    start, end = best_excerpt([(piece.start, piece.end) for piece in pieces], scores, EXCERPT)
    return text[first + start : first + end], first + start


def _blocks(text: str) -> Iterator[Span]:
    """Stretches of at most ``BLOCK`` characters, cut at the end of a line or at least between words."""
    start = 0
    while start < len(text):
        end = start + BLOCK
        if end < len(text):
            cuts = (text.rfind(mark, start, end) for mark in "\n ")
            end = next((cut for cut in cuts if cut > start), end - 1) + 1
        yield start, min(end, len(text))
        start = end


def _scores(texts: Sequence[str], query: str) -> dict[int, float]:
    """BM25 by place, of the texts that hold any of the query's words."""
    words = fts5_query(query)
    if not words:
        return {}
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize='porter unicode61 remove_diacritics 2')")
        db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        rows = db.execute("SELECT rowid, bm25(texts) FROM texts WHERE texts MATCH ?", (words,)).fetchall()
    return {place: -score for place, score in rows}


# What TextExtracts leaves out of an article's plain text, as far as classes tell.
_CLASSES = (
    "ambox catlinks gallery hatnote infobox metadata mw-editsection mw-empty-elt mw-references-wrap navbox "
    "navigation-not-searchable noexcerpt noprint printfooter redirectMsg reference references reflist "
    "shortdescription side-box sistersitebox sortkey thumb toc"
).split()
_DROPPED = lxml.etree.XPath(
    "//style | //script | //table | //figure | //annotation | //comment() | //*["
    + " or ".join(f"contains(concat(' ', normalize-space(@class), ' '), ' {each} ')" for each in _CLASSES)
    + "]"
)
_BLOCKS = frozenset("blockquote br dd div dl dt li ol p pre ul".split())
_HEADINGS = {f"h{level}": "=" * level for level in range(2, 7)}


def _plain(markup: str) -> str:
    """The running text of an article's HTML: paragraphs and lists by line, headings as ``== History ==``."""
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        # In HTML a line end is a space; as bytes, no declaration inside can contradict the encoding.
        page = markup.replace("\n", " ").encode("utf-8", "replace")
        tree = lxml.html.document_fromstring(page, parser=parser)
    except lxml.etree.ParserError:  # nothing is in it
        return ""
    for element in _DROPPED(tree):
        if element.getparent() is not None:
            element.drop_tree()
    for element in tree.iter():
        if element.tag in _HEADINGS:
            marks = _HEADINGS[element.tag]
            element.text, last = f"\n\n{marks} {element.text or ''}", element[-1] if len(element) else None
            if last is None:
                element.text += f" {marks}"
            else:
                last.tail = f"{last.tail or ''} {marks}"
            element.tail = f"\n{element.tail or ''}"
        elif element.tag in _BLOCKS:
            element.text, element.tail = f"\n{element.text or ''}", f"\n{element.tail or ''}"
    lines = (" ".join(line.split()) for line in storable(tree.text_content()).split("\n"))
    return "\n".join(f"\n{line}" if line.startswith("==") else line for line in lines if line).strip()
