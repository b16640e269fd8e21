"""What a Milvus store's rows hold: a document's description, its text in pieces, its chunks, and the store's state.

Every row is found by its key, because Milvus finds keys fast and everything else by looking at all rows::

    chunks   KEY.VERSION.00000012      a chunk with its vector
    texts    d.KEY                     a document's description and the first piece of its text
             t.KEY.VERSION.00000001    another piece
             meta                      the state of the store

``KEY`` stands for the document's id, ``VERSION`` for its content: rows of another version than the one in the
document's own row do not count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import chain

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.retrieval.corpus.batches import Prepared, digest
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.milvus.client import Row
from redargue.retrieval.corpus.words import TITLE, terms

PIECE = 10_000  # characters: 40,000 bytes at most, and Milvus takes 65,535 in one field
LONGEST = 65_000  # bytes of a description
TITLE_BYTES = 5_000  # of a title, as far as its words are searched
NO_WORDS = "nothing"  # no term: the stem of this word is "noth"

_REST = re.compile(r"\w{0,100}")


class Version(Frozen):
    """One content of a document, as far as its rows have to be found.

    Attributes:
        digest: of id and content; half of it, so that the changes of a whole batch fit into one field.
        chunks: how many.
        pieces: of its text.
    """

    digest: str
    chunks: int
    pieces: int

    @property
    def name(self) -> str:
        """Names the content in keys."""
        return self.digest[:16]


class Change(Frozen):
    """What happens to one document: None before it was there, and after it is gone."""

    key: str
    before: Version | None
    after: Version | None


class State(Frozen):
    """What the store says of itself.

    Attributes:
        format: of its rows.
        embedder: that made its vectors.
        counts_words: whether Milvus indexes words; False in a store made by redargue 0.1 on a server before 2.5.
        content: the sum that names its documents.
        generation: counts changes.
        writing: changes that were begun; empty where nothing is left to do.
        writer: the process that began them.
    """

    format: int
    embedder: str
    counts_words: bool = True
    content: str = "0"
    generation: int = 0
    writing: tuple[Change, ...] = ()
    writer: str = ""


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
        """What finds the rows of this content."""
        return Version(digest=digest(self.id, self.sha256)[:32], chunks=self.chunks, pieces=-(-self.chars // PIECE))

    @classmethod
    def of(cls, document: Document, *, chunks: int, order: int, added: str) -> About:
        """The description of a document.

        Raises:
            UsageError: it is longer than a row can hold.
        """
        fields = {name: getattr(document, name) for name in ("id", "title", "url", "publisher", "published", "path")}
        about = cls(**fields, sha256=document.sha256, added=added, order=order, chars=len(document.text), chunks=chunks)
        size = len(about.model_dump_json().encode())
        if size > LONGEST:
            longest = max(fields, key=lambda name: len(fields[name]))
            raise UsageError(
                f"the description of document {document.id[:80]!r} takes {size:,} bytes, and Milvus holds {LONGEST:,}",
                hint=f"shorten its {longest}, or use a SQLite corpus",
            )
        return about


def key_of(document: str) -> str:
    """Stands for a document's id, whatever its length and characters."""
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def chunk_key(key: str, version: str, place: int) -> str:
    """Of a chunk, by its place in the document."""
    return f"{key}.{version}.{place:08}"


def text_key(key: str, version: str, piece: int) -> str:
    """Of a piece of a document's text; the first stands beside the description."""
    return f"t.{key}.{version}.{piece:08}" if piece else f"d.{key}"


def chunk_keys(key: str, version: Version) -> list[str]:
    """Of all chunks."""
    return [chunk_key(key, version.name, place) for place in range(version.chunks)]


def chunk_rows(documents: Sequence[tuple[Document, About, Prepared]]) -> Iterator[Row]:
    """Of all chunks of these documents."""
    words = iter(_words([(each.title, piece.text) for each, _, cut in documents for piece in cut.pieces]))
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
    """The text of these documents, piece by piece; each document's description comes after all its other rows."""
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
    yield from chain((row for row in rows if not row["about"]), (row for row in rows if row["about"]))


def state_row(name: str, state: State) -> Row:
    """The store's state as a row of its texts."""
    about = state.model_dump_json()
    return {"key": name, "order": 0, "start": 0, "about": about, "text": "", "words": NO_WORDS}


def _words(texts: Sequence[tuple[str, str]]) -> list[str]:
    """Titles and texts as the terms that are counted; a title's stand there three times."""
    found = terms(
        [each for title, text in texts for each in (title.encode()[:TITLE_BYTES].decode(errors="ignore"), text)]
    )
    return [" ".join(found[place] * int(TITLE) + found[place + 1]) or NO_WORDS for place in range(0, len(found), 2)]
