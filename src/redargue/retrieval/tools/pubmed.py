"""Biomedical abstracts from PubMed, by NCBI's E-utilities: for Tool-MAD's medical set-ups (T27 in docs/tool-mad.md).

Source: NCBI's E-utilities help. ``esearch`` finds the records' numbers (JSON), ``efetch``
returns the records (XML). The XML is parsed without loading its DTD, and rejected if it declares entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import accumulate
from typing import Any, ClassVar

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import SUPERSCRIPTS, AbstractsTool, clean, iso_date, parse_xml, published_by


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
            if passage := _passage(record):
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

    def _params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        identity = {"tool": "redargue", "email": self.mail, "api_key": self.service.key}
        return {"db": "pubmed", **params, **{name: value for name, value in identity.items() if value}}


def _passage(record: Any) -> Passage | None:
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
        published=reduce(_earlier, (_date(element) for path in dates for element in about.findall(path)), ""),
    )


def _parts(about: Any) -> Iterator[str]:
    for part in about.findall("Abstract/AbstractText"):
        label = clean(part.get("Label"))
        if text := element_text(part):  # PubMed marks a part without a label as UNLABELLED
            yield text if label in ("", "UNLABELLED") else f"{label.rstrip(':')}: {text}"


def element_text(element: Any) -> str:
    if element is None:
        return ""
    for raised in list(element.iter("sup")):
        inner = "".join(raised.itertext())
        if re.fullmatch(r"[0-9+−–-]+", inner):
            del raised[:]
            raised.text = inner.translate(SUPERSCRIPTS)
    return clean("".join(element.itertext()))


def _date(element: Any) -> str:
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
