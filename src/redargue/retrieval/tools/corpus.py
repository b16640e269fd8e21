"""The user's documents, searched by meaning and words (the RAG side of Tool-MAD, journal, §III-A) or by words alone.

``keywords`` replaces web search where there is none: like a web search engine, it ranks whole documents by the query's
words and shows an excerpt of each. It finds other documents than ``corpus``, so that two debaters differ.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Self

from redargue.evidence import Passage
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.tools.base import Search, Sources, tools


@tools.register("corpus")
class CorpusTool:
    """Chunks ranked by dense vectors and BM25, fused by rank."""

    name: ClassVar[str] = "corpus"
    about: ClassVar[str] = "a collection of documents, searched by meaning and by words"
    online: ClassVar[bool] = False

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def make(cls, sources: Sources) -> Self:
        return cls(sources.corpus())

    @property
    def revision(self) -> str:
        return self._corpus.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: str, k: int) -> tuple[Passage, ...]:
        return self._corpus.search(query, k)


@tools.register("keywords")
class KeywordsTool(CorpusTool):
    """Whole documents ranked by BM25, each represented by its best excerpt."""

    name: ClassVar[str] = "keywords"
    about: ClassVar[str] = "a search engine that ranks whole documents by the words of the query"

    def _search(self, query: str, k: int) -> tuple[Passage, ...]:
        return self._corpus.search_keywords(query, k)
