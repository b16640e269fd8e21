"""The rows of a Milvus store: documents' descriptions, their texts in pieces, their chunks, and the store's state.

Every row is found by its key, because Milvus finds keys fast and scans all rows for anything else::

    chunks   KEY.VERSION.00000012      a chunk with its vector
    texts    d.KEY                     a document's description and the first piece of its text
             t.KEY.VERSION.00000001    another piece
             meta                      the state of the store

``KEY`` is a hash of the document's id, ``VERSION`` of its content. Rows whose version is not the one in the document's
``d.`` row are ignored.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.retrieval.corpus.batches import Prepared, digest
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.milvus.client import Row
from redargue.retrieval.corpus.words import TITLE_WEIGHT, terms

PIECE = 10_000  # characters: at most 40,000 bytes, and Milvus accepts 65,535 in one field
MAX_DESCRIPTION = 65_000  # bytes
TITLE_BYTES = 5_000  # of a title that are indexed
NO_WORDS = "nothing"  # never matches a query: the stem of this word is "noth"

_REST = re.compile(r"\w{0,100}")


class Version(Frozen):
    """Identifies one content of a document, and how many chunks and pieces of text it has."""

    digest: str  # half of the digest of id and content, so that the changes of a whole batch fit into one field
    chunks: int
    pieces: int

    @property
    def name(self) -> str:
        return self.digest[:16]


class Change(Frozen):
    """A change of one document; ``before`` is None if it is added, ``after`` if it is removed."""

    key: str
    before: Version | None
    after: Version | None


class State(Frozen):
    """The state of a store.

    Attributes:
        counts_words: whether Milvus indexes words; False in a store made by redargue 0.1 on a server before 2.5.
        content: checksum of the documents.
        writing: changes that were begun and not completed.
        writer: id of the process that began them.
        adding: when documents were last being added (UTC, ISO); empty once that has ended.
    """

    format: int
    embedder: str
    counts_words: bool = True
    content: str = "0"
    generation: int = 0
    writing: tuple[Change, ...] = ()
    writer: str = ""
    adding: str = ""


class About(Frozen):
    """A document's description."""

    id: str
    title: str
    url: str
    publisher: str
    published: str
    path: str
    sha256: str
    added: str
    order: int
    chars: int
    chunks: int

    @property
    def version(self) -> Version:
        return Version(digest=digest(self.id, self.sha256)[:32], chunks=self.chunks, pieces=-(-self.chars // PIECE))

    @property
    def source(self) -> dict[str, str]:
        return {"document": self.id, **self.model_dump(include={"title", "url", "publisher", "published"})}

    @classmethod
    def of(cls, document: Document, chunks: int, *, order: int, added: str) -> About:
        """Raises UsageError if the description is longer than a row can hold."""
        fields = {name: getattr(document, name) for name in ("id", "title", "url", "publisher", "published", "path")}
        about = cls(**fields, sha256=document.sha256, added=added, order=order, chars=len(document.text), chunks=chunks)
        size = len(about.model_dump_json().encode())
        if size > MAX_DESCRIPTION:
            longest = max(fields, key=lambda name: len(fields[name]))
            raise UsageError(
                f"the description of document {document.id[:80]!r} takes {size:,} bytes, more than {MAX_DESCRIPTION:,}",
                hint=f"shorten its {longest}, or use a SQLite corpus",
            )
        return about


def key_of(document: str) -> str:
    """Hash of a document's id, which may have any length and characters."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def chunk_key(key: str, version: str, place: int) -> str:
    return f"{key}.{version}.{place:08}"


def text_key(key: str, version: str, piece: int) -> str:
    """Key of a piece of a document's text; the first piece is in the row of the description."""
    return f"t.{key}.{version}.{piece:08}" if piece else f"d.{key}"


def chunk_keys(key: str, version: Version) -> list[str]:
    return [chunk_key(key, version.name, place) for place in range(version.chunks)]


def chunk_rows(documents: Sequence[tuple[Document, About, Prepared]]) -> Iterator[Row]:
    words = iter(_words([(document.title, piece.text) for document, _, cut in documents for piece in cut.pieces]))
    for document, about, cut in documents:
        for place, (piece, vector) in enumerate(zip(cut.pieces, cut.vectors, strict=True)):
            yield {
                "key": chunk_key(key_of(document.id), about.version.name, place),
                "order": about.order,
                "start": piece.start,
                "about": "",
                "text": piece.text,
                "vector": vector.tolist(),
                "words": next(words),
            }


def text_rows(documents: Sequence[tuple[Document, About]]) -> Iterator[Row]:
    """The texts of these documents in pieces; the rows with descriptions come last."""
    starts = [range(0, len(document.text), PIECE) for document, _ in documents]
    whole = [
        (document.title, document.text[start : _REST.match(document.text, start + PIECE).end()])  # type: ignore[union-attr]
        for (document, _), places in zip(documents, starts, strict=True)
        for start in places
    ]
    words = iter(_words(whole))
    rows = [
        {
            "key": text_key(key_of(document.id), about.version.name, piece),
            "order": about.order,
            "start": start,
            "about": "" if piece else about.model_dump_json(),
            "text": document.text[start : start + PIECE],
            "words": next(words),
        }
        for (document, about), places in zip(documents, starts, strict=True)
        for piece, start in enumerate(places)
    ]
    yield from sorted(rows, key=lambda row: bool(row["about"]))


def state_row(name: str, state: State) -> Row:
    about = state.model_dump_json(exclude=None if state.adding else {"adding"})  # which redargue 0.1 does not know
    return {"key": name, "order": 0, "start": 0, "about": about, "text": "", "words": NO_WORDS}


def _words(texts: Sequence[tuple[str, str]]) -> list[str]:
    titles = terms([title.encode()[:TITLE_BYTES].decode(errors="ignore") for title, _ in texts])
    bodies = terms([text for _, text in texts])
    return [" ".join(title * int(TITLE_WEIGHT) + body) or NO_WORDS for title, body in zip(titles, bodies, strict=True)]
