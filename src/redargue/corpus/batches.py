"""Documents on their way into a store: in batches, cut into chunks, embedded, and summed up as its content."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from redargue.corpus.chunk import Chunk, chunks
from redargue.corpus.documents import Document
from redargue.errors import UnknownName, UsageError
from redargue.models.cache import Floats
from redargue.models.embedder import DIMENSIONS
from redargue.registry import did_you_mean

BATCH = 200  # documents that are stored at once: what an interruption can lose
BATCH_CHARS = 1_000_000  # or as much text as this


class Prepared(NamedTuple):
    """A document's chunks and their vectors, of shape (chunks, 384)."""

    pieces: tuple[Chunk, ...]
    vectors: Floats


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in their order, as many at once as a store takes."""
    batch: list[Document] = []
    chars = 0
    for document in documents:
        batch.append(document)
        chars += len(document.text)
        if len(batch) >= BATCH or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def prepare(documents: Sequence[Document], encode: Callable[[Sequence[str]], Floats]) -> list[Prepared]:
    """Each document's chunks, embedded with its title in front of them."""
    cut = [chunks(document.text) for document in documents]
    texts = [
        f"{document.title}. {chunk.text}" if document.title else chunk.text
        for document, pieces in zip(documents, cut, strict=True)
        for chunk in pieces
    ]
    vectors = encode(texts) if texts else np.zeros((0, DIMENSIONS), np.float32)
    ends = np.cumsum([len(pieces) for pieces in cut], dtype=int)
    return list(map(Prepared, cut, np.split(vectors, ends[:-1]))) if cut else []


def digest(document: str, sha256: str) -> str:
    """Names a document with its content, hexadecimal: its id, and the sum of what it holds."""
    return hashlib.sha256(f"{document}\0{sha256}".encode()).hexdigest()


def counted(content: str, digest: str, sign: int) -> str:
    """The sum that names a store's content, with a document added (1) or taken out (-1): their order does not matter.

    Args:
        content: the sum so far, hexadecimal; "0" for nothing.
        digest: of the document.
        sign: 1 or -1.
    """
    return f"{(int(content, 16) + sign * int(digest, 16)) % 2**256:x}"


def is_from(path: str, place: str) -> bool:
    """Whether a document's path is that file, or lies below that folder."""
    where = os.path.abspath(place)
    return bool(place and path) and (path == where or path.startswith(where.rstrip(os.sep) + os.sep))


def no_such_document(name: str, known: Sequence[str]) -> UnknownName:
    """The error for a name that fits none of the known ids."""
    if len(known) > 20:  # too many to list
        known = difflib.get_close_matches(name, known, n=3)
    hint = did_you_mean(name, list(known)) if known else "redargue corpus ls lists them"
    return UnknownName(f"no document {name!r}", hint=hint)


def asked(query: str, k: int) -> str:
    """The query as it can be stored and tokenized: half a surrogate pair becomes a question mark.

    Raises:
        UsageError: ``k`` is less than 1.
    """
    if k < 1:
        raise UsageError(f"{k} passages cannot be searched for", hint="1 or more")
    return query.encode(errors="replace").decode()
