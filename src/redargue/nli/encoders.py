"""Sentence vectors, and whether evidence supports or refutes a claim: the bundled models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np

from redargue.nli.session import WEIGHTS_FOLDER, Floats, Session, file_sha256

# Sentence vectors from all-MiniLM-L6-v2, quantised to int8.

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


# The bundled cross-encoder: whether evidence supports or refutes a claim, and whether a search
# should return it.
#
# MiniLM-L6, fine-tuned by ``training/train_entailment.py`` and quantised to int8: three logits
# of the labels and one of relevance.


class Entailment(NamedTuple):
    """Probabilities that sum to 1."""

    supports: float
    refutes: float
    neither: float


LABELS = len(Entailment._fields)
_KEPT = 4_000  # pairs whose outputs are kept in memory


class EntailmentModel(Protocol):
    """Reads (claim, evidence) pairs; each pair is read alone, so results do not depend on their neighbours."""

    @property
    def sha256(self) -> str:
        """Changes whenever results may."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One result per pair, in order."""

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text decides the claim either way, in [0, 1]."""


class CrossEncoder:
    """Reads (claim, evidence) pairs; ``threads``: pairs read concurrently, 0 for one per core."""

    def __init__(self, *, threads: int = 0, folder: Path = WEIGHTS_FOLDER, longest: int = 160) -> None:
        self._path = folder / "entailment.onnx"
        self._session = Session(self._path.name, longest=longest, kept=_KEPT, threads=threads, folder=folder)

    @cached_property
    def sha256(self) -> str:
        return file_sha256(self._path)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One result per pair, in order; each pair is read alone, so results do not depend on their neighbours."""
        results = []
        for logits in self._session.run(list(pairs)):
            shares = np.exp(logits[:LABELS] - logits[:LABELS].max())
            results.append(Entailment(*(float(share) for share in shares / shares.sum())))
        return results

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text decides the claim either way, in [0, 1]; for reranking."""
        return [float((1 + np.tanh(logits[LABELS] / 2)) / 2) for logits in self._session.run(list(pairs))]
