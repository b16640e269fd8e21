"""What the corpus stores share: batches, the embedder, validation of queries, and passages without repeated text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self

from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.nli.cache import Floats
from redargue.nli.embedder import Embedder, shared
from redargue.retrieval.corpus.base import Added, Encoder, K
from redargue.retrieval.corpus.batches import batches
from redargue.retrieval.corpus.chunk import SIZE
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ranking import Span, uncovered

DEPTH = 50  # chunks of each ranking that enter the fusion
EXCERPT = 2 * SIZE  # maximum characters of the excerpt that represents a document
MEANING, WORDS = 1.0, 1.0  # weights of the two rankings
AGAIN = 0.5  # factor on the score of a further chunk of the same document: prefers other documents


class Hit(NamedTuple):
    """A part of a document that a search found; ``source`` has the passage's fields that describe the document."""

    source: Mapping[str, str]
    start: int
    text: str
    score: float


Hits = Generator[Hit, None, None]


class Store(ABC):
    """Base class of stores; see :class:`redargue.retrieval.corpus.base.Corpus` for the methods."""

    def __init__(self, embedder: Encoder | None) -> None:
        self._encoder, self._loading = embedder, Lock()
        self._embedder = (embedder or Embedder).name

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts; loads the bundled embedder on first use if no other was given."""
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        self.require_writable()
        total = Added()
        for batch in batches(documents):
            total += self.add_batch(batch)
            if progress:
                progress(total)
        return total

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        query = _validated(query, k)
        return _passages(self.hybrid_hits(query, self.encode([query])[0], k), query, k) if query.strip() else ()

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        query = _validated(query, k)
        return _passages(self.keyword_hits(query, k), query, k)

    @abstractmethod
    def require_writable(self) -> None:
        """Raises UsageError if the store was opened for reading only."""

    @abstractmethod
    def add_batch(self, batch: list[Document]) -> Added:
        """Stores a batch atomically."""

    @abstractmethod
    def hybrid_hits(self, query: str, vector: Floats, k: int) -> Hits:
        """Chunks by meaning and words, best first; consumed until there are ``k`` passages."""

    @abstractmethod
    def keyword_hits(self, query: str, k: int) -> Hits:
        """The excerpts of documents by words, best first; consumed until there are ``k`` passages."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _validated(query: str, k: int) -> str:
    """The query with unpaired surrogates replaced by question marks."""
    if k < 1:
        raise UsageError(f"cannot search for {k} passages", hint="request at least 1")
    return query.encode(errors="replace").decode()


def _passages(hits: Hits, query: str, k: int) -> tuple[Passage, ...]:
    """The best hits as passages, without text that a better hit of the same document contains."""
    passages: list[Passage] = []
    shown: dict[str, list[Span]] = {}
    with closing(hits):
        for source, begin, text, score in hits:
            spans = shown.setdefault(source["document"], [])
            start, end = uncovered((begin, begin + len(text)), spans)
            text = text[start - begin : end - begin]
            offset = start + len(text) - len(text.lstrip())
            passage = Passage(
                **source, text=text.strip(), start=offset, query=query, rank=len(passages) + 1, score=score
            )
            if passage.text and all(passage.text != better.text for better in passages):
                spans.append((start, end))
                passages.append(passage)
                if len(passages) == k:
                    break
    return tuple(passages)
