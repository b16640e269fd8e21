"""Web search by a SearXNG instance, which needs no key: https://docs.searxng.org/dev/search_api.html."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, Sources, tools
from redargue.retrieval.tools.online import OnlineTool, clean, dicts, finite, iso_date, page_passage, published_by

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
        if not isinstance(answer.get("results"), list):
            raise self.unreadable("no list of results")
        results = list(published_by(map(_passage, dicts(answer["results"])), search.as_of))
        if not answer["results"] and (engines := _unresponsive(answer)):
            raise self.unreadable(f"no results, and engines that did not answer: {engines}")
        return results


def _unresponsive(answer: Mapping[str, Any]) -> str:
    """``brave (timeout), google (CAPTCHA)``: the instance pairs engines with reasons."""
    pairs = answer.get("unresponsive_engines")
    rows = [pair for pair in pairs if isinstance(pair, list)] if isinstance(pairs, list) else []
    return ", ".join(f"{clean(row[0])} ({', '.join(map(clean, row[1:]))})" for row in rows if row)[:200]


def _passage(result: Mapping[str, Any]) -> Passage:
    text, published = clean(result.get("content")), iso_date(result.get("publishedDate"))
    passage = page_passage(text, result.get("title"), result.get("url"), published)
    return passage.model_copy(update={"score": finite(result.get("score"))})
