"""Search tools of MERMAID's servers: Google, Google Scholar, arXiv and PubMed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from redargue.errors import UsageError
from redargue.retrieval.tools.base import Search, Sources
from redargue.retrieval.tools.literature import ArxivTool, PubmedTool, element_text
from redargue.retrieval.tools.online import clean, dicts, web_address
from redargue.retrieval.tools.web import GoogleTool

# ``search_google``, and ``search_google_scholar`` by Serper.


class GoogleServer(GoogleTool):
    """Google's web search."""

    async def search_google(self, query: QueryText, num_results: Count = 10) -> list[dict[str, Any]]:
        """Search the web with Google. Returns title, link and a short snippet of each page."""
        passages = await self.search(query, num_results, search=Search.unpaid())
        return [{"title": passage.title, "link": passage.url, "snippet": passage.text} for passage in passages]


class ScholarServer(GoogleTool):
    """Google Scholar by Serper."""

    @classmethod
    def make(cls, sources: Sources) -> Self:
        service = sources.services.get("serper")
        if service is None or not service.key:
            raise UsageError("Google Scholar is searched by Serper, which has no key", hint="export SERPER_API_KEY=…")
        return cls(service, sources.transport)

    async def search_google_scholar(self, query: QueryText, max_results: Count = 10) -> list[dict[str, Any]]:
        """Search academic papers on Google Scholar. The abstract is the excerpt that Scholar shows."""
        if not (query := self.prepare(query)):
            return []
        answer = await self.ask_serper("/scholar", {"q": query, "num": max_results}, Search.unpaid())
        return [_paper(result) for result in dicts(answer.get("organic"))[:max_results]]


def _paper(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of Scholar, whose line of authors, journal and host has the form "authors - journal - host"."""
    line, year, cited = clean(result.get("publicationInfo")), result.get("year"), result.get("citedBy")
    url = web_address(result.get("link"))
    return paper(
        paper_id=clean(result.get("id")) or url,
        title=clean(result.get("title")),
        authors=[name.strip() for name in line.partition(" - ")[0].split(",")],
        abstract=clean(result.get("snippet")),
        published_date=str(year) if isinstance(year, int) else "",
        pdf_url=web_address(result.get("pdfUrl")),
        url=url,
        source="google_scholar",
        citations=cited if isinstance(cited, int) else 0,
        extra={"publication_info": line},
    )


# ``search_arxiv`` and ``search_pubmed``, with the parameters and result format of paper-search-
# mcp.

QueryText = Annotated[str, Field(min_length=1, description="What to look for.")]
Count = Annotated[int, Field(ge=1, le=100)]


def paper(
    *,
    authors: Iterable[str],
    categories: Iterable[str] = (),
    keywords: Iterable[str] = (),
    citations: int = 0,
    extra: Mapping[str, str],
    **fields: str,
) -> dict[str, Any]:
    """A row of paper-search-mcp: lists are joined by "; ", dates are as precise as the source states them."""
    extra = {name: value for name, value in extra.items() if value}
    row = {
        **fields,
        "authors": "; ".join(filter(None, authors)),
        "categories": "; ".join(filter(None, categories)),
        "keywords": "; ".join(filter(None, keywords)),
        "citations": citations,
        "extra": str(extra) if extra else "",
    }
    return {name: row.get(name, "") for name in _FIELDS}


_FIELDS = (
    "paper_id title authors abstract doi published_date pdf_url url source updated_date categories keywords citations "
    "references extra"
).split()


class ArxivServer(ArxivTool):
    """arXiv's search."""

    async def search_arxiv(
        self,
        query: QueryText,
        max_results: Count = 10,
        sort_by: Literal["relevance", "lastUpdatedDate", "submittedDate"] = "relevance",
        sort_order: Literal["ascending", "descending"] = "descending",
    ) -> list[dict[str, Any]]:
        """Search academic papers from arXiv. The query may use arXiv's fields: ti:, au:, abs:, cat:, AND, OR."""
        if not (query := self.prepare(query)):
            return []
        preprints = await self.preprints(query, max_results, search=Search.unpaid(), sort=sort_by, order=sort_order)
        rows = [preprint._asdict() for preprint in preprints]
        own = ("comment", "journal_ref")
        return [paper(source="arxiv", extra={name: row.pop(name) for name in own}, **row) for row in rows]


class PubmedServer(PubmedTool):
    """PubMed's search."""

    async def search_pubmed(
        self, query: QueryText, max_results: Count = 10, sort: Literal["relevance", "pub_date"] = "relevance"
    ) -> list[dict[str, Any]]:
        """Search academic papers from PubMed, among those that have an abstract."""
        if not (query := self.prepare(query)):
            return []
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
                keywords=map(element_text, record.iter("Keyword")),
                extra={"journal": passage.publisher},
            )
            for passage, record in await self.records(query, max_results, Search.unpaid(), sort)
        ]


def _authors(record: Any) -> Iterator[str]:
    for author in record.findall(".//AuthorList/Author"):
        names = (element_text(author.find(part)) for part in ("ForeName", "LastName"))
        yield element_text(author.find("CollectiveName")) or " ".join(filter(None, names))


def _doi(record: Any) -> str:
    """The article's DOI, not those of its references."""
    paths = ('.//Article/ELocationID[@EIdType="doi"]', './PubmedData/ArticleIdList/ArticleId[@IdType="doi"]')
    return next((doi for path in paths if (doi := element_text(record.find(path)))), "")
