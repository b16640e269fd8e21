"""Preprints from arXiv, by its export API (Atom)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import OnlineTool, clean, iso_date, parse_xml, published_by, web_address

EMPTY_TRIES = 3  # requests until an empty page counts: the service sends some although it has results
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):")


class Preprint(NamedTuple):
    """A paper as arXiv lists it; dates in arXiv's format. Named as in :mod:`redargue.retrieval.mcp.papers`."""

    paper_id: str
    title: str
    authors: tuple[str, ...]
    abstract: str
    published_date: str
    updated_date: str
    url: str
    pdf_url: str
    doi: str
    categories: tuple[str, ...]
    comment: str
    journal_ref: str


@tools.register("arxiv")
class ArxivTool(OnlineTool):
    """arXiv's search: whole abstracts, at most 100, published by the as-of date if there is one."""

    name: ClassVar[str] = "arxiv"
    about: ClassVar[str] = "the abstracts of preprints in physics, mathematics, computing and neighbouring fields"
    max_query: ClassVar[int] = 1000  # it has to fit in an address
    max_results: ClassVar[int] = 100
    hints: ClassVar[Mapping[int, str]] = {
        400: "arXiv cannot read the query",
        429: "arXiv takes one request every 3 seconds; REDARGUE_ARXIV_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def prepare(self, query: str) -> str:
        query = super().prepare(query)
        return query if re.search(r"\w", query) else ""

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        passages = (
            Passage(
                text=preprint.abstract,
                title=preprint.title,
                document=preprint.paper_id,
                url=preprint.url,
                publisher=preprint.journal_ref or "arXiv",
                published=iso_date(preprint.published_date),
            )
            for preprint in await self.preprints(query, k, search=search)
        )
        return published_by(passages, search.as_of)

    async def preprints(
        self, query: str, k: int, *, search: Search, sort: str = "relevance", order: str = "descending"
    ) -> list[Preprint]:
        """At most ``k`` (1 to 100) preprints; the query may use arXiv's query language (``au:``, ``ti:``, ``AND``)."""
        params: dict[str, Any] = {"search_query": query if _FIELD.search(query) else f"all:{query}", "start": 0}
        params |= {"max_results": k, "sortBy": sort, "sortOrder": order}
        for _ in range(EMPTY_TRIES):
            text = await self.ask_text("GET", "/api/query", search=search, headers={}, params=params)
            feed = parse_xml(text)
            if feed is None or feed.tag != f"{_ATOM}feed":
                raise self.unreadable("no feed of preprints")
            entries = feed.findall(f"{_ATOM}entry")
            if entries and "/api/errors" in clean(entries[0].findtext(f"{_ATOM}id")):
                message = self._secrets.hide(clean(entries[0].findtext(f"{_ATOM}summary")))[:200]
                raise ToolFailed(f"arxiv answered with the error: {message}", hint=self.hints[400])
            if entries or clean(feed.findtext(_TOTAL)) in ("", "0"):
                return [_preprint(entry) for entry in entries][:k]
        raise ToolFailed(f"arxiv sent an empty page {EMPTY_TRIES} times, though it has results", hint="try again later")


def _preprint(entry: Any) -> Preprint:
    def text(name: str, namespace: str = _ATOM) -> str:
        return clean(entry.findtext(namespace + name))

    links = {
        link.get("title") or link.get("rel"): web_address(link.get("href")) for link in entry.findall(f"{_ATOM}link")
    }
    url = web_address(text("id")) or links.get("alternate", "")
    return Preprint(
        paper_id=url.rpartition("/abs/")[2],
        title=text("title"),
        authors=tuple(clean(author.findtext(f"{_ATOM}name")) for author in entry.findall(f"{_ATOM}author")),
        abstract=text("summary"),
        published_date=text("published"),
        updated_date=text("updated"),
        url=url,
        pdf_url=links.get("pdf", ""),
        doi=text("doi", _ARXIV),
        categories=tuple(clean(category.get("term")) for category in entry.findall(f"{_ATOM}category")),
        comment=text("comment", _ARXIV),
        journal_ref=text("journal_ref", _ARXIV),
    )
