"""Scholarly abstracts: arXiv, PubMed, OpenAlex."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.net.transport import HttpAnswer
from redargue.retrieval.corpus.markup import mark_superscripts
from redargue.retrieval.tools import Search, tools
from redargue.retrieval.tools.online import (
    AbstractsTool,
    OnlineTool,
    clean,
    dicts,
    finite,
    host_name,
    iso_date,
    parse_xml,
    published_by,
    web_address,
)

# Preprints from arXiv, by its export API (Atom).

EMPTY_TRIES = 3  # requests until an empty page counts: the service sends some although it has results
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all):")


class Preprint(NamedTuple):
    """A paper as arXiv lists it; dates in arXiv's format. Named as in :mod:`redargue.retrieval.mcp.serving`."""

    paper_id: str
    title: str
    authors: tuple[str, ...]
    abstract: str
    published_date: str
    updated_date: str
    url: str
    pdf_url: str
    doi: str
    categories: tuple[str, ...]
    comment: str
    journal_ref: str


@tools.register("arxiv")
class ArxivTool(OnlineTool):
    """arXiv's search: whole abstracts, at most 100, published by the as-of date if there is one."""

    name: ClassVar[str] = "arxiv"
    about: ClassVar[str] = "the abstracts of preprints in physics, mathematics, computing and neighbouring fields"
    max_query: ClassVar[int] = 1000  # it has to fit in an address
    max_results: ClassVar[int] = 100
    hints: ClassVar[Mapping[int, str]] = {
        400: "arXiv cannot read the query",
        429: "arXiv takes one request every 3 seconds; REDARGUE_ARXIV_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def prepare(self, query: str) -> str:
        query = super().prepare(query)
        return query if re.search(r"\w", query) else ""

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        passages = (
            Passage(
                text=preprint.abstract,
                title=preprint.title,
                document=preprint.paper_id,
                url=preprint.url,
                publisher=preprint.journal_ref or "arXiv",
                published=iso_date(preprint.published_date),
            )
            for preprint in await self.preprints(query, k, search=search)
        )
        return published_by(passages, search.as_of)

    async def preprints(
        self, query: str, k: int, *, search: Search, sort: str = "relevance", order: str = "descending"
    ) -> list[Preprint]:
        """At most ``k`` (1 to 100) preprints; the query may use arXiv's query language (``au:``, ``ti:``, ``AND``)."""
        params: dict[str, object] = {"search_query": query if _FIELD.search(query) else f"all:{query}", "start": 0}
        params |= {"max_results": k, "sortBy": sort, "sortOrder": order}
        for _ in range(EMPTY_TRIES):
            text = await self.ask_text("GET", "/api/query", search=search, headers={}, params=params)
            feed = parse_xml(text)
            if feed is None or feed.tag != f"{_ATOM}feed":
                raise self.unreadable("no feed of preprints")
            entries = feed.findall(f"{_ATOM}entry")
            if entries and "/api/errors" in clean(entries[0].findtext(f"{_ATOM}id")):
                message = self._secrets.hide(clean(entries[0].findtext(f"{_ATOM}summary")))[:200]
                raise ToolFailed(f"arxiv answered with the error: {message}", hint=self.hints[400])
            if entries or clean(feed.findtext(_TOTAL)) in ("", "0"):
                return [_preprint(entry) for entry in entries][:k]
        raise ToolFailed(f"arxiv sent an empty page {EMPTY_TRIES} times, though it has results", hint="try again later")


def _preprint(entry: Any) -> Preprint:
    def text(name: str, namespace: str = _ATOM) -> str:
        return clean(entry.findtext(namespace + name))

    links = {
        link.get("title") or link.get("rel"): web_address(link.get("href")) for link in entry.findall(f"{_ATOM}link")
    }
    url = web_address(text("id")) or links.get("alternate", "")
    return Preprint(
        paper_id=url.rpartition("/abs/")[2],
        title=text("title"),
        authors=tuple(clean(author.findtext(f"{_ATOM}name")) for author in entry.findall(f"{_ATOM}author")),
        abstract=text("summary"),
        published_date=text("published"),
        updated_date=text("updated"),
        url=url,
        pdf_url=links.get("pdf", ""),
        doi=text("doi", _ARXIV),
        categories=tuple(clean(category.get("term")) for category in entry.findall(f"{_ATOM}category")),
        comment=text("comment", _ARXIV),
        journal_ref=text("journal_ref", _ARXIV),
    )


# Biomedical abstracts from PubMed, by NCBI's E-utilities (T27 in docs/tool-mad.md): ``esearch`` finds the
# records' numbers (JSON), ``efetch`` returns the records (XML).


@tools.register("pubmed")
class PubmedTool(AbstractsTool):
    """PubMed's search: whole abstracts, at most 100, published by the as-of date if there is one.

    A search is two requests; NCBI accepts 3 per second, or 10 with a key.
    """

    name: ClassVar[str] = "pubmed"
    about: ClassVar[str] = "the abstracts of biomedical papers, found by the query's words"
    max_query: ClassVar[int] = 400
    max_results: ClassVar[int] = 100  # their numbers have to fit in an address
    hints: ClassVar[Mapping[int, str]] = {
        400: "is the key in NCBI_API_KEY right?",
        403: "NCBI requires a contact: export REDARGUE_MAILTO=you@example.org",
        429: "too many requests: export NCBI_API_KEY=… allows 10 requests a second instead of 3; "
        "REDARGUE_PUBMED_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def prepare(self, query: str) -> str:
        """Without unpaired brackets and quotation marks, which would swallow what is appended to the query."""
        query = super().prepare(query)
        depths = list(accumulate({"(": 1, ")": -1}.get(char, 0) for char in query))
        if depths and (min(depths) < 0 or depths[-1]):
            query = re.sub(r"[()]", " ", query)
        if query.count('"') % 2:
            query = query.replace('"', " ")
        return " ".join(query.split()) if re.search(r"\w", query) else ""

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        return published_by((passage for passage, _ in await self.records(query, k, search)), search.as_of)

    async def records(self, query: str, k: int, search: Search, sort: str = "relevance") -> list[tuple[Passage, Any]]:
        """At most ``k`` (1 to 100) records with an abstract, parsed and as XML; ``sort``: relevance or pub_date."""
        numbers = await self._find(query, k, search, sort)
        if not numbers:
            return []
        params = self._params({"id": ",".join(numbers), "retmode": "xml"})
        root = parse_xml(await self.ask_text("GET", "/efetch.fcgi", search=search, headers={}, params=params))
        if root is None or root.tag != "PubmedArticleSet":
            raise self.unreadable("no set of records")
        records: dict[str, tuple[Passage, Any]] = {}
        for record in root:
            if passage := _article(record):
                records.setdefault(passage.document, (passage, record))
        return [records[number] for number in numbers if number in records]

    async def _find(self, query: str, k: int, search: Search, sort: str) -> list[str]:
        params = {"term": f"({query}) AND hasabstract", "retmode": "json", "retmax": k, "sort": sort}
        if day := search.as_of:  # E-utilities require both ends of a range
            params |= {"datetype": "pdat", "mindate": "1000/01/01", "maxdate": f"{day.year:04}/{day:%m/%d}"}
        answer = await self.ask("GET", "/esearch.fcgi", search=search, headers={}, params=self._params(params))
        result = answer.get("esearchresult")
        if not isinstance(result, dict):
            raise self.unreadable("no result of a search")
        if message := clean(result.get("ERROR")):
            raise ToolFailed(f"pubmed answered with the error: {message[:200]}", hint="try again later")
        if not isinstance(result.get("idlist"), list):
            raise self.unreadable("no list of records")
        numbers = [number for number in result["idlist"] if isinstance(number, str)]
        return list(dict.fromkeys(filter(re.compile(r"[0-9]{1,12}").fullmatch, numbers)))[:k]

    def _params(self, params: Mapping[str, Any]) -> dict[str, object]:
        identity = {"tool": "redargue", "email": self.mail, "api_key": self.service.key}
        return {"db": "pubmed", **params, **{name: value for name, value in identity.items() if value}}


def _article(record: Any) -> Passage | None:
    """An article or a chapter of a book; None for anything else. The text is empty if there is no abstract."""
    citation, book = record.find("MedlineCitation"), record.find("BookDocument")
    about = book if citation is None else citation.find("Article")
    number = clean((citation if book is None else book).findtext("PMID")) if about is not None else ""
    if not re.fullmatch(r"[0-9]{1,12}", number):
        return None
    title = element_text(about.find("ArticleTitle")) or element_text(about.find("Book/BookTitle"))
    names = ("Journal/Title", "Journal/ISOAbbreviation", "Book/Publisher/PublisherName")
    dates = ("Journal/JournalIssue/PubDate", "ArticleDate", "Book/PubDate")
    return Passage(
        text="\n".join(_parts(about)),
        title=title,
        document=number,
        url=f"https://pubmed.ncbi.nlm.nih.gov/{number}/",
        publisher=next((name for path in names if (name := element_text(about.find(path)))), ""),
        published=reduce(_earlier, (_article_date(element) for path in dates for element in about.findall(path)), ""),
    )


def _parts(about: Any) -> Iterator[str]:
    for part in about.findall("Abstract/AbstractText"):
        label = clean(part.get("Label"))
        if text := element_text(part):  # PubMed marks a part without a label as UNLABELLED
            yield text if label in ("", "UNLABELLED") else f"{label.rstrip(':')}: {text}"


def element_text(element: Any) -> str:
    if element is None:
        return ""
    mark_superscripts(element)
    return clean("".join(element.itertext()))


def _article_date(element: Any) -> str:
    """A date as precise as stated; the first year of a time span (``1998 Dec-1999 Jan``)."""
    year, month, day = (clean(element.findtext(name)) for name in ("Year", "Month", "Day"))
    if not year:
        span = re.match(r"[0-9]{4}(?![0-9])", clean(element.findtext("MedlineDate")))
        return span[0] if span else ""
    if re.fullmatch(r"[0-9]{1,2}", month):
        tries = [f"{year}-{month:0>2}-{day:0>2}" if day else "", f"{year}-{month:0>2}"]
    else:  # Mar; seasons cannot be parsed
        tries = [f"{day} {month} {year}" if day else "", f"{month} {year}"]
    return next((published for text in (*tries, year) if (published := iso_date(text))), "")


def _earlier(first: str, other: str) -> str:
    """The earlier of the dates online and in print; of two that agree as far as stated, the more precise."""
    if not first or not other:
        return first or other
    common = min(len(first), len(other))
    return min(first, other, key=lambda published: (published[:common], -len(published)))


# Scholarly abstracts from OpenAlex' ``GET /works`` (T27 in docs/tool-mad.md), which sends them as an
# inverted index.


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
        return published_by(map(_work, self.listed(answer, "results", of="works")), search.as_of)


def _allowance_is_used_up(answer: HttpAnswer) -> bool:
    """Whether a 429 reports that the day's allowance is used up, so that retrying is useless."""
    empty = answer.headers.get("x-ratelimit-remaining", "").strip() in ("0", "0.0")
    return answer.status == 429 and (empty or bool(re.search(r"daily|per day|credit|budget", answer.text, re.I)))


def _work(work: Mapping[str, Any]) -> Passage:
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
