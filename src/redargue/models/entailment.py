"""Three-way entailment: what a piece of evidence says about a claim.

A MiniLM-L6 cross-encoder, fine-tuned by ``training/train_entailment.py`` and quantised to int8.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from redargue.models.session import Session

LONGEST = 160  # tokens: what the model was trained on
KEPT = 50_000


class Entailment(NamedTuple):
    """Probabilities that sum to 1."""

    supports: float
    refutes: float
    neither: float


class CrossEncoder:
    """Reads (claim, evidence) pairs.

    Args:
        folder: where the weights are; the package's own by default.
        threads: pairs at once; 0 for one a core.
    """

    name = "minilm-l6-entailment-int8"

    def __init__(self, folder: Path | None = None, *, threads: int = 0) -> None:
        self._session = Session("entailment.onnx", longest=LONGEST, kept=KEPT, folder=folder, threads=threads)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One judgement a pair, in order; each pair is read alone, so no judgement depends on its neighbours."""
        out = []
        for logits in self._session.run(list(pairs)):
            shares = np.exp(logits - logits.max())
            out.append(Entailment(*(float(share) for share in shares / shares.sum())))
        return out
