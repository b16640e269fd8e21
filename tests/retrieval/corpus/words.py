"""An encoder that knows words in place of the model, and what opens a store with it."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from redargue.nli.session import DIMENSIONS, Floats
from redargue.retrieval.corpus import Corpus

Opener = Callable[..., Corpus]


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


def address(store: str, path: Path) -> str:
    """Where a store of that kind is: at the path, or on a server in a collection that the path names."""
    if store == "milvus-server":
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        return f"milvus:{os.environ['MILVUS_URI']}?collection=test_{name}"
    return f"{store}:{path}"
