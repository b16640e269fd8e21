"""Documents in one SQLite file: vectors searched exactly with numpy, words with FTS5, fused by rank.

Exact search over 20,000 chunks takes a few milliseconds and 32 MB; an index would pay from about a million on.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from redargue.corpus.base import Added, Encoder, Entry, K, stores
from redargue.corpus.batches import asked, batches, counted, digest, no_such_document, prepare
from redargue.corpus.chunk import SIZE, Chunk
from redargue.corpus.database import SCHEMA, Database
from redargue.corpus.documents import Document
from redargue.corpus.ranking import Span, best_excerpt, fuse, match_words, nearest, spread, uncovered
from redargue.corpus.words import by_words
from redargue.errors import StoreDamaged
from redargue.evidence import Passage
from redargue.models.cache import Floats
from redargue.models.embedder import DIMENSIONS, Embedder, shared

DEPTH = 50  # chunks of each ranking that are fused
EXCERPT = 2 * SIZE  # characters that stand for a whole document
MEANING, WORDS = 1.0, 1.0  # weights of the two rankings
AGAIN = 0.5  # worth of a chunk whose document is shown already: other documents first

_STORED = np.dtype("<f2")  # half the file of float32, and the same results


class _Vectors(NamedTuple):
    """All vectors of one state of the store; row ``i`` belongs to chunk ``numbers[i]``."""

    generation: str
    numbers: list[int]
    matrix: Floats


class SqliteCorpus:
    """A corpus in a file.

    Args:
        path: the file.
        write: whether documents may be added and removed; makes the file where there is none.
        embedder: makes the vectors; the package's own by default, loaded when it is first needed.

    Raises:
        UsageError: nothing there to read; or it was made with another embedder, or by a newer redargue.
        CorpusError: what is there cannot be used.
    """

    def __init__(self, path: Path, *, write: bool = False, embedder: Encoder | None = None) -> None:
        self._encoder, self._loading = embedder, Lock()
        self._embedder = (embedder or Embedder).name
        self._db = Database(path, write=write, embedder=self._embedder)
        self._vectors: _Vectors | None = None

    @property
    def revision(self) -> str:
        """Sixteen hexadecimal digits that name the content, the embedder and the format."""
        with self._db.read() as db:
            content = _meta(db, "content")
        return hashlib.sha256(f"{self._embedder} {SCHEMA} {content}".encode()).hexdigest()[:16]

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        """Stores documents in batches; see :meth:`redargue.corpus.base.Corpus.add`."""
        self._db.require_writable()
        total = Added()
        for batch in batches(documents):
            total += self._add(batch)
            if progress:
                progress(total)
        return total

    def _add(self, batch: list[Document]) -> Added:
        known = self._known(batch)
        if all(known.get(document.id) == (document.sha256, document.path) for document in batch):
            return Added(unchanged=len(batch))
        # Embedding takes long and needs no lock; what is stored is looked at again once the lock is held.
        changed = [document for document in batch if known.get(document.id, ("",))[0] != document.sha256]
        prepared = dict(zip(map(id, changed), prepare(changed, self._encode), strict=True))
        done = Added()
        with self._db.write() as db:
            for document in batch:
                row = db.execute("SELECT number, sha256 FROM documents WHERE id = ?", (document.id,)).fetchone()
                if row and row[1] == document.sha256:
                    db.execute("UPDATE documents SET path = ? WHERE number = ?", (document.path, row[0]))
                    done += Added(unchanged=1)
                    continue
                if row:
                    _delete(db, row[0])
                pieces, vectors = prepared.get(id(document)) or prepare([document], self._encode)[0]
                _insert(db, document, pieces, vectors)
                done += Added(added=not row, replaced=bool(row), chunks=len(pieces))
        return done

    def _known(self, batch: list[Document]) -> dict[str, tuple[str, str]]:
        with self._db.read() as db:
            find = "SELECT sha256, path FROM documents WHERE id = ?"
            found = {document.id: db.execute(find, (document.id,)).fetchone() for document in batch}
        return {name: row for name, row in found.items() if row}

    def _encode(self, texts: Sequence[str]) -> Floats:
        with self._loading:
            if self._encoder is None:
                self._encoder = shared()
        return self._encoder.encode(texts)

    def remove(self, names: Iterable[str]) -> int:
        """Removes documents by id or path; see :meth:`redargue.corpus.base.Corpus.remove`."""
        with self._db.write() as db:
            numbers = {number for name in names for number in _named(db, name)}
            for number in sorted(numbers):
                _delete(db, number)
        return len(numbers)

    def clear(self) -> int:
        """Removes all documents, and gives their room back; returns how many."""
        with self._db.write() as db:
            count: int = db.execute("SELECT count(*) FROM documents").fetchone()[0]
            db.execute("DELETE FROM chunks")
            db.execute("DELETE FROM documents")
            for table in ("chunk_words", "document_words"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            _set_meta(db, "content", "0")
            _next_generation(db)
        self._db.shrink()
        return count

    def documents(self) -> tuple[Entry, ...]:
        """All documents, in the order in which they were stored."""
        with self._db.read() as db:
            rows = db.execute(
                "SELECT id, title, path, length(text), (SELECT count(*) FROM chunks WHERE document = d.number), added"
                " FROM documents d ORDER BY number"
            ).fetchall()
        return tuple(Entry(**dict(zip(Entry.model_fields, row, strict=True))) for row in rows)

    def search(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` chunks, by meaning and by words; no text stands in two of them.

        Raises:
            UsageError: ``k`` is less than 1.
        """
        query = asked(query, k)
        if not query.strip():
            return ()
        vector = self._encode([query])[0]
        depth = max(DEPTH, 4 * k)
        with self._db.read() as db:
            numbers, matrix = self._all_vectors(db)
            meaning = [numbers[row] for row in nearest(matrix, vector, depth)]
            words = [number for number, _ in by_words(db, "chunk_words", query, depth)]
            ranked = fuse((meaning, MEANING), (words, WORDS))
            return _passages(db, spread(ranked, _documents_of(db, [chunk for chunk, _ in ranked]), AGAIN), query, k)

    def search_keywords(self, query: str, k: int = K) -> tuple[Passage, ...]:
        """At most ``k`` documents by their words (BM25), each shown by its best two chunks or so.

        Raises:
            UsageError: ``k`` is less than 1.
        """
        query = asked(query, k)
        found: list[Passage] = []
        with self._db.read() as db:
            for number, score in by_words(db, "document_words", query, max(DEPTH, 4 * k)):
                passage = _passage(db, number, _excerpt(db, number, query), query, len(found) + 1, score)
                if all(passage.text != each.text for each in found):
                    found.append(passage)
                if len(found) == k:
                    break
        return tuple(found)

    def _all_vectors(self, db: sqlite3.Connection) -> tuple[list[int], Floats]:
        """Chunk numbers and their vectors in float32, read once for each state of the store."""
        generation = _meta(db, "generation")
        if self._vectors is None or self._vectors.generation != generation:
            rows = db.execute("SELECT number, vector FROM chunks ORDER BY number").fetchall()
            size = DIMENSIONS * _STORED.itemsize
            if broken := next((number for number, vector in rows if len(vector) != size), None):
                raise StoreDamaged(
                    f"{str(self._db.path)!r} is damaged: the vector of chunk {broken} has a wrong length"
                )
            matrix = np.frombuffer(b"".join(vector for _, vector in rows), _STORED).astype(np.float32)
            self._vectors = _Vectors(generation, [number for number, _ in rows], matrix.reshape(-1, DIMENSIONS))
        return self._vectors.numbers, self._vectors.matrix

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@stores.register("sqlite")
def _open(address: str, *, write: bool, embedder: Encoder | None) -> SqliteCorpus:
    return SqliteCorpus(Path(address).expanduser(), write=write, embedder=embedder)


def _meta(db: sqlite3.Connection, name: str) -> str:
    return str(db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def _set_meta(db: sqlite3.Connection, name: str, value: str) -> None:
    db.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))


def _next_generation(db: sqlite3.Connection) -> None:
    """Counts changes: content that goes and comes back has its old revision, but other chunk numbers."""
    _set_meta(db, "generation", str(int(_meta(db, "generation")) + 1))


def _count_in(db: sqlite3.Connection, document: str, sha256: str, sign: int) -> None:
    """Adds a document to the sum that names the content, or takes it out."""
    _set_meta(db, "content", counted(_meta(db, "content"), digest(document, sha256), sign))
    _next_generation(db)


def _insert(db: sqlite3.Connection, document: Document, pieces: Sequence[Chunk], vectors: Floats) -> None:
    row = (*(getattr(document, name) for name in "id sha256 title text url publisher published path".split()),)
    number = db.execute(
        "INSERT INTO documents (id, sha256, title, text, url, publisher, published, path, added)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, datetime.now(UTC).isoformat(timespec="seconds")),
    ).lastrowid
    insert_words = "INSERT INTO {} (rowid, title, text) VALUES (?, ?, ?)"
    db.execute(insert_words.format("document_words"), (number, document.title, document.text))
    for piece, vector in zip(pieces, vectors.astype(_STORED), strict=True):
        chunk = db.execute(
            "INSERT INTO chunks (document, start, stop, vector) VALUES (?, ?, ?, ?)",
            (number, piece.start, piece.end, vector.tobytes()),
        ).lastrowid
        db.execute(insert_words.format("chunk_words"), (chunk, document.title, piece.text))
    _count_in(db, document.id, document.sha256, 1)


def _delete(db: sqlite3.Connection, number: int) -> None:
    name, sha256, title, text = db.execute(
        "SELECT id, sha256, title, text FROM documents WHERE number = ?", (number,)
    ).fetchone()
    # FTS5 keeps words only, and has to be told which ones to forget.
    forget = "INSERT INTO {0} ({0}, rowid, title, text) VALUES ('delete', ?, ?, ?)"
    for chunk, start, stop in db.execute("SELECT number, start, stop FROM chunks WHERE document = ?", (number,)):
        db.execute(forget.format("chunk_words"), (chunk, title, text[start:stop]))
    db.execute(forget.format("document_words"), (number, title, text))
    db.execute("DELETE FROM chunks WHERE document = ?", (number,))
    db.execute("DELETE FROM documents WHERE number = ?", (number,))
    _count_in(db, name, sha256, -1)


def _named(db: sqlite3.Connection, name: str) -> list[int]:
    """Numbers of the document with that id, or of all documents from that file or folder."""
    found = db.execute("SELECT number FROM documents WHERE id = ?", (name,)).fetchall()
    if not found and name:
        path = os.path.abspath(name)
        below = path.rstrip(os.sep) + os.sep
        found = db.execute(
            "SELECT number FROM documents WHERE path = ? OR substr(path, 1, ?) = ?", (path, len(below), below)
        ).fetchall()
    if not found:
        raise no_such_document(name, [row[0] for row in db.execute("SELECT id FROM documents ORDER BY number")])
    return [row[0] for row in found]


def _documents_of(db: sqlite3.Connection, chunks: Sequence[int]) -> dict[int, int]:
    places = ", ".join("?" * len(chunks))
    return dict(db.execute(f"SELECT number, document FROM chunks WHERE number IN ({places})", chunks))


def _passages(db: sqlite3.Connection, ranked: Iterable[tuple[int, float]], query: str, k: int) -> tuple[Passage, ...]:
    """The best chunks as passages, each without what a better one of its document shows already."""
    found: list[Passage] = []
    shown: dict[int, list[Span]] = {}
    for chunk, score in ranked:
        document, start, end = db.execute(
            "SELECT document, start, stop FROM chunks WHERE number = ?", (chunk,)
        ).fetchone()
        start, end = uncovered((start, end), shown.get(document, []))
        passage = _passage(db, document, (start, end), query, len(found) + 1, score)
        if not passage.text or any(passage.text == each.text for each in found):
            continue
        shown.setdefault(document, []).append((start, end))
        found.append(passage)
        if len(found) == k:
            break
    return tuple(found)


def _excerpt(db: sqlite3.Connection, document: int, query: str) -> Span:
    rows = db.execute(
        "SELECT number, start, stop FROM chunks WHERE document = ? ORDER BY number", (document,)
    ).fetchall()
    first, last = rows[0][0], rows[-1][0]  # a document's chunks are stored in one go: their numbers have no gaps
    scores = db.execute(
        "SELECT rowid, bm25(chunk_words, 0.0, 1.0) FROM chunk_words"  # the title is that of every chunk
        " WHERE chunk_words MATCH ? AND rowid BETWEEN ? AND ?",
        (match_words(query), first, last),
    )
    return best_excerpt([row[1:] for row in rows], {number - first: -score for number, score in scores}, EXCERPT)


def _passage(db: sqlite3.Connection, document: int, span: Span, query: str, rank: int, score: float) -> Passage:
    start, end = span
    name, title, url, publisher, published, text = db.execute(
        "SELECT id, title, url, publisher, published, substr(text, ?, ?) FROM documents WHERE number = ?",
        (start + 1, end - start, document),
    ).fetchone()
    return Passage(
        document=name,
        title=title,
        url=url,
        publisher=publisher,
        published=published,
        text=text.strip(),
        start=start + len(text) - len(text.lstrip()),
        query=query,
        rank=rank,
        score=score,
    )
