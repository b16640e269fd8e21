"""An encoder that knows words in place of the model, and what opens a store with it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from redargue.corpus.sqlite import SqliteCorpus
from redargue.models.cache import Floats
from redargue.models.embedder import DIMENSIONS

Opener = Callable[..., SqliteCorpus]


class WordEncoder:
    """Every word has its dimension; counts what it encodes."""

    name = "words"

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> Floats:
        self.encoded += len(texts)
        vectors = np.full((len(texts), DIMENSIONS), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, zlib.crc32(word.encode()) % DIMENSIONS] += 1
        unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
