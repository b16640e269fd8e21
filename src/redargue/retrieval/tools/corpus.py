"""The user's documents by meaning and by words: the RAG side of a debate (Tool-MAD, journal, §III-A)."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from redargue.evidence import Passage
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.tools.base import Search, Sources, tools


@tools.register("corpus")
class CorpusTool:
    """Dense vectors and BM25 over chunks, fused by rank.

    Args:
        corpus: an open corpus.
    """

    name: ClassVar[str] = "corpus"
    about: ClassVar[str] = "a collection of documents, searched by meaning and by words"
    online: ClassVar[bool] = False

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def make(cls, sources: Sources) -> CorpusTool:
        """Over the user's corpus."""
        return cls(sources.corpus())

    @property
    def revision(self) -> str:
        """The corpus' own."""
        return self._corpus.revision

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` chunks."""
        return await asyncio.to_thread(self._corpus.search, query, k)
