"""Interface of corpus stores, and the registry of stores by URI scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from redargue.claims import Frozen
from redargue.evidence import Passage
from redargue.nli.cache import Floats
from redargue.registry import Registry
from redargue.retrieval.corpus.documents import Document

K = 3  # passages per search, as Tool-MAD retrieves per tool


class Added(Frozen):
    """Counts of an addition to a corpus.

    Attributes:
        added: documents with a new id.
        unchanged: documents that the corpus already contained with the same content.
        replaced: documents whose id existed with different content.
        chunks: chunks that were embedded and stored.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    chunks: int = 0

    @property
    def documents(self) -> int:
        return self.added + self.unchanged + self.replaced

    def __add__(self, other: Added) -> Added:
        return Added(**{name: getattr(self, name) + getattr(other, name) for name in Added.model_fields})


class Entry(Frozen):
    """A stored document without its text; ``added`` is the time when this content was stored, ISO 8601 in UTC."""

    id: str
    title: str
    path: str
    chars: int
    chunks: int
    added: str


class Encoder(Protocol):
    """Encodes texts as unit vectors, as :class:`redargue.nli.embedder.Embedder` does."""

    name: str

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns vectors of shape (texts, dimensions), float32."""
        ...


class Corpus(Protocol):
    """Documents that can be searched; a context manager that threads can use concurrently."""

    @property
    def revision(self) -> str:
        """Identifies the content: two corpora with equal documents have the same revision."""
        ...

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        """Stores documents in atomic batches; after an interruption, the same call continues where it stopped.

        A document whose id exists is skipped if its content is the same, and replaces the stored document otherwise.
        The same content under two ids is two documents.

        Args:
            documents: consumed lazily.
            progress: called after each batch with the totals so far.

        Raises:
            UsageError: the corpus was opened for reading only.
            StoreLocked: another process was writing for longer than the store waits.
            DiskFull: the current batch was not stored; earlier batches are intact.
        """
        ...

    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id, or by the file or folder that they were read from; returns how many.

        Raises:
            UnknownName: a name matches no document; nothing was removed.
        """
        ...

    def clear(self) -> int:
        """Removes all documents and frees their space; returns how many."""
        ...

    def documents(self) -> tuple[Entry, ...]:
        """All documents, in insertion order."""
        ...

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """Hybrid search: at most ``k`` chunks, ranked by meaning and by words, without overlapping text."""
        ...

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """Keyword search (BM25): at most ``k`` documents, each represented by its best-matching excerpt."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class Opener(Protocol):
    """Opens a store at an address, which is the part of the URI after ``scheme:``."""

    def __call__(self, address: str, *, write: bool, embedder: Encoder | None) -> Corpus:
        """Opens the corpus; ``embedder=None`` selects the bundled embedder."""
        ...


STORES = {
    "sqlite": "redargue.retrieval.corpus.sqlite:_open",
    "milvus": "redargue.retrieval.corpus.milvus.store:_open",
}

stores: Registry[Opener] = Registry("corpus store", builtin=STORES)
"""Stores by scheme; an address without a scheme is a path to a ``sqlite`` store."""
