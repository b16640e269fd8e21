"""``search_google``, and ``search_google_scholar`` by Serper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from redargue.errors import UsageError
from redargue.retrieval.mcp.papers import Count, Query, paper
from redargue.retrieval.tools.base import Search, Sources
from redargue.retrieval.tools.google import GoogleTool
from redargue.retrieval.tools.online import clean, dicts, web_address


class GoogleServer(GoogleTool):
    """Google's web search."""

    async def search_google(self, query: Query, num_results: Count = 10) -> list[dict[str, Any]]:
        """Search the web with Google. Returns title, link and a short snippet of each page."""
        passages = await self.search(query, num_results, search=Search.unpaid())
        return [{"title": passage.title, "link": passage.url, "snippet": passage.text} for passage in passages]


class ScholarServer(GoogleTool):
    """Google Scholar by Serper."""

    @classmethod
    def make(cls, sources: Sources) -> Self:
        service = sources.services.get("serper")
        if service is None or not service.key:
            raise UsageError("Google Scholar is searched by Serper, which has no key", hint="export SERPER_API_KEY=…")
        return cls(service, sources.transport)

    async def search_google_scholar(self, query: Query, max_results: Count = 10) -> list[dict[str, Any]]:
        """Search academic papers on Google Scholar. The abstract is the excerpt that Scholar shows."""
        if not (query := self.prepare(query)):
            return []
        answer = await self.ask_serper("/scholar", {"q": query, "num": max_results}, Search.unpaid())
        return [_paper(result) for result in dicts(answer.get("organic"))[:max_results]]


def _paper(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of Scholar, whose line of authors, journal and host has the form "authors - journal - host"."""
    line, year, cited = clean(result.get("publicationInfo")), result.get("year"), result.get("citedBy")
    url = web_address(result.get("link"))
    return paper(
        paper_id=clean(result.get("id")) or url,
        title=clean(result.get("title")),
        authors=[name.strip() for name in line.partition(" - ")[0].split(",")],
        abstract=clean(result.get("snippet")),
        published_date=str(year) if isinstance(year, int) else "",
        pdf_url=web_address(result.get("pdfUrl")),
        url=url,
        source="google_scholar",
        citations=cited if isinstance(cited, int) else 0,
        extra={"publication_info": line},
    )
