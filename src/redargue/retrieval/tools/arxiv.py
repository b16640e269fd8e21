"""Preprints from arXiv, by its export API (Atom)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import OnlineTool, address, clean, cut, iso_date, not_later, parsed_xml

MOST_RESULTS = 100
LONGEST_QUERY = 1000  # characters; it has to fit in an address
EMPTY_TRIES = 3  # of a page that comes empty though there are results, which the service is known for
_ATOM = "{http://www.w3.org/2005/Atom}"
_OWN = "{http://arxiv.org/schemas/atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):")


class Preprint(NamedTuple):
    """A paper as arXiv lists it; dates as it states them."""

    number: str
    title: str
    authors: tuple[str, ...]
    abstract: str
    published: str
    updated: str
    url: str
    pdf: str
    doi: str
    categories: tuple[str, ...]
    comment: str
    journal: str


@tools.register("arxiv")
class ArxivTool(OnlineTool):
    """arXiv's search; each preprint is shown by its whole abstract.

    Args:
        service: its address.
        transport: sends the requests, one each 3 seconds as arXiv wants it.
        price: US dollars a request.
    """

    name: ClassVar[str] = "arxiv"
    about: ClassVar[str] = "the abstracts of preprints in physics, mathematics, computing and neighbouring fields"
    hints: ClassVar[Mapping[int, str]] = {
        400: "arXiv cannot read the query",
        429: "arXiv takes one request each 3 seconds; REDARGUE_ARXIV_REQUESTS_PER_MINUTE sets a slower pace",
    }

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` abstracts (100 at most), whole; with ``search.as_of``, of what came out by then.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for a request.
        """
        found = await self.preprints(query, k, search=search)
        passages = (
            Passage(
                text=each.abstract,
                title=each.title,
                document=each.number,
                url=each.url,
                publisher=each.journal or "arXiv",
                published=iso_date(each.published),
            )
            for each in found
        )
        return self.ordered(not_later(passages, search.as_of), k, query)

    async def preprints(
        self, query: str, k: int, *, search: Search, sort: str = "relevance", order: str = "descending"
    ) -> list[Preprint]:
        """At most ``k`` preprints (100 at most).

        Args:
            query: words, or a query in arXiv's own language (``au:``, ``ti:``, ``AND``).
            k: how many.
            search: what they are searched for.
            sort: ``relevance``, ``lastUpdatedDate`` or ``submittedDate``.
            order: ``descending`` or ``ascending``.

        Raises:
            ToolFailed, BudgetReached: as of :meth:`search`.
        """
        asked = cut(query, LONGEST_QUERY)
        if k < 1 or not re.search(r"\w", asked):
            return []
        params: dict[str, Any] = {"search_query": asked if _FIELD.search(asked) else f"all:{asked}", "start": 0}
        params |= {"max_results": min(k, MOST_RESULTS), "sortBy": sort, "sortOrder": order}
        for _ in range(EMPTY_TRIES):
            text = await self.ask_text("GET", "/api/query", search=search, headers={}, params=params)
            feed = parsed_xml(text)
            if feed is None or feed.tag != f"{_ATOM}feed":
                raise self.unreadable("no feed of preprints")
            entries = feed.findall(f"{_ATOM}entry")
            if entries or clean(feed.findtext(_TOTAL)) in ("", "0"):
                return [_preprint(each) for each in self._fine(entries)][:k]
        raise ToolFailed(f"arxiv sent an empty page {EMPTY_TRIES} times, though it has results", hint="try again later")

    def _fine(self, entries: list[Any]) -> list[Any]:
        """The entries, unless the first of them stands for an error."""
        if entries and "/api/errors" in clean(entries[0].findtext(f"{_ATOM}id")):
            why = self._secrets.hide(clean(entries[0].findtext(f"{_ATOM}summary")))[:200]
            raise ToolFailed(f"arxiv answered with the error: {why}", hint=self.hints[400])
        return entries


def _preprint(entry: Any) -> Preprint:
    """An entry of the feed; titles and abstracts come broken into lines."""

    def text(name: str, space: str = _ATOM) -> str:
        return clean(entry.findtext(space + name))

    links = {each.get("title") or each.get("rel"): address(each.get("href")) for each in entry.findall(f"{_ATOM}link")}
    url = address(text("id")) or links.get("alternate", "")
    return Preprint(
        number=url.rpartition("/abs/")[2],
        title=text("title"),
        authors=tuple(clean(each.findtext(f"{_ATOM}name")) for each in entry.findall(f"{_ATOM}author")),
        abstract=text("summary"),
        published=text("published"),
        updated=text("updated"),
        url=url,
        pdf=links.get("pdf", ""),
        doi=text("doi", _OWN),
        categories=tuple(clean(each.get("term")) for each in entry.findall(f"{_ATOM}category")),
        comment=text("comment", _OWN),
        journal=text("journal_ref", _OWN),
    )
