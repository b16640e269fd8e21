"""The user's documents, searched by meaning and words (the RAG side of Tool-MAD, journal, §III-A) or by words alone.

``keywords`` replaces web search where there is none: like a web search engine, it ranks whole documents by the query's
words and shows an excerpt of each. It finds other documents than ``corpus``, so that two debaters differ.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import ClassVar, Self

from redargue.evidence import Passage
from redargue.nli.encoders import CrossEncoder
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.corpus.ranking import RRF_K
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


# The user's documents by meaning and words, reranked with the cross-encoder.

_DEPTH = 10  # passages of each ranking that the cross-encoder reads
ABSENT = 99  # rank of a document that a ranking does not contain
CHUNKS, DOCUMENTS, RELEVANCE = 1.0, 0.5, 0.003  # weights of the two rankings and of the cross-encoder's relevance


@tools.register("reranked")
class RerankedTool(CorpusTool):
    """Fuses chunks by meaning and words, documents by words, and the relevance of each text to the query.

    The weights were chosen on even rows of SciFact and FEVER: relevance alone orders worse than the rankings do, and a
    small weight of it is better than none (``experiments/LOG.md``). Default cross-encoder: the bundled one.
    """

    name: ClassVar[str] = "reranked"
    about: ClassVar[str] = "a collection of documents, searched by meaning and by words, and read before it is ordered"

    def __init__(self, corpus: Corpus, entailment: CrossEncoder | None = None) -> None:
        super().__init__(corpus)
        self._supplied = entailment

    @cached_property
    def _entailment(self) -> CrossEncoder:
        return self._supplied or CrossEncoder()

    @property
    def revision(self) -> str:
        return f"{self._corpus.revision} {self._entailment.sha256[:12]}"

    def _search(self, query: str, k: int) -> tuple[Passage, ...]:
        depth = max(_DEPTH, k)
        rankings = (self._corpus.search(query, depth), CHUNKS), (self._corpus.search_keywords(query, depth), DOCUMENTS)
        best: dict[str, Passage] = {}
        for passages, _ in rankings:
            for passage in passages:
                best.setdefault(_document(passage), passage)
        scores = dict.fromkeys(best, 0.0)
        for passages, weight in rankings:
            ranks = {_document(passage): rank for rank, passage in reversed(list(enumerate(passages, 1)))}  # the best
            for document in best:
                scores[document] += weight / (RRF_K + ranks.get(document, ABSENT))
        pairs = [
            (query, f"{passage.title}. {passage.text}" if passage.title else passage.text) for passage in best.values()
        ]
        for document, relevance in zip(best, self._entailment.relevance(pairs), strict=True):
            scores[document] += RELEVANCE * relevance
        order = sorted(best, key=lambda document: -scores[document])[:k]  # stable: ties keep the order of the rankings
        return tuple(
            best[document].model_copy(update={"rank": rank, "score": round(scores[document], 9)})
            for rank, document in enumerate(order, 1)
        )


def _document(passage: Passage) -> str:
    return passage.document or passage.sha256
