"""The user's documents by meaning and by words, then in an order to which the cross-encoder contributes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from redargue.evidence import Passage
from redargue.nli.entailment import CrossEncoder
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.tools.base import Search, Sources, tools

DEPTH = 10  # passages of each ranking that are read
ABSENT = 99  # the rank of what a ranking does not hold
CLOSE = 60  # ranks: as in the corpus' own fusion
CHUNKS, DOCUMENTS, RELEVANCE = 1.0, 0.5, 0.003  # weights: of both rankings, and of the reading, in [0, 1]


@tools.register("reranked")
class RerankedTool:
    """Chunks by meaning and words, documents by words, and how likely each text decides the query.

    The weights were chosen on even rows of SciFact and FEVER: the reading alone orders worse than the rankings do, and
    a little of it better than none (``experiments/LOG.md``).

    Args:
        corpus: an open corpus.
        entailment: reads what was found; the package's own by default.
    """

    name: ClassVar[str] = "reranked"
    about: ClassVar[str] = "a collection of documents, searched by meaning and by words, and read before it is ordered"
    online: ClassVar[bool] = False

    def __init__(self, corpus: Corpus, entailment: CrossEncoder | None = None) -> None:
        self._corpus, self._given = corpus, entailment

    @classmethod
    def make(cls, sources: Sources) -> RerankedTool:
        """Over the user's corpus."""
        return cls(sources.corpus())

    @cached_property
    def _entailment(self) -> CrossEncoder:
        return self._given or CrossEncoder()

    @property
    def revision(self) -> str:
        """The corpus' own, and the model's weights."""
        return f"{self._corpus.revision} {self._entailment.sha256[:12]}"

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` passages."""
        return await asyncio.to_thread(self._search, query, k)

    def _search(self, query: str, k: int) -> tuple[Passage, ...]:
        depth = max(DEPTH, k)
        rankings = (self._corpus.search(query, depth), CHUNKS), (self._corpus.search_keywords(query, depth), DOCUMENTS)
        found: dict[str, Passage] = {}
        for passages, _ in rankings:
            for passage in passages:
                found.setdefault(_document(passage), passage)
        scores = dict.fromkeys(found, 0.0)
        for passages, weight in rankings:
            ranks = _ranks(passages)
            for document in found:
                scores[document] += weight / (CLOSE + ranks.get(document, ABSENT))
        texts = [(query, f"{each.title}. {each.text}" if each.title else each.text) for each in found.values()]
        for document, relevance in zip(found, self._entailment.relevance(texts), strict=True):
            scores[document] += RELEVANCE * relevance
        order = sorted(found, key=lambda document: -scores[document])[:k]  # stable: of equals, the one found first
        return tuple(
            found[document].model_copy(update={"rank": rank, "score": round(scores[document], 9)})
            for rank, document in enumerate(order, 1)
        )


def _document(passage: Passage) -> str:
    return passage.document or passage.sha256


def _ranks(passages: Sequence[Passage]) -> dict[str, int]:
    """The best rank of each document."""
    ranks: dict[str, int] = {}
    for rank, passage in enumerate(passages, 1):
        ranks.setdefault(_document(passage), rank)
    return ranks
