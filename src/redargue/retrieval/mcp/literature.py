"""``search_arxiv`` and ``search_pubmed``, with the parameters and shapes of paper-search-mcp."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from redargue.evidence import Passage
from redargue.retrieval.mcp.extra import unpaid
from redargue.retrieval.mcp.paper import paper
from redargue.retrieval.tools.arxiv import ArxivTool
from redargue.retrieval.tools.base import Sources
from redargue.retrieval.tools.online import clean
from redargue.retrieval.tools.pubmed import PubmedTool, readable

Query = Annotated[str, Field(min_length=1, description="What to look for.")]
Most = Annotated[int, Field(ge=1, le=100)]


class PubmedRecords(PubmedTool):
    """PubMed, asked for whole records."""

    async def records(self, query: str, k: int, sort: str) -> list[tuple[Passage, Any]]:
        """At most ``k`` records that have an abstract, read and as XML.

        Raises:
            ToolFailed: the service did not answer, or refused.
        """
        asked = readable(query)
        numbers = await self._find(asked, k, unpaid(), sort) if asked else []
        found = await self._records(numbers, unpaid()) if numbers else {}
        return [found[number] for number in numbers if number in found]


class Catalogues:
    """arXiv and PubMed.

    Args:
        arxiv: asks arXiv.
        pubmed: asks PubMed.
    """

    def __init__(self, arxiv: ArxivTool, pubmed: PubmedRecords) -> None:
        self._arxiv, self._pubmed = arxiv, pubmed

    @classmethod
    def of(cls, sources: Sources) -> Catalogues:
        """With the environment's key of NCBI's, where it has one.

        Raises:
            UsageError: an address is not known, or what should be a mail address is none.
        """
        pubmed = PubmedTool.make(sources)
        return cls(ArxivTool.make(sources), PubmedRecords(pubmed.service, sources.transport))

    def tools(self) -> tuple[Callable[..., Awaitable[Any]], ...]:
        """What is served."""
        return self.search_arxiv, self.search_pubmed

    async def search_arxiv(
        self,
        query: Query,
        max_results: Most = 10,
        sort_by: Literal["relevance", "lastUpdatedDate", "submittedDate"] = "relevance",
        sort_order: Literal["ascending", "descending"] = "descending",
    ) -> list[dict[str, Any]]:
        """Search academic papers from arXiv. The query may use arXiv's fields: ti:, au:, abs:, cat:, AND, OR."""
        found = await self._arxiv.preprints(query, max_results, search=unpaid(), sort=sort_by, order=sort_order)
        return [
            paper(
                paper_id=each.number,
                title=each.title,
                authors=each.authors,
                abstract=each.abstract,
                doi=each.doi,
                published_date=each.published,
                updated_date=each.updated,
                pdf_url=each.pdf,
                url=each.url,
                source="arxiv",
                categories=each.categories,
                extra={"comment": each.comment, "journal_ref": each.journal},
            )
            for each in found
        ]

    async def search_pubmed(
        self, query: Query, max_results: Most = 10, sort: Literal["relevance", "pub_date"] = "relevance"
    ) -> list[dict[str, Any]]:
        """Search academic papers from PubMed, among those that have an abstract."""
        found = await self._pubmed.records(query, max_results, sort)
        return [
            paper(
                paper_id=passage.document,
                title=passage.title,
                authors=_authors(record),
                abstract=passage.text,
                doi=_doi(record),
                published_date=passage.published,
                url=passage.url,
                source="pubmed",
                keywords=[_words(each) for each in record.iter("Keyword")],
                extra={"journal": passage.publisher},
            )
            for passage, record in found
        ]


def _authors(record: Any) -> Iterator[str]:
    """The names of a record's authors, or of the group that wrote it."""
    for author in record.findall(".//AuthorList/Author"):
        names = (_words(author.find(part)) for part in ("ForeName", "LastName"))
        yield _words(author.find("CollectiveName")) or " ".join(filter(None, names))


def _doi(record: Any) -> str:
    """The article's own; the references have theirs further down."""
    places = ('.//Article/ELocationID[@EIdType="doi"]', './PubmedData/ArticleIdList/ArticleId[@IdType="doi"]')
    return next((found for each in places if (found := _words(record.find(each)))), "")


def _words(element: Any) -> str:
    return "" if element is None else clean("".join(element.itertext()))
