"""Biomedical abstracts from PubMed, by NCBI's E-utilities: for Tool-MAD's medical set-ups (T27 in docs/tool-mad.md).

Source: NCBI's E-utilities help. ``esearch`` finds the records' numbers (JSON), ``efetch``
brings the records (XML). The XML is read without loading its DTD, and one that declares entities is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import reduce
from typing import Any, ClassVar

from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.online import OnlineTool, clean, cut, iso_date, mail_address, not_later, parsed_xml

MOST_RESULTS = 100  # their numbers have to fit in an address
LONGEST_QUERY = 400  # characters
PAGE = "https://pubmed.ncbi.nlm.nih.gov/{}/"


@tools.register("pubmed")
class PubmedTool(OnlineTool):
    """PubMed's search, best match first; each record is shown by its whole abstract.

    A search is two requests: NCBI takes 3 a second, with a key 10.

    Args:
        service: its address, and a key where there is one; ``extra["mailto"]`` is told to NCBI.
        transport: sends the requests.
        price: US dollars a request.

    Attributes:
        without_abstract: records that were passed over since the tool was made, because they have no abstract.

    Raises:
        UsageError: what should be a mail address is none.
    """

    name: ClassVar[str] = "pubmed"
    about: ClassVar[str] = "the abstracts of biomedical papers, found by the query's words"
    hints: ClassVar[Mapping[int, str]] = {
        400: "is the key in NCBI_API_KEY right?",
        403: "NCBI wants to know whom to ask: export REDARGUE_MAILTO=you@example.org",
        429: "NCBI is asked too often: export NCBI_API_KEY=… allows 10 requests a second instead of 3; "
        "REDARGUE_PUBMED_REQUESTS_PER_MINUTE sets a slower pace",
    }

    def __init__(self, service: Service, transport: Transport, *, price: float = 0.0) -> None:
        super().__init__(service, transport, price=price)
        told = {"tool": "redargue", "email": mail_address(service), "api_key": service.key}
        self._told = {name: value for name, value in told.items() if value}
        self.without_abstract = 0

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` abstracts (100 at most), whole; with ``search.as_of``, of what was published by then.

        Raises:
            ToolFailed: the service did not answer, or refused.
            BudgetReached: the budget has no room for a request.
        """
        asked = readable(query)
        if k < 1 or not asked:
            return ()
        numbers = await self._find(asked, min(k, MOST_RESULTS), search)
        if not numbers:
            return ()
        records = await self._records(numbers, search)
        found = [records[number][0] for number in numbers if number in records]
        self.without_abstract += sum(not each.text for each in found)
        return self.ordered(not_later(found, search.as_of), k, query)

    async def _find(self, query: str, k: int, search: Search, sort: str = "relevance") -> list[str]:
        """The numbers of the records that fit best and have an abstract."""
        params: dict[str, Any] = {"term": f"({query}) AND hasabstract", "retmode": "json", "retmax": k}
        params["sort"] = sort
        if search.as_of:
            params |= _until(search.as_of)
        found = await self.ask("GET", "/esearch.fcgi", search=search, headers={}, params=self._params(params))
        result = found.get("esearchresult")
        if not isinstance(result, dict):
            raise self.unreadable("no result of a search")
        if wrong := clean(result.get("ERROR")):
            raise ToolFailed(f"pubmed answered with the error: {wrong[:200]}", hint="try again later")
        if not isinstance(result.get("idlist"), list):
            raise self.unreadable("no list of records")
        numbers = (each for each in result["idlist"] if isinstance(each, str) and re.fullmatch(r"[0-9]{1,12}", each))
        return list(dict.fromkeys(numbers))[:k]

    async def _records(self, numbers: Sequence[str], search: Search) -> dict[str, tuple[Passage, Any]]:
        """What PubMed holds under these numbers, read and as XML; one that it does not know any more is missing."""
        params = self._params({"id": ",".join(numbers), "retmode": "xml"})
        text = await self.ask_text("GET", "/efetch.fcgi", search=search, headers={}, params=params)
        root = parsed_xml(text)
        if root is None or root.tag != "PubmedArticleSet":
            raise self.unreadable("no set of records")
        records: dict[str, tuple[Passage, Any]] = {}
        for each in root:
            if passage := _passage(each):
                records.setdefault(passage.document, (passage, each))
        return records

    def _params(self, more: Mapping[str, Any]) -> dict[str, Any]:
        return {"db": "pubmed", **more, **self._told}


def readable(query: str) -> str:
    """A query whose brackets and quotation marks come in pairs: an open one would swallow what is added to it."""
    asked = cut(query, LONGEST_QUERY)
    depth = 0
    for char in asked:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
    if depth:
        asked = re.sub(r"[()]", " ", asked)
    if asked.count('"') % 2:
        asked = asked.replace('"', " ")
    return " ".join(asked.split()) if re.search(r"\w", asked) else ""


def _until(day: date) -> dict[str, str]:
    """The publication dates that are wanted: E-utilities want both ends or neither."""
    return {"datetype": "pdat", "mindate": "1000/01/01", "maxdate": f"{day.year:04}/{day:%m/%d}"}


def _passage(record: Any) -> Passage | None:
    """An article, or a chapter of a book; None for anything else. Without abstract its text is empty."""
    citation, book = record.find("MedlineCitation"), record.find("BookDocument")
    about = book if citation is None else citation.find("Article")
    number = clean((citation if book is None else book).findtext("PMID")) if about is not None else ""
    if not re.fullmatch(r"[0-9]{1,12}", number):
        return None
    title = _text(about.find("ArticleTitle")) or _text(about.find("Book/BookTitle"))
    names = ("Journal/Title", "Journal/ISOAbbreviation", "Book/Publisher/PublisherName")
    dates = ("Journal/JournalIssue/PubDate", "ArticleDate", "Book/PubDate")
    return Passage(
        text="\n".join(_parts(about)),
        title=title,
        document=number,
        url=PAGE.format(number),
        publisher=next((name for each in names if (name := _text(about.find(each)))), ""),
        published=_first(_date(each) for path in dates for each in about.findall(path)),
    )


def _parts(about: Any) -> Iterator[str]:
    """The abstract's parts, each with its label where it has one: a line each."""
    for part in about.findall("Abstract/AbstractText"):
        label = clean(part.get("Label"))
        text = _text(part)
        if text:  # UNLABELLED is the catalogue's word for a part without a label
            yield text if label in ("", "UNLABELLED") else f"{label.rstrip(':')}: {text}"


_SUPERSCRIPT = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


def _text(element: Any) -> str:
    """All text of an element, on one line; a power stays one: 10² is not 102."""
    if element is None:
        return ""
    for raised in list(element.iter("sup")):
        inner = "".join(raised.itertext())
        if re.fullmatch(r"[0-9+−–-]+", inner):
            del raised[:]
            raised.text = inner.translate(_SUPERSCRIPT)
    return clean("".join(element.itertext()))


def _date(element: Any) -> str:
    """A date as far as it is stated; of a span of time (``1998 Dec-1999 Jan``) its first year."""
    year, month, day = (clean(element.findtext(name)) for name in ("Year", "Month", "Day"))
    if not year:
        span = re.match(r"[0-9]{4}(?![0-9])", clean(element.findtext("MedlineDate")))
        return span[0] if span else ""
    if re.fullmatch(r"[0-9]{1,2}", month):
        tries = [f"{year}-{month:0>2}-{day:0>2}" if day else "", f"{year}-{month:0>2}"]
    else:  # Mar; a season is none
        tries = [f"{day} {month} {year}" if day else "", f"{month} {year}"]
    return next((found for each in (*tries, year) if (found := iso_date(each))), "")


def _first(dates: Iterable[str]) -> str:
    """The earlier of the dates online and in print; of two that do not contradict each other, the more exact."""
    return reduce(lambda first, other: _earlier(first, other) if first and other else first or other, dates, "")


def _earlier(first: str, other: str) -> str:
    shared = min(len(first), len(other))
    return min(first, other, key=lambda each: (each[:shared], -len(each)))
