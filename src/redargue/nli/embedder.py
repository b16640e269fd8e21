"""Sentence vectors from all-MiniLM-L6-v2, quantised to int8."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock

import numpy as np

from redargue.nli.cache import Floats
from redargue.nli.session import Session

DIMENSIONS = 384


class Embedder:
    """Turns texts into vectors of length 1, so that a dot product is a cosine."""

    name = "all-minilm-l6-v2-int8"

    def __init__(self, *, threads: int = 0) -> None:
        self._session = Session("embedder.onnx", longest=256, kept=5_000, threads=threads)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of shape (texts, 384), float32; a text longer than 256 tokens is represented by its beginning."""
        vectors = self._session.run(list(texts))
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSIONS), np.float32)

    def hold(self, texts: Sequence[str]) -> None:
        """Keeps the vectors of texts in memory until they are released as often as they are held."""
        self._session.hold(texts)

    def release(self, texts: Sequence[str]) -> None:
        self._session.release(texts)


def shared(threads: int = 0) -> Embedder:
    """One copy of the weights per process, also if several threads ask for it first."""
    with _loading:
        return _shared(threads)  # a cache takes shared() and shared(0) for two calls


_loading = Lock()


@cache
def _shared(threads: int) -> Embedder:
    return Embedder(threads=threads)
