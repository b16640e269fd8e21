"""Interface and shared code of corpus stores, and the registry of stores by URI scheme."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from threading import Lock
from typing import NamedTuple, Protocol

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK, Passage, cut_ends
from redargue.files import Closable
from redargue.nli.session import Embedder, Floats, shared
from redargue.registry import Registry, a_function
from redargue.retrieval.corpus.documents import SIZE, Document, batches
from redargue.retrieval.corpus.ranking import Span, uncovered

K = 3  # passages per search, as Tool-MAD retrieves per tool
DEPTH = 50  # chunks of each ranking that enter the fusion
EXCERPT = 2 * SIZE  # maximum characters of the excerpt that represents a document
WHOLE_LENGTH = 2_000  # maximum characters of a document that is returned whole, and of a passage merged from chunks
_MAX_GAP = 2  # characters of white space between consecutive chunks


class Hit(NamedTuple):
    """A part of a document that a search found; ``read`` and ``page`` are valid while the search is open."""

    source: Mapping[str, str]  # the passage's fields of the document; ``document`` identifies it
    start: int
    end: int
    score: float
    length: int  # of the document, in characters
    read: Callable[[int, int], str]  # the document's text between two offsets
    page: Callable[[int], int]  # at an offset, from 1; 0 if the document has no pages


Hits = Generator[Hit, None, None]


class _Result(NamedTuple):
    hit: Hit
    span: Span
    passage: Passage


def page_in(text: str, start: int) -> int:
    """The page at an offset of a whole document."""
    return 1 + text.count(PAGE_BREAK, 0, start) if PAGE_BREAK in text else 0


def merged_passages(hits: Hits, query: str, k: int) -> tuple[Passage, ...]:
    """Makes at most ``k`` passages of the hits, which are consumed best first.

    A chunk can cut off the sentence that decides a claim, and chunks of one document can crowd out other documents.
    Therefore a short document becomes one passage, and so do overlapping or consecutive chunks of a document. Passages
    do not overlap.
    """
    results: list[_Result] = []
    with closing(hits):
        for hit in hits:
            span = (0, hit.length) if hit.length <= WHOLE_LENGTH else (hit.start, hit.end)
            touched = [result for result in results if _touches(result, hit, span)]
            spans = [span, *(result.span for result in touched)]
            start, end = min(first for first, _ in spans), max(last for _, last in spans)
            if touched and end - start <= WHOLE_LENGTH:
                best, *others = touched
                results[results.index(best)] = _result(best.hit, (start, end), query)
                results = [result for result in results if result not in others]
                continue
            new = _result(hit, uncovered(span, [result.span for result in touched]), query)
            if new.passage.text and all(new.passage.content != result.passage.content for result in results):
                results.append(new)
                if len(results) == k:
                    break
    return tuple(result.passage.model_copy(update={"rank": rank}) for rank, result in enumerate(results, 1))


def _touches(result: _Result, hit: Hit, span: Span) -> bool:
    near = span[0] <= result.span[1] + _MAX_GAP and result.span[0] <= span[1] + _MAX_GAP
    return near and result.hit.source["document"] == hit.source["document"]


def _result(hit: Hit, span: Span, query: str) -> _Result:
    text = hit.read(*span)
    start = span[0] + len(text) - len(text.lstrip())
    cut = cut_ends(start=_has_words(hit, 0, start), end=_has_words(hit, span[1], hit.length))
    found = {"text": text.strip(), "start": start, "page": hit.page(start), "cut": cut}
    return _Result(hit, span, Passage(**hit.source, **found, query=query, score=hit.score))


def _has_words(hit: Hit, start: int, end: int) -> bool:
    """Whether there is more than white space between two offsets; reads block by block, up to the first word."""
    return any(hit.read(at, min(at + WHOLE_LENGTH, end)).strip() for at in range(start, end, WHOLE_LENGTH))


class Added(Frozen):
    """Documents added to a corpus, and the chunks that were embedded and stored."""

    added: int = 0
    unchanged: int = 0  # already in the corpus with the same content
    replaced: int = 0  # already in the corpus with different content
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


class Corpus(Closable):
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
        The same content under two ids is two documents. ``documents`` are consumed lazily; ``progress`` is called after
        each batch with the totals so far.

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

    def require_complete(self) -> None:
        """Raises StoreUnavailable while documents are being added, if the store can tell: searches would miss some."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id, file or folder, and returns how many; raises UsageError if a name is unknown."""

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
        """Yields chunks by meaning and words, best first; consumed until there are ``k`` passages."""

    @abstractmethod
    def keyword_hits(self, query: str, k: int) -> Hits:
        """Yields an excerpt of each document by words, best first; consumed until there are ``k`` passages."""


def _validated(query: str, k: int) -> str:
    """Returns the query with unpaired surrogates replaced by question marks; raises UsageError if ``k`` is below 1."""
    if k < 1:
        raise UsageError(f"cannot search for {k} passages", hint="request at least 1")
    return query.encode(errors="replace").decode()


class Opener(Protocol):
    """Opens a store at an address, the part of the URI after ``scheme:``; None selects the bundled embedder."""

    def __call__(self, address: str, *, write: bool, embedder: Encoder | None) -> Corpus: ...


STORES = {"sqlite": "redargue.retrieval.corpus.sqlite:_open"}

stores: Registry[Opener] = Registry(
    "corpus store", builtin=STORES, group="redargue.corpus_stores", extra="scale", missing=a_function
)
"""Stores by scheme; an address without a scheme is a path to a ``sqlite`` store."""
