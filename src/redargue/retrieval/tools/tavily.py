"""Web search by Tavily: the web side of the debate (Tool-MAD, journal, §III-A)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import OnlineTool, clean, dicts, finite, iso_date, page_passage


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

    @property
    def revision(self) -> str:
        return f"{self.service.display_url} {self.depth}"

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        body = {"query": query, "search_depth": self.depth, "max_results": k, "include_answer": False}
        if search.as_of:
            body["end_date"] = search.as_of.isoformat()
        headers, units = {"Authorization": f"Bearer {self.service.key}"}, 2 if self.depth == "advanced" else 1
        answer = await self.ask("POST", "/search", search=search, headers=headers, json=body, units=units)
        if not isinstance(answer.get("results"), list):
            raise self.unreadable("no list of results")
        return map(_passage, dicts(answer["results"]))


def _passage(result: Mapping[str, Any]) -> Passage:
    published = iso_date(result.get("published_date"))
    passage = page_passage(clean(result.get("content")), result.get("title"), result.get("url"), published)
    return passage.model_copy(update={"score": finite(result.get("score"))})
