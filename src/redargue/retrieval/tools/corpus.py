"""The user's documents, searched by meaning and words (the RAG side of Tool-MAD, journal, §III-A) or by words alone.

``keywords`` replaces web search where there is none: like a web search engine, it ranks whole documents by the query's
words and shows an excerpt of each. It finds other documents than ``corpus``, so that two debaters differ.

Fixed passages per claim, from a data set, an earlier search or a recorded debate, let all methods of a comparison
search the same evidence. They are split into chunks and ranked like a corpus.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from threading import Lock
from typing import ClassVar, NamedTuple, Self

import numpy as np

from redargue.evidence import Passage, cut_ends
from redargue.nli.session import CrossEncoder
from redargue.retrieval.corpus import WHOLE_LENGTH, Encoder, Hit, merged_passages, page_in
from redargue.retrieval.corpus.documents import Chunk, chunks
from redargue.retrieval.corpus.index import Corpus
from redargue.retrieval.corpus.ranking import RRF_K, fuse, nearest, ranked_by_words
from redargue.retrieval.tools import Search, Sources, tools


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
ABSENT = 99  # rank of what a ranking does not contain
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
        chunks, excerpts = self._corpus.search(query, depth), self._corpus.search_keywords(query, depth)
        found = [*chunks, *(each for each in excerpts if not any(_overlap(each, chunk) for chunk in chunks))]
        by_chunk = {_place(passage): rank for rank, passage in enumerate(chunks, 1)}
        by_document = {_document(passage): rank for rank, passage in enumerate(excerpts, 1)}
        texts = [f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in found]
        relevances = self._entailment.relevance([(query, text) for text in texts])
        scores = [
            CHUNKS / (RRF_K + by_chunk.get(_place(passage), ABSENT))
            + DOCUMENTS / (RRF_K + by_document.get(_document(passage), ABSENT))
            + RELEVANCE * relevance
            for passage, relevance in zip(found, relevances, strict=True)
        ]
        order = sorted(range(len(found)), key=lambda index: -scores[index])[:k]  # stable: ties keep their order
        return tuple(
            found[index].model_copy(update={"rank": rank, "score": round(scores[index], 9)})
            for rank, index in enumerate(order, 1)
        )


def _document(passage: Passage) -> str:
    return passage.document or passage.sha256


def _place(passage: Passage) -> tuple[str, int]:
    return _document(passage), passage.start


def _overlap(one: Passage, other: Passage) -> bool:
    """Whether two passages share a part of a document."""
    start, end = max(one.start, other.start), min(one.start + len(one.text), other.start + len(other.text))
    return _document(one) == _document(other) and start < end


_RANKED = 50  # chunks of each ranking of fixed passages
_MOST_ENCODED = 1_000  # chunks that the ranking by meaning reads


_BY_BOTH = "passages found for the claim earlier, ranked by meaning and by the words of the query"
_BY_WORDS = "passages found for the claim earlier, ranked by the words of the query: good for names and numbers"


class FixedPassages:
    """The passages of each claim, in the order of the claims; see :class:`redargue.retrieval.tools.PerClaim`.

    An ``encoder`` ranks by meaning as well as by words. ``whole``: a search returns all passages of the claim.
    """

    online: ClassVar[bool] = False

    def __init__(
        self,
        passages: Sequence[Sequence[Passage]],
        *,
        name: str = "frozen",
        encoder: Encoder | None = None,
        whole: bool = False,
        about: str = "",
    ) -> None:
        about = about or (_BY_BOTH if encoder else _BY_WORDS)
        self.name, self.about, self.encoder, self.whole = name, about, encoder, whole
        self._passages = [tuple(of_claim) for of_claim in passages]
        self._tools: dict[int, FixedPassagesTool] = {}  # of the same passages, by their identity
        digest = hashlib.sha256(f"{whole} {encoder.name if encoder else ''}".encode())
        for of_claim in self._passages:
            for passage in of_claim:
                digest.update(passage.sha256.encode())
            digest.update(b"\0")
        self.revision = digest.hexdigest()[:16]

    def for_claim(self, item: int) -> FixedPassagesTool:
        passages = self._passages[item]
        return self._tools.setdefault(id(passages), FixedPassagesTool(self, passages, whole=self.whole))

    def for_all(self, claims: Sequence[str] = ()) -> FixedPassagesTool:
        """A tool for all claims: their passages are searched; if ``whole``, those of the queried claim are returned.

        Args:
            claims: the text of each claim.
        """
        passages = tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(self._passages))))
        by_claim = dict(zip(claims, self._passages, strict=False))
        return FixedPassagesTool(self, passages, whole=self.whole, by_claim=by_claim)


class FixedPassagesTool:
    """Searches one claim's passages, or those of all claims.

    Args:
        whole: a search returns all passages, or those that ``by_claim`` has for the query.
        by_claim: passages by the text of their claim.
    """

    online: ClassVar[bool] = False

    def __init__(
        self,
        source: FixedPassages,
        passages: tuple[Passage, ...],
        *,
        whole: bool = False,
        by_claim: Mapping[str, tuple[Passage, ...]] | None = None,
    ) -> None:
        self.name, self.revision, self.about = source.name, source.revision, source.about
        self.whole, self._encoder, self._passages, self._by_claim = whole, source.encoder, passages, by_claim or {}
        self._cutting = Lock()

    @property
    def _pieces(self) -> list[_Piece]:
        with self._cutting:  # of many documents it takes seconds, which concurrent searches share
            return self._cut

    @cached_property
    def _cut(self) -> list[_Piece]:
        """Short passages whole, longer ones in chunks; without those whose text another one contains.

        The same text under two titles is two pieces.
        """
        pieces: dict[tuple[str, str], _Piece] = {}
        for number, passage in enumerate(self._passages):
            others = self._passages[:number] + self._passages[number + 1 :]
            if any(passage.text in other.text != passage.text and other.title == passage.title for other in others):
                continue
            whole = [Chunk(start=0, end=len(passage.text), text=passage.text)]
            for chunk in whole if len(passage.text) <= WHOLE_LENGTH else chunks(passage.text):
                pieces.setdefault((passage.title, chunk.text), _Piece(number, passage, chunk))
        return list(pieces.values())

    @property
    def encoded_texts(self) -> tuple[str, ...]:
        """The texts that a ranking by meaning encodes."""
        return tuple(f"{piece.passage.title}. {piece.chunk.text}" for piece in self._pieces) if self._encoder else ()

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        if self.whole:
            passages = self._by_claim.get(query, self._passages)
            return tuple(passage.model_copy(update={"rank": rank}) for rank, passage in enumerate(passages, 1))
        return await asyncio.to_thread(self._ranked, query, k)

    def _ranked(self, query: str, k: int) -> tuple[Passage, ...]:
        pieces = self._pieces
        texts = [(piece.passage.title, piece.chunk.text) for piece in pieces]
        by_words = [index for index, _ in ranked_by_words(texts, query, _RANKED)]
        ranking = [(index, 1 / rank) for rank, index in enumerate(by_words, 1)]
        if self._encoder and pieces:
            read = _read_by_meaning(by_words, len(pieces))
            vectors = self._encoder.encode([query, *(f"{texts[index][0]}. {texts[index][1]}" for index in read)])
            by_meaning = [read[row] for row in nearest(np.asarray(vectors[1:]), vectors[0], _RANKED)]
            # The first by words leads: it has the name that tells a row from three thousand others of one meaning.
            ranking = sorted(fuse(by_meaning, by_words), key=lambda hit: hit[0] not in by_words[:1])
        hits = (_hit(pieces[index], score) for index, score in ranking)
        merged = merged_passages(hits, query, k) if k > 0 else ()
        return tuple(_as_found(self._passages[int(passage.document)], passage) for passage in merged)


def _read_by_meaning(by_words: Sequence[int], count: int) -> list[int]:
    """The indices of the chunks that are encoded: all; of more than are read, those by words and others all over."""
    others = sorted(set(range(count)) - set(by_words))
    room = min(_MOST_ENCODED - len(by_words), len(others))
    return [*by_words, *(others[place * len(others) // room] for place in range(room))]


class _Piece(NamedTuple):
    number: int  # of its passage
    passage: Passage
    chunk: Chunk


def _hit(piece: _Piece, score: float) -> Hit:
    text, source = piece.passage.text, {"document": str(piece.number), "title": piece.passage.title}
    start, end, page = piece.chunk.start, piece.chunk.end, partial(page_in, text)
    return Hit(source, start, end, score, len(text), lambda first, last: text[first:last], page)


def _as_found(passage: Passage, part: Passage) -> Passage:
    """A part of a passage, described as the passage is."""
    score = round(part.score or 0.0, 6)
    start, page = passage.start + part.start, passage.page_at(part.start) or part.page
    cut = cut_ends(start=passage.starts_cut or part.starts_cut, end=passage.ends_cut or part.ends_cut)
    found = {"text": part.text, "start": start, "page": page, "rank": part.rank, "score": score, "cut": cut}
    return passage.model_copy(update=found)
