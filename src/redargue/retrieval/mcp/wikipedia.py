"""Wikipedia's seven tools, with the parameters and shapes of wikipedia-mcp 2.0.1."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from redargue.concurrency import gather_or_cancel
from redargue.retrieval.mcp.extra import unpaid
from redargue.retrieval.tools.base import Sources
from redargue.retrieval.tools.online import address, clean, cut, dicts, storable
from redargue.retrieval.tools.wikipedia import LONGEST_QUERY, WikipediaTool

MOST_LINKS = 100
LEADS_AT_ONCE = 20  # of a request; the service's limit
SUMMARY = 200  # characters of a related topic's
LONGEST_TITLE = 255  # bytes of a page's name

Title = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE, description="Of a Wikipedia article.")]


class Section(NamedTuple):
    """A heading and what stands under it, up to the next heading."""

    title: str
    depth: int
    text: str


class Encyclopedia(WikipediaTool):
    """One language's Wikipedia, asked for whole articles instead of excerpts; arguments as of the search tool."""

    @classmethod
    def of(cls, sources: Sources) -> Encyclopedia:
        """Of the language that the environment names.

        Raises:
            UsageError: the address is not known.
        """
        tool = WikipediaTool.make(sources)
        return cls(tool.service, sources.transport)

    def tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
        """What is served."""
        return (
            self.search_wikipedia,
            self.get_article,
            self.get_summary,
            self.get_sections,
            self.summarize_article_section,
            self.extract_key_facts,
            self.get_related_topics,
        )

    async def search_wikipedia(
        self,
        query: Annotated[str, Field(description="What to look for.")],
        limit: Annotated[int, Field(ge=1, le=500)] = 10,
    ) -> dict[str, Any]:
        """Search Wikipedia for articles matching a query."""
        asked = cut(query, LONGEST_QUERY)
        if not asked:
            wrong = "Empty or invalid search query provided"
            return {"query": query, "results": [], "status": "error", "message": wrong}
        wanted = {"srsearch": asked, "srlimit": limit, "srprop": "snippet|wordcount|timestamp"}
        found = await self._query(unpaid(), list="search", **wanted)
        if not isinstance(found.get("search"), list):
            raise self.unreadable("no list of results")
        kept = {"title": "", "snippet": "", "pageid": 0, "wordcount": 0, "timestamp": ""}
        results = [{name: hit.get(name, usual) for name, usual in kept.items()} for hit in dicts(found["search"])]
        status = {"status": "success" if results else "no_results", "count": len(results)}
        said = {"query": query, "results": results, **status, "language": self.service.extra.get("language") or "en"}
        return said if results else {**said, "message": "No article matches the query."}

    async def get_article(self, title: Title) -> dict[str, Any]:
        """Get the full content of a Wikipedia article."""
        props = {"inprop": "url", "plnamespace": 0, "pllimit": MOST_LINKS, "cllimit": "max", "clshow": "!hidden"}
        page = await self._titled(title, "extracts|info|links|categories", **props)
        if page is None:
            return {"title": title, "exists": False, "error": "Page does not exist"}
        text = page["extract"]
        return {
            "title": clean(page.get("title")),
            "pageid": page.get("pageid"),
            "summary": _lead(text),
            "text": text,
            "url": address(page.get("fullurl")),
            "sections": _tree(_sections(text)),
            "categories": _names(page.get("categories")),
            "links": _names(page.get("links"))[:MOST_LINKS],
            "exists": True,
        }

    async def get_summary(self, title: Title) -> dict[str, Any]:
        """Get a summary of a Wikipedia article: its lead."""
        page = await self._titled(title, "extracts", exintro=1)
        if page is None:
            return {"title": title, "summary": None, "error": _none(title)}
        return {"title": title, "summary": page["extract"].strip()}

    async def get_sections(self, title: Title) -> dict[str, Any]:
        """Get the sections of a Wikipedia article, with their text."""
        page = await self._titled(title, "extracts")
        return {"title": title, "sections": _tree(_sections(page["extract"])) if page else []}

    async def summarize_article_section(
        self, title: Title, section_title: str, max_length: Annotated[int, Field(ge=1)] = 150
    ) -> dict[str, Any]:
        """Get a summary of a specific section of a Wikipedia article: how it begins."""
        page = await self._titled(title, "extracts")
        if page is None:
            summary = _none(title)
        elif not (text := _under(page["extract"], section_title)):
            summary = f"Section '{section_title}' not found or is empty in article '{title}'."
        else:
            summary = text[:max_length] + ("..." if len(text) > max_length else "")
        return {"title": title, "section_title": section_title, "summary": summary}

    async def extract_key_facts(
        self, title: Title, topic_within_article: str = "", count: Annotated[int, Field(ge=1)] = 5
    ) -> dict[str, Any]:
        """Extract key facts from a Wikipedia article, optionally of one section: its first sentences."""
        page = await self._titled(title, "extracts")
        if page is None:
            facts = [_none(title)]
        else:
            text = _under(page["extract"], topic_within_article) or _lead(page["extract"])
            pieces = (piece.strip() for piece in text.split("."))  # as the server does that the tool is named after
            facts = [f"{piece}." for piece in pieces if piece][:count] or ["No content found to extract facts from."]
        return {"title": title, "topic_within_article": topic_within_article, "facts": facts}

    async def get_related_topics(self, title: Title, limit: Annotated[int, Field(ge=1, le=100)] = 10) -> dict[str, Any]:
        """Get topics related to a Wikipedia article, from its links and categories."""
        props = {"plnamespace": 0, "pllimit": limit, "cllimit": "max", "clshow": "!hidden"}
        page = await self._titled(title, "links|categories", **props)
        if page is None:
            return {"title": title, "related_topics": []}
        links = _names(page.get("links"))[:limit]
        batches = [links[at : at + LEADS_AT_ONCE] for at in range(0, len(links), LEADS_AT_ONCE)]
        leads = {
            name: lead for found in await gather_or_cancel(map(self._leads, batches)) for name, lead in found.items()
        }
        related = [leads[name] for name in links if name in leads]
        names = _names(page.get("categories"))[: limit - len(related)]
        related += [{"title": name.partition(":")[2] or name, "type": "category"} for name in names]
        return {"title": title, "related_topics": related}

    async def _leads(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """How articles begin, by the names they were asked for; those that do not exist are left out."""
        fixed = {"prop": "extracts|info", "inprop": "url", "exintro": 1, "explaintext": 1, "exlimit": LEADS_AT_ONCE}
        found = await self._query(unpaid(), titles="|".join(names), redirects=1, **fixed)
        moved = {clean(each.get("to")): clean(each.get("from")) for each in dicts(found.get("redirects"))}
        leads: dict[str, dict[str, Any]] = {}
        for page in dicts(found.get("pages")):
            text = page.get("extract")
            if page.get("missing") or not isinstance(text, str):
                continue
            lead = storable(text).strip()
            shown = lead[:SUMMARY] + ("..." if len(lead) > SUMMARY else "")
            title = clean(page.get("title"))
            name = moved.get(title) or title
            leads[name] = {"title": name, "summary": shown, "url": address(page.get("fullurl")), "type": "link"}
        return leads

    async def _titled(self, title: str, props: str, **params: Any) -> dict[str, Any] | None:
        """What the API tells of the article of that name, redirects followed; None where there is none."""
        if "|" in title:  # would ask for several
            return None
        fixed = {"explaintext": 1, "exlimit": 1, "exsectionformat": "wiki"} if "extracts" in props else {}
        found = await self._query(unpaid(), titles=storable(title), prop=props, redirects=1, **fixed, **params)
        page = next(iter(dicts(found.get("pages"))), None)
        if page is None or page.get("missing") or page.get("invalid"):
            return None
        if "extracts" in props and not isinstance(page.get("extract"), str):
            raise self.unreadable("no text of an article")
        return page | {"extract": storable(page.get("extract") or "")}


_HEADING = re.compile(r"(?m)^(={2,6})[ \t]*(.+?)[ \t]*\1[ \t]*$")


def _sections(text: str) -> Iterator[Section]:
    """The headings of an article's plain text in order, each with what stands under it."""
    heads = list(_HEADING.finditer(text))
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        yield Section(head[2], len(head[1]), text[head.end() : end].strip())


def _tree(sections: Iterator[Section]) -> list[dict[str, Any]]:
    """Sections inside one another; ``level`` is 0 at the top."""
    top: list[dict[str, Any]] = []
    path: list[tuple[int, list[dict[str, Any]]]] = [(0, top)]
    for each in sections:
        while path[-1][0] >= each.depth:
            path.pop()
        inner: list[dict[str, Any]] = []
        path[-1][1].append({"title": each.title, "level": len(path) - 1, "text": each.text, "sections": inner})
        path.append((each.depth, inner))
    return top


def _under(text: str, title: str) -> str:
    """What stands under the first heading of that name, in whatever case; empty where there is none."""
    wanted = title.strip().casefold()
    return next((each.text for each in _sections(text) if wanted and each.title.casefold() == wanted), "")


def _lead(text: str) -> str:
    """What stands before the first heading."""
    head = _HEADING.search(text)
    return (text[: head.start()] if head else text).strip()


def _names(values: Any) -> list[str]:
    return [name for each in dicts(values) if (name := clean(each.get("title")))]


def _none(title: str) -> str:
    return f"No Wikipedia article found for '{title}'."
