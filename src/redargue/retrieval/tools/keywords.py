"""The user's documents by words alone, whole documents ranked: what stands in for web search where there is none.

A web search engine ranks pages by the query's words and shows an excerpt of each; so does this. Over the same
documents as the ``corpus`` tool it finds others, which is what makes two debaters differ.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from redargue.evidence import Passage
from redargue.retrieval.tools.base import Search, tools
from redargue.retrieval.tools.corpus import CorpusTool


@tools.register("keywords")
class KeywordsTool(CorpusTool):
    """BM25 over whole documents; each is shown by its best excerpt.

    Args:
        corpus: an open corpus.
    """

    name: ClassVar[str] = "keywords"
    about: ClassVar[str] = "a search engine that ranks whole documents by the words of the query"

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` excerpts, one a document."""
        return await asyncio.to_thread(self._corpus.search_keywords, query, k)
