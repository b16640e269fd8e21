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
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pydantic import ConfigDict

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.evidence import PAGE_BREAK
from redargue.nli.session import Floats
from redargue.retrieval.corpus import DEPTH, EXCERPT, Corpus, Hit, Hits
from redargue.retrieval.corpus.documents import Document, Prepared, digest
from redargue.retrieval.corpus.milvus.client import MilvusConnection, MilvusRow
from redargue.retrieval.corpus.ranking import (
    TITLE_WEIGHT,
    Span,
    best_excerpt,
    fuse_both,
    query_terms,
    spread,
    terms,
    word_scores,
)

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


class StoreState(Frozen):
    """The state of a store."""

    model_config = ConfigDict(extra="ignore")  # earlier builds stored one more field

    format: int
    embedder: str
    content: str = "0"  # checksum of the documents
    generation: int = 0
    writing: tuple[Change, ...] = ()  # changes that were begun and not completed
    writer: str = ""  # id of the process that began them
    adding: str = ""  # when documents were last being added (UTC, ISO); empty once that has ended


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


def chunk_rows(documents: Sequence[tuple[Document, About, Prepared]]) -> Iterator[MilvusRow]:
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


def text_rows(documents: Sequence[tuple[Document, About]]) -> Iterator[MilvusRow]:
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


def state_row(name: str, state: StoreState) -> MilvusRow:
    return {"key": name, "order": 0, "start": 0, "about": state.model_dump_json(), "text": "", "words": NO_WORDS}


def _words(texts: Sequence[tuple[str, str]]) -> list[str]:
    titles = terms([title.encode()[:TITLE_BYTES].decode(errors="ignore") for title, _ in texts])
    bodies = terms([text for _, text in texts])
    return [" ".join(title * int(TITLE_WEIGHT) + body) or NO_WORDS for title, body in zip(titles, bodies, strict=True)]


MAX_DEPTH = 8_000  # rows of one ranking: twice as many are requested, and Milvus returns at most 16,384

REMEMBERED = 1_000  # documents whose page breaks are kept

_CHUNK = ("order", "start", "text")


class MilvusReader(Corpus):
    """The searches of a store in Milvus, whose rankings are fused as in :mod:`redargue.retrieval.corpus.sqlite`.

    Chunks that an interrupted write left behind are skipped, because no document's row names them. ``_chunks`` and
    ``_texts`` are the names of the store's collections.
    """

    _link: MilvusConnection
    _chunks: str
    _texts: str
    _breaks: dict[tuple[str, str], tuple[int, ...]]  # the places of page breaks by document and version

    def _abouts(self, keys: Iterable[str]) -> dict[str, About]:
        rows = self._link.get(self._texts, [text_key(key, "", 0) for key in dict.fromkeys(keys)], ["about"])
        return {key[2:]: About.model_validate_json(row["about"]) for key, row in rows.items()}

    def _all_abouts(self) -> list[About]:
        rows = self._link.rows(self._texts, ["about"])
        abouts = [About.model_validate_json(row["about"]) for row in rows if row["key"].startswith("d.")]
        return sorted(abouts, key=lambda about: (about.order, about.id))

    def hybrid_hits(self, query: str, vector: Floats, k: int) -> Hits:
        depth = min(max(DEPTH, 4 * k), MAX_DEPTH)
        near = self._ranked(self._chunks, "vector", vector.tolist(), depth)
        rows = {row["key"]: row for row, _ in near}
        by_words = self._by_words(self._chunks, query, depth)
        rows |= self._link.get(self._chunks, [key for key, _ in by_words if key not in rows], _CHUNK)
        keys = sorted(rows, key=lambda key: (rows[key]["order"], key))  # insertion order
        numbers = {key: number for number, key in enumerate(keys)}
        words = [numbers[key] for key, _ in by_words if key in rows]
        ranked = fuse_both((numbers[row["key"]] for row, _ in near), words)
        owners = {key.partition(".")[0]: number for number, key in enumerate(keys)}
        documents = {number: owners[key.partition(".")[0]] for key, number in numbers.items()}
        best = [(rows[keys[number]], score) for number, score in spread(ranked, documents)]
        for first in range(0, len(best), 4 * k):
            batch = best[first : first + 4 * k]
            abouts = self._abouts(row["key"].partition(".")[0] for row, _ in batch)
            for row, score in batch:
                key, version, _ = row["key"].split(".")
                if key in abouts and abouts[key].version.name == version:  # not a chunk of replaced content
                    span = row["start"], row["start"] + len(row["text"])
                    yield self._hit(key, abouts[key], span, score)

    def keyword_hits(self, query: str, k: int) -> Hits:
        best: dict[str, tuple[str, float]] = {}  # the best piece of each document
        for key, score in self._by_words(self._texts, query, min(max(DEPTH, 4 * k), MAX_DEPTH)):
            if "." in key:  # not the store's state
                best.setdefault(key.split(".")[1], (key, score))
        for key, (piece, score) in best.items():
            about = self._abouts([key]).get(key)
            if about and (piece.startswith("d.") or piece.split(".")[2] == about.version.name):
                yield self._hit(key, about, self._excerpt(key, about, query), score)

    def _hit(self, key: str, about: About, span: Span, score: float) -> Hit:
        read, page = partial(self._text, key, about), partial(self._page, key, about)
        return Hit(about.source, *span, score, about.chars, read, page)

    def _page(self, key: str, about: About, start: int) -> int:
        """The page at an offset; the places of a document's page breaks are read once."""
        version = key, about.version.name
        if version not in self._breaks:
            text = self._text(key, about, 0, about.chars)
            if len(self._breaks) >= REMEMBERED:
                self._breaks.clear()
            self._breaks[version] = tuple(at for at, char in enumerate(text) if char == PAGE_BREAK)
        breaks = self._breaks[version]
        return 1 + bisect_left(breaks, start) if breaks else 0

    def _excerpt(self, key: str, about: About, query: str) -> Span:
        rows = self._link.get(self._chunks, chunk_keys(key, about.version), ("start", "text"))
        chunks = [(row["start"], row["text"]) for _, row in sorted(rows.items())]
        scores = word_scores([text for _, text in chunks], query)
        return best_excerpt([(start, start + len(text)) for start, text in chunks], scores, EXCERPT)

    def _text(self, key: str, about: About, start: int, end: int) -> str:
        pieces = range(start // PIECE, -(-end // PIECE))
        keys = [text_key(key, about.version.name, piece) for piece in pieces]
        rows = self._link.get(self._texts, keys, ["text"])
        text = "".join(str(rows[key]["text"]) for key in keys)
        return text[start - pieces[0] * PIECE :][: end - start]

    def _ranked(self, name: str, field: str, query: object, depth: int) -> list[tuple[MilvusRow, float]]:
        """The best rows and their scores; ties in insertion order.

        Twice as many rows are requested as needed, because Milvus decides which of the last ties it returns.
        """
        fields = _CHUNK if field == "vector" else ("order",)
        hits = [(row, round(score, 6)) for score, row in self._link.search(name, field, query, 2 * depth, fields)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]["order"], hit[0]["key"]))[:depth]

    def _by_words(self, name: str, query: str, depth: int) -> list[tuple[str, float]]:
        words = query_terms(query)
        hits = self._ranked(name, "bm25", words, depth) if words else []
        return [(row["key"], score) for row, score in hits if score > 0]
