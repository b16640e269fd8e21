"""Interface and shared code of corpus stores, and the registry of stores by URI scheme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from threading import Lock
from typing import NamedTuple, Protocol, Self

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK, Passage, cut_ends
from redargue.nli.session import Embedder, Floats, shared
from redargue.registry import Registry, a_function
from redargue.retrieval.corpus.documents import SIZE, Document, batches
from redargue.retrieval.corpus.ranking import Span, uncovered

# What a search found, and the passages that are made of it.
#
# A chunk can cut off the sentence that decides a claim, and several chunks of one document can
# take the places of other documents. So a short document is shown whole, and chunks of one
# document that overlap or follow one another become one passage; the places that this frees go
# to the next hits.


WHOLE = 2_000  # characters of a document that is shown whole, and of a passage merged from chunks
NEIGHBOURS = 2  # characters of white space between chunks that follow one another


class Hit(NamedTuple):
    """A part of a document that a search found.

    Attributes:
        source: the passage's fields that describe the document; ``document`` tells documents apart.
        length: of the document, in characters.
        read: the document's text between two offsets; valid while the search is open.
        page: the page at an offset, from 1; 0 if the document has no pages. Valid while the search is open.
    """

    source: Mapping[str, str]
    start: int
    end: int
    score: float
    length: int
    read: Callable[[int, int], str]
    page: Callable[[int], int]


Hits = Generator[Hit, None, None]


class _Shown(NamedTuple):
    hit: Hit
    span: Span
    passage: Passage


def page_in(text: str, start: int) -> int:
    """The page at an offset of a whole document."""
    return 1 + text.count(PAGE_BREAK, 0, start) if PAGE_BREAK in text else 0


def merged_passages(hits: Hits, query: str, k: int) -> tuple[Passage, ...]:
    """At most ``k`` passages of the hits, which are read best first until there are as many; none overlap."""
    shown: list[_Shown] = []
    with closing(hits):
        for hit in hits:
            span = (0, hit.length) if hit.length <= WHOLE else (hit.start, hit.end)
            touched = [other for other in shown if _touches(other, hit, span)]
            joined = _union([span, *(other.span for other in touched)])
            if not touched:
                new = _shown(hit, span, query)
            elif joined[1] - joined[0] <= WHOLE:
                best = shown.index(touched[0])
                shown[best] = _shown(touched[0].hit, joined, query)
                shown = [other for other in shown if other not in touched[1:]]
                continue
            else:
                new = _shown(hit, uncovered(span, [other.span for other in touched]), query)
            if new.passage.text and all(new.passage.text != other.passage.text for other in shown):
                shown.append(new)
                if len(shown) == k:
                    break
    return tuple(other.passage.model_copy(update={"rank": rank}) for rank, other in enumerate(shown, 1))


def _touches(shown: _Shown, hit: Hit, span: Span) -> bool:
    if shown.hit.source["document"] != hit.source["document"]:
        return False
    return span[0] <= shown.span[1] + NEIGHBOURS and shown.span[0] <= span[1] + NEIGHBOURS


def _union(spans: list[Span]) -> Span:
    return min(start for start, _ in spans), max(end for _, end in spans)


def _shown(hit: Hit, span: Span, query: str) -> _Shown:
    text = hit.read(*span)
    start = span[0] + len(text) - len(text.lstrip())
    cut = cut_ends(start=_has_words(hit, 0, start), end=_has_words(hit, span[1], hit.length))
    found = {
        "text": text.strip(),
        "start": start,
        "page": hit.page(start),
        "query": query,
        "score": hit.score,
        "cut": cut,
    }
    return _Shown(hit, span, Passage(**hit.source, **found))


def _has_words(hit: Hit, start: int, end: int) -> bool:
    """Whether anything but white space is between two offsets; reads as little as says so."""
    return any(hit.read(at, min(at + WHOLE, end)).strip() for at in range(start, end, WHOLE))


__all__ = ["Added", "Corpus", "Encoder", "Entry", "Hit", "Hits", "Opener", "stores"]

K = 3  # passages per search, as Tool-MAD retrieves per tool
DEPTH = 50  # chunks of each ranking that enter the fusion
EXCERPT = 2 * SIZE  # maximum characters of the excerpt that represents a document
MEANING, WORDS = 1.0, 1.0  # weights of the two rankings
AGAIN = 0.5  # factor on the score of a further chunk of the same document: prefers other documents


class Added(Frozen):
    """Documents added to a corpus, and the chunks that were embedded and stored."""

    added: int = 0
    unchanged: int = 0  # already in the corpus with the same content
    replaced: int = 0  # in the corpus with other content
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
    """Encodes texts as unit vectors, as :class:`redargue.nli.session.Embedder` does."""

    name: str

    def encode(self, texts: Sequence[str]) -> Floats:
        """Returns vectors of shape (texts, dimensions), float32."""
        ...


class Corpus(ABC):
    """Documents that can be searched; a context manager that threads can use concurrently."""

    def __init__(self, embedder: Encoder | None) -> None:
        self._encoder, self._loading = embedder, Lock()
        self._embedder = (embedder or Embedder).name

    @property
    @abstractmethod
    def revision(self) -> str:
        """Identifies the content: two corpora with equal documents have the same revision."""

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        """Stores documents in atomic batches; after an interruption, the same call continues where it stopped.

        A document whose id exists is skipped if its content is the same, and replaces the stored document otherwise.
        The same content under two ids is two documents.

        Args:
            documents: consumed lazily.
            progress: called after each batch with the totals so far.

        Raises:
            UsageError: the corpus was opened for reading only.
            StoreUnavailable: another process was writing for longer than the store waits, or the disk is full; the
                current batch was not stored, earlier batches are intact.
        """
        self.require_writable()
        total = Added()
        for batch in batches(documents):
            total += self.add_batch(batch)
            if progress:
                progress(total)
        return total

    def require_complete(self) -> None:  # noqa: B027
        """Raises StoreUnavailable while documents are being added, if the store can tell: searches would miss some."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id, file or folder, and returns how many; none if a name is unknown (UsageError)."""

    @abstractmethod
    def clear(self) -> int:
        """Removes all documents and frees their space; returns how many."""

    @abstractmethod
    def documents(self) -> tuple[Entry, ...]:
        """All documents, in insertion order."""

    @abstractmethod
    def document(self, id_: str) -> Document:
        """The document with this id; raises UsageError if there is none."""

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """Hybrid search: at most ``k`` passages of chunks ranked by meaning and by words, without overlapping text."""
        query = _validated(query, k)
        return merged_passages(self.hybrid_hits(query, self.encode([query])[0], k), query, k) if query.strip() else ()

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """Keyword search (BM25): at most ``k`` documents, each represented by its best-matching excerpt."""
        query = _validated(query, k)
        return merged_passages(self.keyword_hits(query, k), query, k)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of the texts; loads the bundled embedder on first use if no other was given."""
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

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
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _validated(query: str, k: int) -> str:
    """The query with unpaired surrogates replaced by question marks."""
    if k < 1:
        raise UsageError(f"cannot search for {k} passages", hint="request at least 1")
    return query.encode(errors="replace").decode()


class Opener(Protocol):
    """Opens a store at an address, the part of the URI after ``scheme:``; no embedder selects the bundled one."""

    def __call__(self, address: str, *, write: bool, embedder: Encoder | None) -> Corpus: ...


STORES = {"sqlite": "redargue.retrieval.corpus.sqlite:_open"}

stores: Registry[Opener] = Registry(
    "corpus store", builtin=STORES, group="redargue.corpus_stores", extra="scale", missing=a_function
)
"""Stores by scheme; an address without a scheme is a path to a ``sqlite`` store."""
