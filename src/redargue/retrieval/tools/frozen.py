"""Evidence that was found before and stands still: every method that is compared searches the same passages.

Each claim has its own: passages of a real search, those that come with a data set, or those that another method's
recorded debate read. They are cut into chunks and ranked like a corpus, by meaning and words or by words alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence

import numpy as np

from redargue.evidence import Passage
from redargue.retrieval.corpus.base import Encoder
from redargue.retrieval.corpus.chunk import chunks
from redargue.retrieval.corpus.ranking import fts5_query, fuse, nearest
from redargue.retrieval.tools.base import Search

FOUND_BEFORE = "passages that were found for the claim before"
DEPTH = 50  # of the ranking by words, which the ranking by meaning then reads


class FrozenEvidence:
    """A claim's passages, by the claim's place in the run; see :class:`redargue.retrieval.tools.base.PerClaim`.

    Args:
        passages: of each claim, in the order of the claims.
        name: as of the tools.
        encoder: ranks by meaning, too; None: by words alone.
        whole: every passage is given, whatever the query and ``k``: what a reader reads that has all of it before it.
        about: as of the tools.
    """

    def __init__(
        self,
        passages: Sequence[Sequence[Passage]],
        *,
        name: str = "frozen",
        encoder: Encoder | None = None,
        whole: bool = False,
        about: str = FOUND_BEFORE,
    ) -> None:
        self.name, self.about, self._encoder, self._whole = name, about, encoder, whole
        self._passages = [tuple(each) for each in passages]
        digest = hashlib.sha256(f"{whole} {encoder.name if encoder else ''}".encode())
        for found in self._passages:
            for passage in found:
                digest.update(passage.sha256.encode())
            digest.update(b"\0")
        self._revision = digest.hexdigest()[:16]

    @property
    def revision(self) -> str:
        """Of all passages and of how they are ranked."""
        return self._revision

    def for_claim(self, item: int) -> FrozenTool:
        """The tool over one claim's passages."""
        return FrozenTool(self, self._passages[item], self._encoder, whole=self._whole)


class FrozenTool:
    """Searches one claim's passages."""

    def __init__(
        self, of: FrozenEvidence, passages: tuple[Passage, ...], encoder: Encoder | None, *, whole: bool
    ) -> None:
        self.name, self.revision, self.about = of.name, of.revision, of.about
        self._whole, self._passages, self._encoder = whole, passages, encoder
        self._pieces: list[Passage] = []

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        """At most ``k`` chunks of the claim's passages, the best first; or all passages."""
        if self._whole:
            return tuple(each.model_copy(update={"rank": rank}) for rank, each in enumerate(self._passages, 1))
        return await asyncio.to_thread(self._ranked, query, k)

    def _ranked(self, query: str, k: int) -> tuple[Passage, ...]:
        self._pieces = self._pieces or cut(self._passages)
        by_words = self._by_words(query)
        ranking = [(place, 1 / rank) for rank, place in enumerate(by_words, 1)]
        if self._encoder and self._pieces:
            rest = [place for place in range(len(self._pieces)) if place not in set(by_words)]
            read = [*by_words[:DEPTH], *rest][:DEPTH]
            texts = [query, *(f"{self._pieces[each].title}. {self._pieces[each].text}" for each in read)]
            vectors = self._encoder.encode(texts)
            near = [read[each] for each in nearest(np.asarray(vectors[1:]), vectors[0], DEPTH)]
            ranking = fuse((near, 1.0), (by_words, 1.0))
        best = ranking[: max(0, k)]
        return tuple(
            self._pieces[place].model_copy(update={"rank": rank, "score": round(score, 6)})
            for rank, (place, score) in enumerate(best, 1)
        )

    def _by_words(self, query: str) -> list[int]:
        """Places of the pieces that hold words of the query, by BM25."""
        words = fts5_query(query)
        if not words or not self._pieces:
            return []
        memory = sqlite3.connect(":memory:")
        try:
            memory.execute("CREATE VIRTUAL TABLE pieces USING fts5(title, text, tokenize = 'porter unicode61')")
            memory.executemany("INSERT INTO pieces VALUES (?, ?)", [(each.title, each.text) for each in self._pieces])
            find = (
                "SELECT rowid FROM pieces WHERE pieces MATCH ? ORDER BY round(bm25(pieces, 3.0, 1.0), 6), rowid LIMIT ?"
            )
            return [int(row[0]) - 1 for row in memory.execute(find, (words, DEPTH))]
        finally:
            memory.close()


def cut(passages: Sequence[Passage]) -> list[Passage]:
    """The passages in the chunks that are searched; each text once, whichever search found it."""
    pieces: dict[str, Passage] = {}
    for passage in passages:
        for chunk in chunks(passage.text):
            pieces.setdefault(
                chunk.text, passage.model_copy(update={"text": chunk.text, "start": passage.start + chunk.start})
            )
    return list(pieces.values())
