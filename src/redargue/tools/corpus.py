"""The user's documents by meaning and by words: the RAG side of a debate (Tool-MAD, journal, §III-A)."""

from __future__ import annotations

import asyncio

from redargue.corpus.index import Corpus
from redargue.evidence import Passage
from redargue.tools.base import tools


@tools.register("corpus")
class CorpusTool:
    """Dense vectors and BM25 over chunks, fused by rank.

    Args:
        corpus: an open corpus.
    """

    name = "corpus"
    about = "a collection of documents, searched by meaning and by words"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @property
    def revision(self) -> str:
        """The corpus' own."""
        return self._corpus.revision

    async def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """At most ``k`` chunks."""
        return await asyncio.to_thread(self._corpus.search, query, k)
