"""Sentence vectors from all-MiniLM-L6-v2, quantised to int8."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from redargue.nli.cache import Floats
from redargue.nli.session import Session

DIMENSIONS = 384
LONGEST = 256  # tokens: what the model was trained on
KEPT = 5_000


class Embedder:
    """Turns texts into vectors of length 1, so that a dot product is a cosine.

    Args:
        folder: where the weights are; the package's own by default.
        threads: texts at once; 0 for one a core.
    """

    name = "all-minilm-l6-v2-int8"

    def __init__(self, folder: Path | None = None, *, threads: int = 0) -> None:
        self._session = Session("embedder.onnx", longest=LONGEST, kept=KEPT, folder=folder, threads=threads)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of shape (texts, 384), float32; a text longer than 256 tokens is represented by its beginning."""
        vectors = self._session.run(list(texts))
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSIONS), np.float32)


@cache
def shared(threads: int = 0) -> Embedder:
    """The process' one copy of the weights, for whoever needs no other."""
    return Embedder(threads=threads)
