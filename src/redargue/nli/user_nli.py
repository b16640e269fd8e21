"""A user-supplied entailment model, such as nightdessert/WeCheck or cross-encoder/nli-deberta-v3-base.

It reads (premise, hypothesis); the end of a long premise is truncated. The meaning of its outputs is read from the
label names in ``config.json`` (``id2label``); the output of a model that has only one is the probability of entailment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from math import exp
from typing import Any

from redargue.errors import UsageError
from redargue.nli.session import UserModel, file_sha256, logistic

ENTAILED, CONTRADICTED = ("entail", "support"), ("contradict", "refute")  # prefixes of label names


class UserNli(UserModel):
    """Reads (premise, hypothesis) pairs."""

    setting = "REDARGUE_ENTAILMENT"
    kind = "an entailment model"
    cut = "only_first"

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256(repr(self._names).encode())
        digest.update(bytes.fromhex(file_sha256(self._folder / "model.onnx")))
        return digest.hexdigest()

    @cached_property
    def _names(self) -> tuple[str, ...]:
        path = self._folder / "config.json"
        try:
            names: Any = json.loads(path.read_text(encoding="utf-8")).get("id2label") if path.is_file() else None
            return tuple(str(names[str(index)]) for index in range(len(names))) if names else ()
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise UsageError(f"{str(path)!r} does not name the model's outputs: {error}", where=self.setting) from None

    def read(self, pairs: Sequence[tuple[str, str]], *, sigmoid: bool = False) -> list[tuple[float, float | None]]:
        """For each (premise, hypothesis) the probability of entailment, and of contradiction if the model gives it.

        Args:
            sigmoid: use the first output alone, whatever its name (WeCheck is trained this way).

        Raises:
            UsageError: a hypothesis is longer than the model reads, an output is not finite, or several outputs have no
                names that identify entailment.
        """
        try:
            rows = self.logits(pairs)
        except Exception as error:
            if "truncation" not in str(error).lower():  # tokenizers has no exception type for this
                raise
            raise UsageError(
                f"a claim of more than {self.longest} tokens leaves no room for evidence",
                where=self.setting,
                hint="split the text into claims first: redargue ground",
            ) from None
        return [self._probabilities(row, sigmoid) for row in rows]

    def _probabilities(self, logits: list[float], sigmoid: bool) -> tuple[float, float | None]:
        if sigmoid or len(logits) == 1:
            return logistic(logits[0]), None
        entailment, contradiction = self._outputs(len(logits))
        weights = [exp(logit - max(logits)) for logit in logits]
        shares = [weight / sum(weights) for weight in weights]
        return shares[entailment], None if contradiction is None else shares[contradiction]

    def _outputs(self, count: int) -> tuple[int, int | None]:
        """Indices of entailment and contradiction; the latter is None in a model of two outputs."""
        names = [name.lower() for name in self._names]
        entailed = [index for index, name in enumerate(names) if name.startswith(ENTAILED)]
        contradicted = [index for index, name in enumerate(names) if name.startswith(CONTRADICTED)]
        if len(names) != count or len(entailed) != 1:
            raise UsageError(
                f"the model gives {count} numbers per pair, and its labels do not identify entailment",
                where=self.setting,
                hint="add its config.json with id2label, or use the first output alone: sigmoid=true",
            )
        return entailed[0], contradicted[0] if count > 2 and len(contradicted) == 1 else None
