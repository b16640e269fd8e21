"""Wikipedia's seven tools, with the parameters and result formats of wikipedia-mcp 2.0.1."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from redargue.concurrency import gather_or_cancel
from redargue.retrieval.tools import Search
from redargue.retrieval.tools.online import clean, dicts, storable, web_address
from redargue.retrieval.tools.wikipedia import WikipediaTool

MAX_LINKS = 100
LEADS_PER_REQUEST = 20  # the service's limit
SUMMARY = 200  # characters of a related topic's summary

Title = Annotated[str, Field(min_length=1, max_length=255, description="Of a Wikipedia article.")]


Section = tuple[str, int, str]  # a heading's title and depth, and the text up to the next heading


class WikipediaServer(WikipediaTool):
    """One language's Wikipedia: whole articles instead of excerpts."""

    def tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
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
    ) -> dict[str, object]:
        """Search Wikipedia for articles matching a query."""
        text = self.prepare(query)
        if not text:
            message = "Empty or invalid search query provided"
            return {"query": query, "results": [], "status": "error", "message": message}
        params = {"srsearch": text, "srlimit": limit, "srprop": "snippet|wordcount|timestamp"}
        answer = await self._query(Search.unpaid(), list="search", **params)
        defaults = {"title": "", "snippet": "", "pageid": 0, "wordcount": 0, "timestamp": ""}
        hits = self.listed(answer, "search")
        results = [{name: hit.get(name, default) for name, default in defaults.items()} for hit in hits]
        language = self.service.extra.get("language") or "en"
        status = {"status": "success" if results else "no_results", "count": len(results), "language": language}
        status |= {} if results else {"message": "No article matches the query."}
        return {"query": query, "results": results, **status}

    async def get_article(self, title: Title) -> dict[str, object]:
        """Get the full content of a Wikipedia article."""
        props = {"inprop": "url", "plnamespace": 0, "pllimit": MAX_LINKS, "cllimit": "max", "clshow": "!hidden"}
        page = await self._titled(title, "extracts|info|links|categories", **props)
        if page is None:
            return {"title": title, "exists": False, "error": "Page does not exist"}
        text = page["extract"]
        return {
            "title": clean(page.get("title")),
            "pageid": page.get("pageid"),
            "summary": _lead(text),
            "text": text,
            "url": web_address(page.get("fullurl")),
            "sections": _tree(_sections(text)),
            "categories": _names(page.get("categories")),
            "links": _names(page.get("links"))[:MAX_LINKS],
            "exists": True,
        }

    async def get_summary(self, title: Title) -> dict[str, object]:
        """Get a summary of a Wikipedia article: its lead."""
        page = await self._titled(title, "extracts", exintro=1)
        if page is None:
            return {"title": title, "summary": None, "error": _no_article(title)}
        return {"title": title, "summary": page["extract"].strip()}

    async def get_sections(self, title: Title) -> dict[str, object]:
        """Get the sections of a Wikipedia article, with their text."""
        page = await self._titled(title, "extracts")
        return {"title": title, "sections": _tree(_sections(page["extract"])) if page else []}

    async def summarize_article_section(
        self, title: Title, section_title: str, max_length: Annotated[int, Field(ge=1)] = 150
    ) -> dict[str, object]:
        """Get a summary of a specific section of a Wikipedia article: how it begins."""
        page = await self._titled(title, "extracts")
        if page is None:
            summary = _no_article(title)
        elif not (text := _section_text(page["extract"], section_title)):
            summary = f"Section '{section_title}' not found or is empty in article '{title}'."
        else:
            summary = text[:max_length] + ("..." if len(text) > max_length else "")
        return {"title": title, "section_title": section_title, "summary": summary}

    async def extract_key_facts(
        self, title: Title, topic_within_article: str = "", count: Annotated[int, Field(ge=1)] = 5
    ) -> dict[str, object]:
        """Extract key facts from a Wikipedia article, optionally of one section: its first sentences."""
        page = await self._titled(title, "extracts")
        facts = [_no_article(title)]
        if page is not None:
            text = _section_text(page["extract"], topic_within_article) or _lead(page["extract"])
            pieces = (piece.strip() for piece in text.split("."))  # as in wikipedia-mcp
            facts = [f"{piece}." for piece in pieces if piece][:count] or ["No content found to extract facts from."]
        return {"title": title, "topic_within_article": topic_within_article, "facts": facts}

    async def get_related_topics(
        self, title: Title, limit: Annotated[int, Field(ge=1, le=100)] = 10
    ) -> dict[str, object]:
        """Get topics related to a Wikipedia article, from its links and categories."""
        props = {"plnamespace": 0, "pllimit": limit, "cllimit": "max", "clshow": "!hidden"}
        page = await self._titled(title, "links|categories", **props)
        if page is None:
            return {"title": title, "related_topics": []}
        links = _names(page.get("links"))[:limit]
        batches = [links[at : at + LEADS_PER_REQUEST] for at in range(0, len(links), LEADS_PER_REQUEST)]
        batch_leads = await gather_or_cancel(map(self._leads, batches))
        leads = {name: lead for batch in batch_leads for name, lead in batch.items()}
        related = [leads[name] for name in links if name in leads]
        names = _names(page.get("categories"))[: limit - len(related)]
        related += [{"title": name.partition(":")[2] or name, "type": "category"} for name in names]
        return {"title": title, "related_topics": related}

    async def _leads(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The leads of articles by requested name; articles that do not exist are omitted."""
        fixed = {"prop": "extracts|info", "inprop": "url", "exintro": 1, "explaintext": 1, "exlimit": LEADS_PER_REQUEST}
        answer = await self._query(Search.unpaid(), titles="|".join(names), redirects=1, **fixed)
        moved = {clean(item.get("to")): clean(item.get("from")) for item in dicts(answer.get("redirects"))}
        leads: dict[str, dict[str, Any]] = {}
        for page in dicts(answer.get("pages")):
            text = page.get("extract")
            if page.get("missing") or not isinstance(text, str):
                continue
            lead = storable(text).strip()
            shown = lead[:SUMMARY] + ("..." if len(lead) > SUMMARY else "")
            title = clean(page.get("title"))
            name = moved.get(title) or title
            leads[name] = {"title": name, "summary": shown, "url": web_address(page.get("fullurl")), "type": "link"}
        return leads

    async def _titled(self, title: str, props: str, **params: Any) -> dict[str, Any] | None:
        if "|" in title:  # separates the titles of several articles
            return None
        fixed = {"explaintext": 1, "exlimit": 1, "exsectionformat": "wiki"} if "extracts" in props else {}
        page = await self._first_page(Search.unpaid(), titles=storable(title), prop=props, **fixed, **params)
        if page is None:
            return None
        if "extracts" in props and not isinstance(page.get("extract"), str):
            raise self.unreadable("no text of an article")
        return page | {"extract": storable(page.get("extract") or "")}


_HEADING = re.compile(r"(?m)^(={2,6})[ \t]*(.+?)[ \t]*\1[ \t]*$")


def _sections(text: str) -> Iterator[Section]:
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        yield heading[2], len(heading[1]), text[heading.end() : end].strip()


def _tree(sections: Iterator[Section]) -> list[dict[str, object]]:
    top: list[dict[str, object]] = []
    path: list[tuple[int, list[dict[str, object]]]] = [(0, top)]
    for title, depth, text in sections:
        while path[-1][0] >= depth:
            path.pop()
        inner: list[dict[str, object]] = []
        path[-1][1].append({"title": title, "level": len(path) - 1, "text": text, "sections": inner})
        path.append((depth, inner))
    return top


def _section_text(text: str, title: str) -> str:
    title = title.strip().casefold()
    return next((body for heading, _, body in _sections(text) if title and heading.casefold() == title), "")


def _lead(text: str) -> str:
    return _HEADING.split(text, maxsplit=1)[0].strip()


def _names(values: Any) -> list[str]:
    return [name for value in dicts(values) if (name := clean(value.get("title")))]


def _no_article(title: str) -> str:
    return f"No Wikipedia article found for '{title}'."
