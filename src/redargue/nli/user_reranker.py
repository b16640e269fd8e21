"""A user-supplied cross-encoder, such as cross-encoder/ms-marco-MiniLM-L-6-v2, which Tool-MAD's authors load (``T24``).

It gives one logit per pair of texts, which is passed through a sigmoid.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.errors import UsageError
from redargue.nli.session import UserModel, logistic


class UserReranker(UserModel):
    """Scores pairs of texts."""

    setting = "REDARGUE_CROSS_ENCODER"
    kind = "a cross-encoder"

    def rate(self, reference: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in [0, 1], each read alone with the reference."""
        rows = self.logits([(reference, text) for text in texts])
        for row in rows:
            if len(row) != 1:
                raise UsageError(
                    f"expected one number per pair, but the model gives {len(row)}",
                    where=self.setting,
                    hint="name a cross-encoder with one output, such as a reranker",
                )
        return [logistic(row[0]) for row in rows]
