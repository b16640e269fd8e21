"""A cross-encoder of the user's own: a folder with ``model.onnx`` and ``tokenizer.json``, one score a pair of texts.

Exported from cross-encoder/ms-marco-MiniLM-L-6-v2, say, which Tool-MAD's authors load (``T24``). Its score is one logit
without bounds, and is taken through a sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path

from redargue.errors import UsageError
from redargue.nli.session import MODEL, Session, file_sha256, logistic, of_ones_own

LONGEST = 512  # tokens of a pair
KEPT = 10_000


class Rater:
    """Scores pairs of texts.

    Args:
        folder: where the model is.
        threads: pairs at once; 0 for one a core.

    Raises:
        UsageError: the folder lacks a file.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self._folder = of_ones_own(folder, where="REDARGUE_CROSS_ENCODER", what="a cross-encoder")
        self._threads = threads

    @cached_property
    def sha256(self) -> str:
        """Of the model's file."""
        return file_sha256(self._folder / MODEL)

    @cached_property
    def _session(self) -> Session:
        return Session(MODEL, longest=LONGEST, kept=KEPT, folder=self._folder, threads=self._threads)

    def rate(self, reference: str, texts: Sequence[str]) -> list[float]:
        """A score a text, in [0, 1], each read alone with the reference.

        Raises:
            UsageError: the model gives several numbers a pair, or one that is not finite.
        """
        scores = []
        for logits in self._session.run([(reference, text) for text in texts]):
            if logits.size != 1:
                raise UsageError(
                    f"the model gives {logits.size} numbers a pair, and one was expected",
                    where="REDARGUE_CROSS_ENCODER",
                    hint="name a cross-encoder with one output, a reranker say",
                )
            logit = float(logits.reshape(-1)[0])
            if not isfinite(logit):
                raise UsageError(
                    f"the model gives {logit} for a pair",
                    where="REDARGUE_CROSS_ENCODER",
                    hint="export it again, in another precision say",
                )
            scores.append(logistic(logit))
        return scores
