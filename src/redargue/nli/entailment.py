"""What a piece of evidence says about a claim, and whether a search should find it.

A MiniLM-L6 cross-encoder, fine-tuned by ``training/train_entailment.py`` and quantised to int8: three logits of the
answers, and one of relevance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from redargue.nli.session import WEIGHTS, Session

LONGEST = 160  # tokens: what the model was trained on
KEPT = 50_000


class Entailment(NamedTuple):
    """Probabilities that sum to 1."""

    supports: float
    refutes: float
    neither: float


ANSWERS = len(Entailment._fields)


class CrossEncoder:
    """Reads (claim, evidence) pairs.

    Args:
        folder: where the weights are; the package's own by default.
        threads: pairs at once; 0 for one a core.
    """

    name = "minilm-l6-entailment-int8"

    def __init__(self, folder: Path | None = None, *, threads: int = 0) -> None:
        self._session = Session("entailment.onnx", longest=LONGEST, kept=KEPT, folder=folder, threads=threads)
        self._folder = folder or WEIGHTS

    @cached_property
    def sha256(self) -> str:
        """Of the weights."""
        return hashlib.sha256((self._folder / "entailment.onnx").read_bytes()).hexdigest()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One judgement a pair, in order; each pair is read alone, so no judgement depends on its neighbours."""
        out = []
        for logits in self._session.run(list(pairs)):
            shares = np.exp(logits[:ANSWERS] - logits[:ANSWERS].max())
            out.append(Entailment(*(float(share) for share in shares / shares.sum())))
        return out

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How likely each text decides the claim one way or the other, in [0, 1], whatever it says: to rerank with."""
        return [float((1 + np.tanh(logits[ANSWERS] / 2)) / 2) for logits in self._session.run(list(pairs))]
