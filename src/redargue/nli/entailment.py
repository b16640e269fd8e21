"""The bundled cross-encoder: whether evidence supports or refutes a claim, and whether a search should return it.

MiniLM-L6, fine-tuned by ``training/train_entailment.py`` and quantised to int8: three logits of the labels and one of
relevance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from redargue.nli.session import WEIGHTS, Session, file_sha256


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

    def __init__(self, *, threads: int = 0) -> None:
        self._session = Session("entailment.onnx", longest=160, kept=_KEPT, threads=threads)

    @cached_property
    def sha256(self) -> str:
        return file_sha256(WEIGHTS / "entailment.onnx")

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
