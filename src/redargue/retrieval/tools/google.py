"""Google's web search, by Serper or by Google's own Custom Search: excerpts of pages as Google shows them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.net.transport import Answer
from redargue.retrieval.tools.base import Search, Sources, tools
from redargue.retrieval.tools.online import OnlineTool, address, clean, cut, dicts, iso_date, publisher

SERPER_MOST, CUSTOM_MOST = 100, 10  # results of a request
LONGEST_QUERY = 2000  # characters; it has to fit in an address


@tools.register("google")
class GoogleTool(OnlineTool):
    """Google's search, by the service named ``serper`` or ``google-cse``.

    Args:
        service: its address and key; Custom Search needs ``extra["cx"]`` too.
        transport: sends the requests.
        price: US dollars a request.
    """

    name: ClassVar[str] = "google"
    about: ClassVar[str] = "Google's web search, which shows a short excerpt of each page"
    hints: ClassVar[Mapping[int, str]] = {
        400: "is the key right, and are there credits left on its account?",
        401: "is the key in SERPER_API_KEY (or GOOGLE_CSE_API_KEY) right?",
        403: "is the key in SERPER_API_KEY (or GOOGLE_CSE_API_KEY) right, and may it use this service?",
    }

    @classmethod
    def make(cls, sources: Sources) -> GoogleTool:
        """By Serper where its key is there, else by Custom Search, which takes no new customers.

        Raises:
            UsageError: neither has what it needs.
        """
        serper, custom = sources.services.get("serper"), sources.services.get("google-cse")
        service = serper if serper and serper.key else custom
        if service is None or not service.key or (service is custom and not service.extra.get("cx")):
            lacking = "has a key but no search engine" if service and service.key else "has no key"
            raise UsageError(
                f"the tool 'google' {lacking}",
                hint="export SERPER_API_KEY=…  (from serper.dev), or, for Google's Custom Search, both "
                "export GOOGLE_CSE_API_KEY=… and export GOOGLE_CSE_ID=…",
            )
        return cls(service, sources.transport, price=sources.prices.get(cls.name, 0.0))

    @property
    def revision(self) -> str:
        """Where it asks; a digest stands for the search engine's name."""
        cx = self.service.extra.get("cx", "")
        return self.service.display_url + (f" {hashlib.sha256(cx.encode()).hexdigest()[:8]}" if cx else "")

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` excerpts (100 by Serper, 10 by Custom Search), one a page.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for the request.
        """
        asked = cut(query, LONGEST_QUERY)
        if k < 1 or not asked:
            return ()
        ask = self._custom if self.service.name == "google-cse" else self._serper
        return self.ordered(await ask(asked, k, search), k, query)

    async def _serper(self, query: str, k: int, search: Search) -> list[Passage]:
        count = min(k, SERPER_MOST)
        body: dict[str, Any] = {"q": query, "num": count}
        if search.as_of:
            body["tbs"] = f"cdr:1,cd_max:{search.as_of:%m/%d}/{search.as_of.year:04}"
        found = await self.ask(
            "POST",
            "/search",
            search=search,
            headers={"X-API-KEY": self.service.key},
            json=body,
            units=1 if count <= 10 else 2,
        )
        if not isinstance(found.get("organic"), list) and "searchParameters" not in found:
            raise self.unreadable("no results and no account of the search")
        return [*_answers(found), *map(_organic, dicts(found.get("organic")))]

    async def _custom(self, query: str, k: int, search: Search) -> list[Passage]:
        params: dict[str, Any] = {"q": query, "cx": self.service.extra.get("cx", ""), "num": min(k, CUSTOM_MOST)}
        if search.as_of:
            params["sort"] = f"date:r::{search.as_of:%Y%m%d}"
        found = await self.ask(
            "GET",
            "/customsearch/v1",
            search=search,
            headers={"x-goog-api-key": self.service.key},  # in the address, proxies would log it
            params=params,
            final=_day_is_used_up,
        )
        if not isinstance(found.get("items"), list) and not {"kind", "queries", "searchInformation"} & found.keys():
            raise self.unreadable("no results and no account of the search")
        return [_item(item) for item in dicts(found.get("items"))]


def _day_is_used_up(answer: Answer) -> bool:
    return answer.status == 429 and bool(re.search(r"per day|daily", answer.text, re.I))


def _passage(text: str, title: Any, link: Any, published: str, by: Any = None) -> Passage:
    url = address(link)
    return Passage(
        text=text,
        title=clean(title),
        document=url,
        url=url,
        publisher=clean(by) or publisher(url),
        published=published,
    )


def _answers(found: Mapping[str, Any]) -> Iterator[Passage]:
    """What Google puts above its results, where it says which page that is from."""
    box, graph = (
        {} if not isinstance(each, dict) else each for each in (found.get("answerBox"), found.get("knowledgeGraph"))
    )
    if address(box.get("link")):
        text = clean(box.get("snippet")) or clean(box.get("answer"))
        yield _passage(text, box.get("title"), box.get("link"), iso_date(box.get("date")))
    if address(graph.get("descriptionLink")):  # its website is that of the thing, not of the text
        by = graph.get("descriptionSource")
        yield _passage(clean(graph.get("description")), graph.get("title"), graph.get("descriptionLink"), "", by)


def _organic(result: Mapping[str, Any]) -> Passage:
    return _passage(clean(result.get("snippet")), result.get("title"), result.get("link"), iso_date(result.get("date")))


_DATED = re.compile(
    r"(\w{3} \d{1,2}, \d{4}|\d{1,2} \w{3} \d{4}|\d+ (?:minute|hour|day|week)s? ago) (?:\.\.\.|…|[—·]) ?"
)
_STATED = ("article:published_time", "og:published_time", "datepublished", "date", "dc.date.issued")


def _item(item: Mapping[str, Any]) -> Passage:
    """A result of Custom Search, which puts the page's date, where it knows one, before the excerpt."""
    text = clean(item.get("snippet"))
    dated = _DATED.match(text)
    pagemap = item.get("pagemap")
    tags = dicts(pagemap.get("metatags"))[:1] if isinstance(pagemap, dict) else []
    stated = [iso_date(tag.get(name)) for tag in tags for name in _STATED]
    published = next((each for each in stated if each), iso_date(dated[1]) if dated else "")
    return _passage(text[dated.end() :] if dated else text, item.get("title"), item.get("link"), published)
