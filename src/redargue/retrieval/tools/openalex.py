"""Scholarly abstracts from OpenAlex: the search side of Tool-MAD's PubMedQA set-up (T27 in docs/tool-mad.md).

Source: OpenAlex' documentation of ``GET /works``. Abstracts come as an inverted
index and are put together again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.evidence import Passage
from redargue.net.transport import Answer, Service, Transport
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import (
    OnlineTool,
    address,
    clean,
    cut,
    dicts,
    iso_date,
    mail_address,
    not_later,
    publisher,
    score,
)

MOST_RESULTS = 100  # of a request
LONGEST_QUERY = 400  # characters; the whole address may have about 4,000 bytes


@tools.register("openalex")
class OpenAlexTool(OnlineTool):
    """OpenAlex' search of works; each is shown by its whole abstract.

    Args:
        service: its address and key, which it takes few requests without; ``extra["mailto"]`` is told to it.
        transport: sends the requests.
        price: US dollars a request.

    Attributes:
        without_abstract: works that were passed over since the tool was made, because no abstract came with them.

    Raises:
        UsageError: what should be a mail address is none.
    """

    name: ClassVar[str] = "openalex"
    about: ClassVar[str] = "a catalogue of scholarly works of all fields, of which it shows the abstracts"
    hints: ClassVar[Mapping[int, str]] = {
        401: "is the key in OPENALEX_API_KEY right?",
        403: "it is asked too often, or the key in OPENALEX_API_KEY is not right",
        429: "the day's allowance is used up, or it is asked too often: export OPENALEX_API_KEY=…  (free, from "
        "openalex.org/settings/api) for ten times as much; REDARGUE_OPENALEX_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        super().__init__(service, transport, price=price)
        told = {"mailto": mail_address(service), "api_key": service.key}
        self._told = {name: value for name, value in told.items() if value}
        self.without_abstract = 0

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` abstracts (100 at most), whole; with ``search.as_of``, of what was published by then.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for the request.
        """
        asked = _asked(query)
        if k < 1 or not asked:
            return ()
        filters = ["has_abstract:true"]
        if search.as_of:
            filters.append(f"to_publication_date:{search.as_of.isoformat()}")
        params = {"search": asked, "filter": ",".join(filters), "per-page": min(k, MOST_RESULTS), **self._told}
        found = await self.ask("GET", "/works", search=search, headers={}, params=params, final=_allowance_is_used_up)
        if not isinstance(found.get("results"), list):
            raise self.unreadable("no list of works")
        passages = [_passage(work) for work in dicts(found["results"])]
        self.without_abstract += sum(not each.text for each in passages)
        return self.ordered(not_later(passages, search.as_of), k, query)


def _asked(query: str) -> str:
    """A query of words: wildcards would be refused, and a lonely quotation mark would begin a phrase without end."""
    plain = re.sub(r"[?*~\\]", " ", query)
    plain = plain if plain.count('"') % 2 == 0 else plain.replace('"', " ")
    asked = cut(plain, LONGEST_QUERY)
    return asked if re.search(r"\w", asked) else ""


def _allowance_is_used_up(answer: Answer) -> bool:
    """Whether a 429 is about the day's allowance, which does not come back by asking."""
    spent = answer.headers.get("x-ratelimit-remaining", "").strip() in ("0", "0.0")
    return answer.status == 429 and (spent or bool(re.search(r"daily|per day|credit|budget", answer.text, re.I)))


def _passage(work: Mapping[str, Any]) -> Passage:
    doi = re.search(r"\b10\.\d+/\S+\Z", clean(work.get("doi")))
    known_as = address(work.get("id"))
    place = work.get("primary_location")
    place = place if isinstance(place, dict) else {}
    source = place.get("source")
    journal = clean(source.get("display_name")) if isinstance(source, dict) else ""
    landing = address(place.get("landing_page_url"))
    url = address(work.get("doi")) or landing or known_as
    return Passage(
        text=abstract(work.get("abstract_inverted_index")),
        title=clean(work.get("title")) or clean(work.get("display_name")),
        document=doi[0] if doi else known_as.rpartition("/")[2],
        url=url,
        publisher=journal or publisher(landing),
        published=_published(work),
        score=score(work.get("relevance_score")),
    )


def _published(work: Mapping[str, Any]) -> str:
    """The date as far as it is known."""
    year = work.get("publication_year")
    stated = iso_date(work.get("publication_date")) or (iso_date(f"{year:04}") if type(year) is int else "")
    # OpenAlex puts the first of January where its sources state a year alone.
    return stated.removesuffix("-01-01")


def abstract(index: Any) -> str:
    """The text behind an inverted index (``{word: [positions]}``); empty where it is none.

    Words stand in the order of their positions, of which some may be missing; a word that has the same position twice
    stands there once.
    """
    if not isinstance(index, dict):
        return ""
    placed = {
        (place, word): None
        for word, places in index.items()
        if isinstance(places, list)
        for place in places
        if type(place) is int
    }
    return clean(" ".join(word for _, word in sorted(placed, key=lambda each: each[0])))
