"""The tool servers of MERMAID's Table 5, for any client: ``redargue mcp-tools wikipedia|google|scholar|papers``.

Tools, parameters and result formats are those of the servers that the paper's names refer to. Requests go through
redargue's transport, so limits, retries and the hiding of keys are those of every other search.
"""

from __future__ import annotations

import functools
import hmac
import logging
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field

from redargue.errors import RedargueError, UsageError
from redargue.net.listening import UNCLEAR, PatientServer, unclear
from redargue.registry import did_you_mean
from redargue.retrieval.mcp import require_sdk
from redargue.retrieval.mcp.transports import LOOPBACK_HOSTS
from redargue.retrieval.mcp.wikipedia import WikipediaServer
from redargue.retrieval.tools import Search, Sources
from redargue.retrieval.tools.literature import ArxivTool, PubmedTool, element_text
from redargue.retrieval.tools.online import clean, dicts, web_address
from redargue.retrieval.tools.web import GoogleTool

if TYPE_CHECKING:
    from mcp.server import MCPServer


# ``search_google``, and ``search_google_scholar`` by Serper.


class GoogleServer(GoogleTool):
    """Google's web search."""

    async def search_google(self, query: QueryText, num_results: Count = 10) -> list[dict[str, object]]:
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

    async def search_google_scholar(self, query: QueryText, max_results: Count = 10) -> list[dict[str, object]]:
        """Search academic papers on Google Scholar. The abstract is the excerpt that Scholar shows."""
        if not (query := self.prepare(query)):
            return []
        answer = await self.ask_serper("/scholar", {"q": query, "num": max_results}, Search.unpaid())
        return [_paper(result) for result in dicts(answer.get("organic"))[:max_results]]


def _paper(result: Mapping[str, Any]) -> dict[str, object]:
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


# ``search_arxiv`` and ``search_pubmed``, with the parameters and result format of paper-search-mcp.

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
) -> dict[str, object]:
    """A row of paper-search-mcp: lists are joined by "; ", dates are as precise as the source states them."""
    extra = {name: value for name, value in extra.items() if value}
    lists = {"authors": authors, "categories": categories, "keywords": keywords}
    joined = {name: "; ".join(filter(None, values)) for name, values in lists.items()}
    row = {**fields, **joined, "citations": citations, "extra": str(extra) if extra else ""}
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
    ) -> list[dict[str, object]]:
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
    ) -> list[dict[str, object]]:
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


ServedTool = Callable[..., Awaitable[Any]]

TOOL_SERVERS: Mapping[str, Callable[[Sources], tuple[ServedTool, ...]]] = {
    "wikipedia": lambda sources: WikipediaServer.make(sources).tools(),
    "google": lambda sources: (GoogleServer.make(sources).search_google,),
    "scholar": lambda sources: (ScholarServer.make(sources).search_google_scholar,),
    "papers": lambda sources: (ArxivServer.make(sources).search_arxiv, PubmedServer.make(sources).search_pubmed),
}
_PATH = "/mcp"


def build_tool_server(kind: str, sources: Sources) -> MCPServer:
    """One of the servers; raises UsageError if there is no such server, or a key or address is not set."""
    if kind not in TOOL_SERVERS:
        raise UsageError(f"there is no tool server {kind!r}", hint=did_you_mean(kind, list(TOOL_SERVERS)))
    require_sdk()
    from mcp import types
    from mcp.server import MCPServer

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with sources.transport:
            yield

    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)  # the SDK configures a root logger that has no handler
    try:
        server = MCPServer(f"redargue-{kind}", version=version("redargue"), log_level="WARNING", lifespan=lifespan)
    finally:
        root.removeHandler(quiet)
    read_only = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)
    for tool in TOOL_SERVERS[kind](sources):
        server.add_tool(with_readable_errors(tool), annotations=read_only)
    return server


def serve_http(server: MCPServer, where: str, token: str, ready: Callable[[str], None]) -> None:
    """Serves over streamable HTTP until it is stopped; ``ready`` is called with the address.

    Args:
        where: ``HOST:PORT`` on this machine's loopback; port 0 takes a free one.
        token: what clients send as a bearer token; with an empty one, every user of this machine is served.

    Raises:
        UsageError: the address is invalid, in use, or not on loopback: anyone who reaches it can search with your keys.
    """
    host, _, port = where.rpartition(":")
    if host not in LOOPBACK_HOSTS or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
        raise UsageError(
            f"{where!r} is not an address on this machine",
            where="--http",
            hint="give 127.0.0.1:PORT; to reach it from elsewhere, put a proxy that asks for a password before it",
        )
    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host.strip("[]"), int(port)))
            listener.listen()  # before the address is announced: early clients wait
        except OSError as error:
            raise UsageError(f"cannot listen on {where!r}: {error.strerror}", where="--http") from error
        address = f"http://{host}:{listener.getsockname()[1]}"
        app = _Guard(server.streamable_http_app(streamable_http_path=_PATH, host=host), address, token)
        ready(address + _PATH)
        PatientServer(app).run([listener])


class _Guard:
    """Refuses requests from web pages, even from other ports of this machine, and requests without the token."""

    def __init__(self, app: Any, address: str, token: str) -> None:
        self._app, self._address, self._token = app, address.encode(), token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope["headers"])):
            status, text = refusal
            headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
            headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": text})
            return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[int, bytes] | None:
        if unclear(headers):
            return 400, UNCLEAR.encode()
        origins = [value for name, value in headers if name == b"origin"]
        if any(origin != self._address for origin in origins):
            return 403, b"requests from web pages are refused"
        sent = [value for name, value in headers if name == b"authorization"]
        if self._token and not (len(sent) == 1 and hmac.compare_digest(sent[0], b"Bearer " + self._token)):
            return 401, b"send the token that the server printed: Authorization: Bearer TOKEN"
        return None


def with_readable_errors(tool: ServedTool) -> ServedTool:
    """Reports redargue's errors to the client; the SDK reports any other error without its message."""

    @functools.wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> Any:
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            return await tool(*args, **kwargs)
        except RedargueError as error:
            raise ToolError(f"{error.what}; {error.hint}" if error.hint else error.what) from error

    return call
