"""Scholarly abstracts from OpenAlex: the search side of Tool-MAD's PubMedQA set-up (T27 in docs/tool-mad.md).

Source: OpenAlex' documentation of ``GET /works``. Abstracts arrive as an inverted index and are reassembled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from redargue.evidence import Passage
from redargue.net.transport import Answer
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import (
    AbstractsTool,
    clean,
    dicts,
    finite,
    host_name,
    iso_date,
    published_by,
    web_address,
)


@tools.register("openalex")
class OpenAlexTool(AbstractsTool):
    """OpenAlex' search of works: whole abstracts, at most 100, published by the as-of date if there is one.

    Without a key, the service accepts only few requests.
    """

    name: ClassVar[str] = "openalex"
    about: ClassVar[str] = "a catalogue of scholarly works of all fields, of which it shows the abstracts"
    max_query: ClassVar[int] = 400  # the whole address may have about 4,000 bytes
    max_results: ClassVar[int] = 100
    hints: ClassVar[Mapping[int, str]] = {
        401: "is the key in OPENALEX_API_KEY right?",
        403: "too many requests, or the key in OPENALEX_API_KEY is not right",
        429: "the day's allowance is used up, or too many requests: export OPENALEX_API_KEY=…  (free, from "
        "openalex.org/settings/api) for ten times as much; REDARGUE_OPENALEX_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def prepare(self, query: str) -> str:
        """Without wildcards, which the service refuses, and without unpaired quotation marks."""
        query = re.sub(r"[?*~\\]", " ", query)
        query = super().prepare(query if query.count('"') % 2 == 0 else query.replace('"', " "))
        return query if re.search(r"\w", query) else ""

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        filters = ["has_abstract:true"]
        if search.as_of:
            filters.append(f"to_publication_date:{search.as_of.isoformat()}")
        params = {"search": query, "filter": ",".join(filters), "per-page": k}
        params |= {name: value for name, value in (("mailto", self.mail), ("api_key", self.service.key)) if value}
        answer = await self.ask("GET", "/works", search=search, headers={}, params=params, final=_allowance_is_used_up)
        if not isinstance(answer.get("results"), list):
            raise self.unreadable("no list of works")
        return published_by(map(_passage, dicts(answer["results"])), search.as_of)


def _allowance_is_used_up(answer: Answer) -> bool:
    """Whether a 429 reports that the day's allowance is used up, so that retrying is useless."""
    empty = answer.headers.get("x-ratelimit-remaining", "").strip() in ("0", "0.0")
    return answer.status == 429 and (empty or bool(re.search(r"daily|per day|credit|budget", answer.text, re.I)))


def _passage(work: Mapping[str, Any]) -> Passage:
    doi = re.search(r"\b10\.\d+/\S+\Z", clean(work.get("doi")))
    identifier = web_address(work.get("id"))
    (location,) = dicts([work.get("primary_location")]) or [{}]
    (source,) = dicts([location.get("source")]) or [{}]
    landing_page = web_address(location.get("landing_page_url"))
    year = work.get("publication_year")
    published = iso_date(work.get("publication_date")) or (iso_date(f"{year:04}") if type(year) is int else "")
    return Passage(
        text=abstract(work.get("abstract_inverted_index")),
        title=clean(work.get("title")) or clean(work.get("display_name")),
        document=doi[0] if doi else identifier.rpartition("/")[2],
        url=web_address(work.get("doi")) or landing_page or identifier,
        publisher=clean(source.get("display_name")) or host_name(landing_page),
        published=published.removesuffix("-01-01"),  # OpenAlex' date for sources that state only a year
        score=finite(work.get("relevance_score")),
    )


def abstract(index: Any) -> str:
    """The text of an inverted index (``{word: [positions]}``), which may have gaps; empty for anything else."""
    if not isinstance(index, dict):
        return ""
    placed = {
        (position, word): None
        for word, positions in index.items()
        if isinstance(positions, list)
        for position in positions
        if type(position) is int
    }
    return clean(" ".join(word for _, word in sorted(placed, key=lambda item: item[0])))
