"""``search_google``, and ``search_google_scholar`` by Serper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from redargue.errors import UsageError
from redargue.retrieval.mcp.extra import unpaid
from redargue.retrieval.mcp.paper import paper
from redargue.retrieval.tools.base import Sources
from redargue.retrieval.tools.google import LONGEST_QUERY, SERPER_MOST, GoogleTool
from redargue.retrieval.tools.online import OnlineTool, address, clean, cut, dicts

Query = Annotated[str, Field(min_length=1, description="What to look for.")]


class Web:
    """Google's web search: by Serper (up to 100 results), or by Custom Search (up to 10).

    Args:
        google: asks.
    """

    def __init__(self, google: GoogleTool) -> None:
        self._google = google

    @classmethod
    def of(cls, sources: Sources) -> Web:
        """With the environment's key.

        Raises:
            UsageError: there is none.
        """
        return cls(GoogleTool.make(sources))

    def tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
        """What is served."""
        return (self.search_google,)

    async def search_google(
        self, query: Query, num_results: Annotated[int, Field(ge=1, le=100)] = 10
    ) -> list[dict[str, Any]]:
        """Search the web with Google. Returns title, link and a short snippet of each page."""
        found = await self._google.search(query, num_results, search=unpaid())
        return [{"title": each.title, "link": each.url, "snippet": each.text} for each in found]


class Scholar(OnlineTool):
    """Google Scholar by Serper.

    Args:
        service: Serper, with its key.
        transport: sends the requests.
        price: US dollars a request.
    """

    name: ClassVar[str] = "google-scholar"
    hints: ClassVar[Mapping[int, str]] = GoogleTool.hints

    @classmethod
    def of(cls, sources: Sources) -> Scholar:
        """With the environment's key.

        Raises:
            UsageError: there is none.
        """
        service = sources.services.get("serper")
        if service is None or not service.key:
            raise UsageError("Google Scholar is searched by Serper, which has no key", hint="export SERPER_API_KEY=…")
        return cls(service, sources.transport)

    def tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
        """What is served."""
        return (self.search_google_scholar,)

    async def search_google_scholar(
        self, query: Query, max_results: Annotated[int, Field(ge=1, le=100)] = 10
    ) -> list[dict[str, Any]]:
        """Search academic papers on Google Scholar. The abstract is the excerpt that Scholar shows."""
        asked = cut(query, LONGEST_QUERY)
        if not asked:
            return []
        body = {"q": asked, "num": min(max_results, SERPER_MOST)}
        found = await self.ask("POST", "/scholar", search=unpaid(), headers={"X-API-KEY": self.service.key}, json=body)
        if not isinstance(found.get("organic"), list) and "searchParameters" not in found:
            raise self.unreadable("no results and no account of the search")
        return [_scholarly(each) for each in dicts(found.get("organic"))[:max_results]]


def _scholarly(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of Scholar; its line of authors, journal and host is cut at the first " - ", as Scholar writes it."""
    line, year, cited = clean(result.get("publicationInfo")), result.get("year"), result.get("citedBy")
    url = address(result.get("link"))
    return paper(
        paper_id=clean(result.get("id")) or url,
        title=clean(result.get("title")),
        authors=[name.strip() for name in line.partition(" - ")[0].split(",")],
        abstract=clean(result.get("snippet")),
        published_date=str(year) if isinstance(year, int) else "",
        pdf_url=address(result.get("pdfUrl")),
        url=url,
        source="google_scholar",
        citations=cited if isinstance(cited, int) else 0,
        extra={"publication_info": line},
    )
