"""What ``search`` and ``fetch`` read: the operator's corpus, and web pages where the operator allows it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.net.fetch import PageFetcher
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.web_pages import read_page
from redargue.sanitize import link_address
from redargue.service.mcp.answers import FetchedDocument, SearchResult, SearchResults

_RESULTS = 10
_LONGEST = 200_000  # characters of a document


class Documents:
    """Searches a corpus, which is opened when it is first used; closes it.

    Args:
        open_corpus: opens the corpus.
        fetcher: reads pages by their address; None to refuse them.
    """

    def __init__(self, open_corpus: Callable[[], Corpus], fetcher: PageFetcher | None = None) -> None:
        self._open, self._fetcher = open_corpus, fetcher
        self._corpus: Corpus | None = None
        self._opening = asyncio.Lock()

    async def search(self, query: str) -> SearchResults:
        corpus = await self._opened()
        passages = await asyncio.to_thread(corpus.search, query, _RESULTS)
        best: dict[str, Passage] = {}  # of each document
        for passage in passages:
            best.setdefault(public_id(passage.document), passage)
        results = [
            SearchResult(id=id_, title=passage.title or id_, url=address(passage.url)) for id_, passage in best.items()
        ]
        return SearchResults(results=tuple(results))

    async def fetch(self, id_: str) -> FetchedDocument:
        """Raises UsageError, and for addresses also ProviderError or UnreadableFile."""
        corpus = await self._opened()
        try:
            document = await asyncio.to_thread(_find, corpus, id_)
        except UsageError:
            if not link_address(id_):
                hint = "give an id that search returned"
                raise UsageError(f"no document {id_!r:.200}", hint=hint) from None  # its own hint lists ids
            return await self._page(id_)
        fields = {name: getattr(document, name) for name in ("publisher", "published")}
        return _bounded(id_, document.title, document.text, address(document.url), fields)

    async def _page(self, url: str) -> FetchedDocument:
        if self._fetcher is None:
            raise UsageError("this server fetches no web pages", hint="give an id that search returned")
        page = await read_page(url, self._fetcher)
        fields = {name: getattr(page, name) for name in ("publisher", "published")}
        return _bounded(url, page.title, page.text, page.url, fields)

    async def _opened(self) -> Corpus:
        async with self._opening:
            if self._corpus is None:
                self._corpus = await asyncio.to_thread(self._open)
            return self._corpus

    def close(self) -> None:
        if self._corpus:
            self._corpus.close()
            self._corpus = None


def public_id(id_: str) -> str:
    """An id without the server's folders: ``bridge.txt~1f0c…`` for a file that was added by its absolute path."""
    if not os.path.isabs(id_):
        return id_
    return f"{os.path.basename(id_)}~{hashlib.sha256(id_.encode()).hexdigest()[:12]}"


def _find(corpus: Corpus, id_: str) -> Document:
    hidden = "~" in id_ and next((each.id for each in corpus.documents() if public_id(each.id) == id_), "")
    return corpus.document(hidden or id_)


def address(url: str) -> str:
    """Only what may be a link."""
    return link_address(url) or ""


def _bounded(id_: str, title: str, text: str, url: str, metadata: dict[str, str]) -> FetchedDocument:
    if len(text) > _LONGEST:
        metadata = {**metadata, "truncated": f"the first {_LONGEST:,} of {len(text):,} characters"}
    known = {name: value for name, value in metadata.items() if value}
    return FetchedDocument(id=id_, title=title or id_, text=text[:_LONGEST], url=url, metadata=known)
