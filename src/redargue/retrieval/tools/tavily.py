"""Web search by Tavily: the web side of the debate (Tool-MAD, journal, §III-A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools.base import Search, Sources, tools
from redargue.retrieval.tools.online import OnlineTool, address, clean, cut, dicts, iso_date, publisher, score

MOST_RESULTS = 20
LONGEST_QUERY = 400  # characters; the service refuses more


@tools.register("tavily")
class TavilyTool(OnlineTool):
    """Tavily's search.

    Args:
        service: its address and key.
        transport: sends the requests.
        price: US dollars a credit.
        depth: ``basic`` costs one credit a request; ``advanced``, which the paper's authors use, costs two.
    """

    name: ClassVar[str] = "tavily"
    about: ClassVar[str] = "a web search engine that returns the telling passages of pages"
    hints: ClassVar[Mapping[int, str]] = {
        401: "is the key in TAVILY_API_KEY right?",
        403: "the key in TAVILY_API_KEY may not do this",
        432: "the plan's credits are used up: raise the plan, or choose another tool",
        433: "the pay-as-you-go limit is reached: raise it, or choose another tool",
    }

    def __init__(
        self,
        service: Service,
        transport: Transport,
        *,
        price: float = 0.0,
        depth: Literal["basic", "advanced"] = "basic",
    ) -> None:
        super().__init__(service, transport, price=price)
        self.depth = depth

    @classmethod
    def make(cls, sources: Sources) -> TavilyTool:
        """With the key of the environment.

        Raises:
            UsageError: there is none.
        """
        service = sources.services.get("tavily")
        if service is None or not service.key:
            raise UsageError("the tool 'tavily' has no key", hint="export TAVILY_API_KEY=…  (from app.tavily.com)")
        return cls(service, sources.transport, price=sources.prices.get(cls.name, 0.0))

    @property
    def revision(self) -> str:
        """Where it asks, and how."""
        return f"{self.service.display_url} {self.depth}"

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` passages (20 at most), one a page.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for the request.
        """
        asked = cut(query, LONGEST_QUERY)
        if k < 1 or not asked:
            return ()
        body = {
            "query": asked,
            "search_depth": self.depth,
            "max_results": min(k, MOST_RESULTS),
            "include_answer": False,
        }
        if search.as_of:
            body["end_date"] = search.as_of.isoformat()
        found = await self.ask(
            "POST",
            "/search",
            search=search,
            headers={"Authorization": f"Bearer {self.service.key}"},
            json=body,
            units=2 if self.depth == "advanced" else 1,
        )
        if not isinstance(found.get("results"), list):
            raise self.unreadable("no list of results")
        return self.ordered(map(_passage, dicts(found["results"])), k, query)


def _passage(result: Mapping[str, Any]) -> Passage:
    url = address(result.get("url"))
    return Passage(
        text=clean(result.get("content")),
        title=clean(result.get("title")),
        document=url,
        url=url,
        publisher=publisher(url),
        published=iso_date(result.get("published_date")),
        score=score(result.get("score")),
    )
