"""What every corpus store can do, and the registry of stores by the scheme of their address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from redargue.claims import Frozen
from redargue.corpus.documents import Document
from redargue.evidence import Passage
from redargue.models.cache import Floats
from redargue.registry import Registry

K = 3  # passages a search: what Tool-MAD retrieves per tool


class Added(Frozen):
    """What an addition did, in documents.

    Attributes:
        added: were not there.
        unchanged: were there with the same content.
        replaced: were there, under the same id, with other content.
        chunks: pieces that were embedded and stored.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    chunks: int = 0

    @property
    def documents(self) -> int:
        """All that were handed in so far."""
        return self.added + self.unchanged + self.replaced

    def __add__(self, other: Added) -> Added:
        return Added(**{name: getattr(self, name) + getattr(other, name) for name in Added.model_fields})


class Entry(Frozen):
    """A document as a listing shows it.

    Attributes:
        id: of the document.
        title: empty where it has none.
        path: the file that it came from; empty where it came from none.
        chars: length of its text.
        chunks: pieces that it was cut into.
        added: when this content was stored, ISO 8601 in UTC.
    """

    id: str
    title: str
    path: str
    chars: int
    chunks: int
    added: str


class Encoder(Protocol):
    """Turns texts into vectors of length 1; :class:`redargue.models.embedder.Embedder` is one."""

    name: str

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of shape (texts, dimensions), float32."""
        ...


class Corpus(Protocol):
    """Documents that can be searched without a network; a context manager, usable from several threads at once."""

    @property
    def revision(self) -> str:
        """Names the content: equal for equal documents, another one for any other set of them."""
        ...

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        """Stores documents in batches, each whole or not at all: after an interruption, the same call goes on.

        A document is known by its id: with the content that is there it is left alone, with another content it takes
        the place of what is there. The same content under two ids is two documents.

        Args:
            documents: read as they are needed.
            progress: called with the sum so far after each batch.

        Raises:
            UsageError: the corpus was opened for reading.
            StoreLocked: another process is writing, and went on for longer than the store waits.
            DiskFull: the batch in hand is lost, what was stored before is intact.
        """
        ...

    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id or by the file or folder that they came from; returns how many.

        Raises:
            UnknownName: one of the names fits no document; nothing was removed.
        """
        ...

    def clear(self) -> int:
        """Removes all documents; returns how many."""
        ...

    def documents(self) -> tuple[Entry, ...]:
        """All documents, in the order in which they were stored."""
        ...

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` chunks, by meaning and by words; no text stands in two of them."""
        ...

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` documents by their words (BM25), each shown by the stretch of it that fits the query best."""
        ...

    def close(self) -> None:
        """Releases the store."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class Opener(Protocol):
    """Opens a store at an address: what stands behind the scheme's colon."""

    def __call__(self, address: str, *, write: bool, embedder: Encoder | None) -> Corpus:
        """A corpus; None for the embedder that the package carries."""
        ...


STORES = {
    "sqlite": "redargue.corpus.sqlite:_open",
    "milvus": "redargue.corpus.milvus:_open",
}

stores: Registry[Opener] = Registry("corpus store", builtin=STORES)
"""By scheme; an address without a scheme is a path, and belongs to ``sqlite``."""
