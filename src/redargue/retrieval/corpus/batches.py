"""Prepares documents for a store: batches, chunks, vectors and the checksum of the content."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from redargue.errors import UsageError
from redargue.nli.cache import Floats
from redargue.nli.embedder import DIMENSIONS
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.chunk import Chunk, chunks
from redargue.retrieval.corpus.documents import Document

BATCH = 200  # documents per batch: an interruption loses at most one batch
BATCH_CHARS = 1_000_000  # a batch also ends when its texts reach this length


class Prepared(NamedTuple):
    """A document's chunks and their vectors, of shape (chunks, 384)."""

    pieces: tuple[Chunk, ...]
    vectors: Floats


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) >= BATCH or sum(len(document.text) for document in batch) >= BATCH_CHARS:
            yield batch
            batch = []
    if batch:
        yield batch


def prepare(documents: Sequence[Document], encode: Callable[[Sequence[str]], Floats]) -> list[Prepared]:
    """Splits documents into chunks, and embeds each chunk with the document's title prepended."""
    chunks_by_document = [chunks(document.text) for document in documents]
    texts = [
        f"{document.title}. {chunk.text}" if document.title else chunk.text
        for document, pieces in zip(documents, chunks_by_document, strict=True)
        for chunk in pieces
    ]
    vectors = encode(texts) if texts else np.zeros((0, DIMENSIONS), np.float32)
    if not documents:
        return []
    ends = np.cumsum([len(pieces) for pieces in chunks_by_document], dtype=int)
    return list(map(Prepared, chunks_by_document, np.split(vectors, ends[:-1])))


def digest(document: str, sha256: str) -> str:
    return hashlib.sha256(f"{document}\0{sha256}".encode()).hexdigest()


def updated_checksum(content: str, digest: str, sign: int) -> str:
    """Adds (``sign`` 1) or removes (-1) a document in a store's checksum, which does not depend on their order.

    The checksum is hexadecimal, "0" for an empty store; ``digest`` is the document's :func:`digest`.
    """
    return f"{(int(content, 16) + sign * int(digest, 16)) % 2**256:x}"


def is_from(path: str, place: str) -> bool:
    where = os.path.abspath(place)
    return bool(place and path) and (path == where or path.startswith(where.rstrip(os.sep) + os.sep))


def no_such_document(name: str, known: Sequence[str]) -> UsageError:
    if len(known) > 20:  # too many to list
        known = difflib.get_close_matches(name, known, n=3)
    hint = did_you_mean(name, list(known)) if known else "to list the documents: redargue corpus ls"
    return UsageError(f"no document {name!r}", hint=hint)
