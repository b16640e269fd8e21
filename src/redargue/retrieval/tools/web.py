"""Web searches by Google, Tavily and SearXNG: excerpts of pages as these services show them.

SearXNG needs no key: https://docs.searxng.org/dev/search_api.html.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.net.transport import HttpAnswer, Service, Transport
from redargue.retrieval.tools import Search, Sources, tools
from redargue.retrieval.tools.online import (
    OnlineTool,
    clean,
    dicts,
    finite,
    iso_date,
    page_passage,
    published_by,
    web_address,
)

CUSTOM_MAX_RESULTS = 10
_Depth = Literal["basic", "advanced"]


@tools.register("google")
class GoogleTool(OnlineTool):
    """Google's search, by the service ``serper`` (at most 100 results) or ``google-cse`` (10): one excerpt per page.

    Custom Search (``google-cse``) also needs its engine's id, ``service.extra["cx"]``.
    """

    name: ClassVar[str] = "google"
    about: ClassVar[str] = "Google's web search, which shows a short excerpt of each page"
    max_query: ClassVar[int] = 2000  # it has to fit in an address
    max_results: ClassVar[int] = 100
    hints: ClassVar[Mapping[int, str]] = {
        400: "is the key right, and are there credits left on its account?",
        401: "is the key in SERPER_API_KEY (or GOOGLE_CSE_API_KEY) right?",
        403: "is the key in SERPER_API_KEY (or GOOGLE_CSE_API_KEY) right, and may it use this service?",
    }

    @classmethod
    def make(cls, sources: Sources) -> Self:
        """Uses Serper if its key is set, otherwise Custom Search, which accepts no new customers."""
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
        cx = self.service.extra.get("cx", "")
        return self.service.display_url + (f" {hashlib.sha256(cx.encode()).hexdigest()[:8]}" if cx else "")

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        return await (self._custom if self.service.name == "google-cse" else self._serper)(query, k, search)

    async def _serper(self, query: str, k: int, search: Search) -> list[Passage]:
        body: dict[str, object] = {"q": query, "num": k}
        if search.as_of:
            body["tbs"] = f"cdr:1,cd_max:{search.as_of:%m/%d}/{search.as_of.year:04}"
        answer = await self.ask_serper("/search", body, search, units=1 if k <= 10 else 2)
        return [*_answers(answer), *map(_organic, dicts(answer.get("organic")))]

    async def ask_serper(self, path: str, body: Any, search: Search, units: int = 1) -> dict[str, object]:
        headers = {"X-API-KEY": self.service.key}
        answer = await self.ask("POST", path, search=search, headers=headers, json=body, units=units)
        if not isinstance(answer.get("organic"), list) and "searchParameters" not in answer:
            raise self.unreadable("no results and no account of the search")
        return answer

    async def _custom(self, query: str, k: int, search: Search) -> list[Passage]:
        cx, most = self.service.extra.get("cx", ""), min(k, CUSTOM_MAX_RESULTS)
        params: dict[str, object] = {"q": query, "cx": cx, "num": most}
        if search.as_of:
            params["sort"] = f"date:r::{search.as_of:%Y%m%d}"
        headers = {"x-goog-api-key": self.service.key}  # proxies would log a key in the address
        answer = await self.ask(
            "GET", "/customsearch/v1", search=search, headers=headers, params=params, final=_is_daily_quota_used
        )
        if not isinstance(answer.get("items"), list) and not {"kind", "queries", "searchInformation"} & answer.keys():
            raise self.unreadable("no results and no account of the search")
        return [_item(item) for item in dicts(answer.get("items"))]


def _is_daily_quota_used(answer: HttpAnswer) -> bool:
    return answer.status == 429 and bool(re.search(r"per day|daily", answer.text, re.I))


def _answers(answer: Mapping[str, Any]) -> Iterator[Passage]:
    boxes = answer.get("answerBox"), answer.get("knowledgeGraph")
    box, graph = (value if isinstance(value, dict) else {} for value in boxes)
    if web_address(box.get("link")):
        text = clean(box.get("snippet")) or clean(box.get("answer"))
        yield page_passage(text, box.get("title"), box.get("link"), iso_date(box.get("date")))
    if web_address(graph.get("descriptionLink")):  # the box's website belongs to the thing, not to the text
        by = clean(graph.get("descriptionSource"))
        yield page_passage(clean(graph.get("description")), graph.get("title"), graph.get("descriptionLink"), by=by)


def _organic(result: Mapping[str, Any]) -> Passage:
    text, published = clean(result.get("snippet")), iso_date(result.get("date"))
    return page_passage(text, result.get("title"), result.get("link"), published)


_DATED = re.compile(
    r"(\w{3} \d{1,2}, \d{4}|\d{1,2} \w{3} \d{4}|\d+ (?:minute|hour|day|week)s? ago) (?:\.\.\.|…|[—·]) ?"
)
_STATED = ("article:published_time", "og:published_time", "datepublished", "date", "dc.date.issued")


def _item(item: Mapping[str, Any]) -> Passage:
    text = clean(item.get("snippet"))
    dated = _DATED.match(text)
    pagemap = item.get("pagemap")
    tags = dicts(pagemap.get("metatags"))[:1] if isinstance(pagemap, dict) else []
    stated = [iso_date(tag.get(name)) for tag in tags for name in _STATED]
    published = next(filter(None, stated), iso_date(dated[1]) if dated else "")
    return page_passage(text[dated.end() :] if dated else text, item.get("title"), item.get("link"), published)


# Web search by Tavily: the web side of the debate (Tool-MAD, journal, §III-A).


@tools.register("tavily")
class TavilyTool(OnlineTool):
    """Tavily's search: one passage per page, at most 20.

    ``price`` is per credit. ``depth``: ``basic`` costs one credit per request; ``advanced``, which the paper's authors
    use, costs two.
    """

    name: ClassVar[str] = "tavily"
    about: ClassVar[str] = "a web search engine that returns the telling passages of pages"
    key_hint: ClassVar[str] = "export TAVILY_API_KEY=…  (from app.tavily.com)"
    max_query: ClassVar[int] = 400  # the service refuses more
    max_results: ClassVar[int] = 20
    hints: ClassVar[Mapping[int, str]] = {
        401: "is the key in TAVILY_API_KEY right?",
        403: "the key in TAVILY_API_KEY may not do this",
        432: "the plan's credits are used up: raise the plan, or choose another tool",
        433: "the pay-as-you-go limit is reached: raise it, or choose another tool",
    }

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0, depth: _Depth = "basic") -> None:
        super().__init__(service, transport, price=price)
        self.depth = depth

    @property
    def revision(self) -> str:
        return f"{self.service.display_url} {self.depth}"

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        body = {"query": query, "search_depth": self.depth, "max_results": k, "include_answer": False}
        if search.as_of:
            body["end_date"] = search.as_of.isoformat()
        headers, units = {"Authorization": f"Bearer {self.service.key}"}, 2 if self.depth == "advanced" else 1
        answer = await self.ask("POST", "/search", search=search, headers=headers, json=body, units=units)
        return (_scored(result, dated="published_date") for result in self.listed(answer, "results"))


def _scored(result: Mapping[str, Any], *, dated: str) -> Passage:
    text, published = clean(result.get("content")), iso_date(result.get(dated))
    passage = page_passage(text, result.get("title"), result.get("url"), published)
    return passage.model_copy(update={"score": finite(result.get("score"))})


ADDRESS_HINT = "export REDARGUE_SEARXNG_URL=http://localhost:8080  (the address of your instance)"


@tools.register("searxng")
class SearxngTool(OnlineTool):
    """A SearXNG instance's search: one excerpt per page, as its engines show them; the first page of results.

    Pages that an engine dates later than the as-of date are left out; most engines give no dates.
    """

    name: ClassVar[str] = "searxng"
    about: ClassVar[str] = "a web search that shows a short excerpt of each page"
    max_query: ClassVar[int] = 2000  # it has to fit in an address
    max_results: ClassVar[int] = 50
    hints: ClassVar[Mapping[int, str]] = {
        403: "does its settings.yml allow JSON? search: {formats: [html, json]}; public instances seldom do",
        429: "its limiter refuses programs: allow this machine in limiter.toml (botdetection.ip_lists.pass_ip)",
    }

    @classmethod
    def make(cls, sources: Sources) -> Self:
        service = sources.services.get(cls.name)
        if service is None or not service.url:
            raise UsageError("the tool 'searxng' has no address", hint=ADDRESS_HINT)
        return super().make(sources)

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        params = {"q": query, "format": "json"}
        answer = await self.ask("GET", "/search", search=search, headers={}, params=params)
        found = self.listed(answer, "results")
        if not answer["results"] and (engines := _unresponsive(answer)):
            raise self.unreadable(f"no results, and engines that did not answer: {engines}")
        return published_by((_scored(result, dated="publishedDate") for result in found), search.as_of)


def _unresponsive(answer: Mapping[str, Any]) -> str:
    """``brave (timeout), google (CAPTCHA)``: the instance pairs engines with reasons."""
    pairs = answer.get("unresponsive_engines")
    rows = [pair for pair in pairs if isinstance(pair, list)] if isinstance(pairs, list) else []
    return ", ".join(f"{clean(row[0])} ({', '.join(map(clean, row[1:]))})" for row in rows if row)[:200]
