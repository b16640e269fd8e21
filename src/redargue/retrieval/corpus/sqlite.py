"""A corpus in one SQLite file: exact vector search with numpy, keyword search with FTS5, reciprocal rank fusion.

Exact search over 20,000 chunks takes a few milliseconds and 32 MB; an approximate index pays off from about a million.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from redargue.database import SCHEMA, Database
from redargue.errors import CorpusError
from redargue.evidence import PAGE_BREAK
from redargue.nli.session import DIMENSIONS, Floats
from redargue.retrieval.corpus import (
    DEPTH,
    EXCERPT,
    Added,
    Corpus,
    Encoder,
    Entry,
    Hit,
    Hits,
    stores,
)
from redargue.retrieval.corpus.documents import (
    Chunk,
    Document,
    digest,
    no_such_document,
    prepare_batch,
    updated_checksum,
)
from redargue.retrieval.corpus.ingest import moment, new_mark, refuse_while_adding, warn_of_killed, was_killed
from redargue.retrieval.corpus.ranking import Span, best_excerpt, bm25_search, fts5_query, fuse_both, nearest, spread

_VECTOR_TYPE = np.dtype("<f2")  # half the size of float32, with the same results


ADDING = "SELECT name, value FROM meta WHERE name LIKE 'adding%'"  # one mark for each addition


class SqliteCorpus(Corpus):
    """A corpus in a file; arguments and errors as in :func:`redargue.retrieval.corpus.index.open_corpus`."""

    def __init__(self, path: Path, *, write: bool = False, embedder: Encoder | None = None) -> None:
        super().__init__(embedder)
        self._db = Database(path, write=write, embedder=self._embedder)
        self._adding = ""  # the name of the mark of a running addition
        self._vectors: tuple[str, list[int], Floats] = "", [], np.zeros((0, DIMENSIONS), np.float32)

    @property
    def revision(self) -> str:
        with self._db.read() as db:
            content = _meta(db, "content")
        return hashlib.sha256(f"{self._embedder} {SCHEMA} {content}".encode()).hexdigest()[:16]

    def require_writable(self) -> None:
        self._db.require_writable()

    def add(self, documents: Iterable[Document], *, progress: Callable[[Added], None] | None = None) -> Added:
        self.require_writable()
        self._adding = new_mark()
        with self._db.write() as db:
            self._mark_adding(db)
        try:
            return super().add(documents, progress=progress)
        finally:
            with self._db.write() as db:
                killed = [(name, since) for name, since in db.execute(ADDING) if was_killed(name)]
                ended = {self._adding, *(name for name, _ in killed)}
                db.executemany("DELETE FROM meta WHERE name = ?", [(name,) for name in ended])
            self._adding = ""
            for _, since in killed:
                warn_of_killed(str(self._db.path), since)

    def _mark_adding(self, db: sqlite3.Connection) -> None:
        if self._adding:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (self._adding, moment()))

    def require_complete(self) -> None:
        with self._db.read() as db:
            refuse_while_adding(str(self._db.path), [since for _, since in db.execute(ADDING)])

    def add_batch(self, batch: list[Document]) -> Added:
        with self._db.read() as db:
            find = "SELECT id, sha256, path FROM documents WHERE id = ?"
            rows = [row for document in batch if (row := db.execute(find, (document.id,)).fetchone())]
        known = {name: (sha256, path) for name, sha256, path in rows}
        if all(known.get(document.id) == (document.sha256, document.path) for document in batch):
            return Added(unchanged=len(batch))
        # Embedding is slow and needs no lock; the write transaction checks again which documents exist.
        changed = [document for document in batch if known.get(document.id, ("",))[0] != document.sha256]
        # By object, not by document.id, which two documents of a batch may share.
        prepared = dict(zip(map(id, changed), prepare_batch(changed, self.encode), strict=True))
        total = Added()
        with self._db.write() as db:
            self._mark_adding(db)
            for document in batch:
                row = db.execute("SELECT number, sha256 FROM documents WHERE id = ?", (document.id,)).fetchone()
                if row and row[1] == document.sha256:
                    db.execute("UPDATE documents SET path = ? WHERE number = ?", (document.path, row[0]))
                    total += Added(unchanged=1)
                    continue
                if row:
                    with self._db.errors():
                        _delete(db, row[0])
                # Not prepared if the document was unchanged before, and another process has replaced it since.
                pieces, vectors = prepared.get(id(document)) or prepare_batch([document], self.encode)[0]
                with self._db.errors():
                    _insert(db, document, pieces, vectors)
                total += Added(added=not row, replaced=bool(row), chunks=len(pieces))
        return total

    def remove(self, names: Iterable[str]) -> int:
        with self._db.errors(), self._db.write() as db:
            numbers = {number for name in names for number in _named(db, name)}
            for number in sorted(numbers):
                _delete(db, number)
        return len(numbers)

    def clear(self) -> int:
        with self._db.errors(), self._db.write() as db:
            count: int = db.execute("SELECT count(number) FROM documents").fetchone()[0]
            db.execute("DELETE FROM chunks")
            db.execute("DELETE FROM documents")
            for table in ("chunk_words", "document_words"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            _set_content(db, "0")
        self._db.shrink()
        return count

    def copy_to(self, copy: sqlite3.Connection) -> None:
        """Copies one state of the corpus into an empty database."""
        self._db.backup(copy)

    def restore_into(self, corpus: SqliteCorpus) -> None:
        """Replaces the content of another corpus by this one's; a reader there sees either."""
        with corpus._db.read() as db:
            before = int(_meta(db, "generation"))
        self._db.restore_into(corpus._db)
        with corpus._db.write() as db:  # caches of both contents are old
            db.execute("UPDATE meta SET value = value + ? WHERE name = 'generation'", (before + 1,))

    def documents(self) -> tuple[Entry, ...]:
        with self._db.read() as db:
            rows = db.execute(
                "SELECT id, title, path, length(text), (SELECT count(*) FROM chunks WHERE document = d.number), added"
                " FROM documents d ORDER BY number"
            )
            return tuple(Entry(**dict(zip(Entry.model_fields, row, strict=True))) for row in rows)

    def document(self, id_: str) -> Document:
        names = ", ".join(Document.model_fields)
        with self._db.read() as db:
            row = db.execute(f"SELECT {names} FROM documents WHERE id = ?", (id_,)).fetchone()
            if row is None:
                raise no_such_document(id_, [known[0] for known in db.execute("SELECT id FROM documents")])
            return Document(**dict(zip(Document.model_fields, row, strict=True)))

    def hybrid_hits(self, query: str, vector: Floats, k: int) -> Hits:
        depth = max(DEPTH, 4 * k)
        with self._db.read() as db:
            numbers, matrix = self._all_vectors(db)
            meaning = [numbers[row] for row in nearest(matrix, vector, depth)]
            words = [number for number, _ in bm25_search(db, "chunk_words", query, depth)]
            ranked = fuse_both(meaning, words)
            find = f"SELECT number, document, start, stop FROM chunks WHERE number IN ({', '.join('?' * len(ranked))})"
            rows = {number: row for number, *row in db.execute(find, [chunk for chunk, _ in ranked])}
            for chunk, score in spread(ranked, {number: row[0] for number, row in rows.items()}):
                document, start, end = rows[chunk]
                yield _hit(self._db, db, document, (start, end), score)

    def keyword_hits(self, query: str, k: int) -> Hits:
        with self._db.read() as db:
            for document, score in bm25_search(db, "document_words", query, max(DEPTH, 4 * k)):
                yield _hit(self._db, db, document, _excerpt(db, document, query), score)

    def _all_vectors(self, db: sqlite3.Connection) -> tuple[list[int], Floats]:
        generation = _meta(db, "generation")
        if self._vectors[0] != generation:
            rows: list[tuple[int, bytes]] = []
            size = DIMENSIONS * _VECTOR_TYPE.itemsize
            for number, vector in db.execute("SELECT number, vector FROM chunks ORDER BY number"):
                # In a damaged file, pages that link to one another in a cycle yield the same rows again.
                if len(vector) != size or (rows and number <= rows[-1][0]):
                    where = repr(str(self._db.path))
                    raise CorpusError(f"{where} is damaged: the vector of chunk {number} is not one of {size} bytes")
                rows.append((number, vector))
            matrix = np.frombuffer(b"".join(vector for _, vector in rows), _VECTOR_TYPE).astype(np.float32)
            self._vectors = generation, [number for number, _ in rows], matrix.reshape(-1, DIMENSIONS)
        return self._vectors[1:]

    def close(self) -> None:
        self._db.close()


@stores.register("sqlite")
def _open(address: str, *, write: bool, embedder: Encoder | None) -> SqliteCorpus:
    return SqliteCorpus(Path(address).expanduser(), write=write, embedder=embedder)


def _meta(db: sqlite3.Connection, name: str) -> str:
    return str(db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def _set_content(db: sqlite3.Connection, checksum: str) -> None:
    """Stores the checksum of the content, and counts the change for caches.

    A checksum is not enough for them: content that was removed and added again has the same one, but new chunks.
    """
    db.execute("UPDATE meta SET value = ? WHERE name = 'content'", (checksum,))
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")


def _count_in(db: sqlite3.Connection, document: str, sha256: str, sign: int) -> None:
    _set_content(db, updated_checksum(_meta(db, "content"), digest(document, sha256), sign))


def _insert(db: sqlite3.Connection, document: Document, pieces: Sequence[Chunk], vectors: Floats) -> None:
    names = ("id", "sha256", "title", "text", "url", "publisher", "published", "path")
    row = tuple(getattr(document, name) for name in names)
    number = db.execute(
        "INSERT INTO documents (id, sha256, title, text, url, publisher, published, path, added)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, datetime.now(UTC).isoformat(timespec="seconds")),
    ).lastrowid
    insert_words = "INSERT INTO {} (rowid, title, text) VALUES (?, ?, ?)"
    db.execute(insert_words.format("document_words"), (number, document.title, document.text))
    for piece, vector in zip(pieces, vectors.astype(_VECTOR_TYPE), strict=True):
        chunk = db.execute(
            "INSERT INTO chunks (document, start, stop, vector) VALUES (?, ?, ?, ?)",
            (number, piece.start, piece.end, vector.tobytes()),
        ).lastrowid
        db.execute(insert_words.format("chunk_words"), (chunk, document.title, piece.text))
    _count_in(db, document.id, document.sha256, 1)


def _delete(db: sqlite3.Connection, number: int) -> None:
    find = "SELECT id, sha256, title, text FROM documents WHERE number = ?"
    name, sha256, title, text = db.execute(find, (number,)).fetchone()
    # A contentless FTS5 table does not store its texts, so a deletion must supply them.
    delete_words = "INSERT INTO {0} ({0}, rowid, title, text) VALUES ('delete', ?, ?, ?)"
    for chunk, start, stop in db.execute("SELECT number, start, stop FROM chunks WHERE document = ?", (number,)):
        db.execute(delete_words.format("chunk_words"), (chunk, title, text[start:stop]))
    db.execute(delete_words.format("document_words"), (number, title, text))
    db.execute("DELETE FROM chunks WHERE document = ?", (number,))
    db.execute("DELETE FROM documents WHERE number = ?", (number,))
    _count_in(db, name, sha256, -1)


def _named(db: sqlite3.Connection, name: str) -> list[int]:
    rows = db.execute("SELECT number FROM documents WHERE id = ?", (name,)).fetchall()
    if not rows and name:
        path = os.path.abspath(name)
        below = path.rstrip(os.sep) + os.sep
        find = "SELECT number FROM documents WHERE path = ? OR substr(path, 1, ?) = ?"
        rows = db.execute(find, (path, len(below), below)).fetchall()
    if not rows:
        raise no_such_document(name, [row[0] for row in db.execute("SELECT id FROM documents ORDER BY number")])
    return [row[0] for row in rows]


def _excerpt(db: sqlite3.Connection, document: int, query: str) -> Span:
    find = "SELECT number, start, stop FROM chunks WHERE document = ? ORDER BY number"
    rows = db.execute(find, (document,)).fetchall()
    first, last = rows[0][0], rows[-1][0]  # inserted together, so the numbers have no gaps
    scores = db.execute(
        "SELECT rowid, bm25(chunk_words, 0.0, 1.0) FROM chunk_words"  # all chunks have the same title
        " WHERE chunk_words MATCH ? AND rowid BETWEEN ? AND ?",
        (fts5_query(query), first, last),
    )
    return best_excerpt([row[1:] for row in rows], {number - first: -score for number, score in scores}, EXCERPT)


def _hit(store: Database, db: sqlite3.Connection, document: int, span: Span, score: float) -> Hit:
    find = "SELECT id, title, url, publisher, published, length(text) FROM documents WHERE number = ?"
    *source, length = db.execute(find, (document,)).fetchone()
    if odd := [value for value in source if not isinstance(value, str)]:
        raise ValueError(f"{odd[0]!r:.60} is not text")
    names = ("document", "title", "url", "publisher", "published")

    def read(start: int, end: int) -> str:
        text = "SELECT substr(text, ?, ?) FROM documents WHERE number = ?"
        with store.errors():  # the caller reads between two hits
            return str(db.execute(text, (start + 1, end - start, document)).fetchone()[0])

    def page(start: int) -> int:
        before = "substr(text, 1, :start)"
        count = f"1 + length({before}) - length(replace({before}, :mark, ''))"
        found = f"SELECT CASE WHEN instr(text, :mark) THEN {count} ELSE 0 END FROM documents WHERE number = :number"
        values = {"start": start, "mark": PAGE_BREAK, "number": document}
        with store.errors():
            return int(db.execute(found, values).fetchone()[0])

    return Hit(dict(zip(names, source, strict=True)), *span, score, length, read, page)
