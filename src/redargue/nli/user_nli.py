"""An entailment model of the user's own: a folder with ``model.onnx``, ``tokenizer.json`` and ``config.json``.

Exported from nightdessert/WeCheck or cross-encoder/nli-deberta-v3-base, say. It reads (premise, hypothesis), and of a
long pair the premise's end is cut off. Which output means what is read from the names in ``config.json``
(``id2label``); a model with one output says how probable entailment is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from math import exp, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from redargue.errors import UsageError
from redargue.nli.session import MODEL, Session, file_sha256, logistic, of_ones_own

LONGEST = 512  # tokens of a pair
KEPT = 10_000
WHERE = "REDARGUE_ENTAILMENT"
ENTAILED, CONTRADICTED = ("entail", "support"), ("contradict", "refute")  # how a label's name begins


class Outputs(NamedTuple):
    """Places of a model's outputs.

    Attributes:
        entailment: of what says that the hypothesis follows.
        contradiction: of what says that it is wrong; None in a model of two outputs.
    """

    entailment: int
    contradiction: int | None


class Entailer:
    """Reads (premise, hypothesis) pairs.

    Args:
        folder: where the model is.
        threads: pairs at once; 0 for one a core.

    Raises:
        UsageError: the folder lacks a file.
    """

    def __init__(self, folder: Path, *, threads: int = 0) -> None:
        self._folder = of_ones_own(folder, where=WHERE, what="an entailment model")
        self._threads = threads

    @cached_property
    def sha256(self) -> str:
        """Of the model's file and of the names of its outputs."""
        digest = hashlib.sha256(repr(self._names).encode())
        digest.update(bytes.fromhex(file_sha256(self._folder / MODEL)))
        return digest.hexdigest()

    @cached_property
    def _session(self) -> Session:
        return Session(MODEL, longest=LONGEST, kept=KEPT, folder=self._folder, threads=self._threads, cut="only_first")

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Of the outputs, in their order; none where the folder does not say."""
        path = self._folder / "config.json"
        try:
            named: Any = json.loads(path.read_text(encoding="utf-8")).get("id2label") if path.is_file() else None
            return tuple(str(named[str(place)]) for place in range(len(named))) if named else ()
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise UsageError(f"{str(path)!r} does not name the model's outputs: {error}", where=WHERE) from None

    def read(self, pairs: Sequence[tuple[str, str]], *, sigmoid: bool = False) -> list[tuple[float, float | None]]:
        """For each pair how probable entailment is, and contradiction where the model says so; in [0, 1].

        Args:
            pairs: premise and hypothesis.
            sigmoid: of the first output alone, whatever it is called (WeCheck's is trained so).

        Raises:
            UsageError: a hypothesis longer than the model reads, an output that is not finite, or several outputs
                without names that say which is entailment.
        """
        try:
            every = self._session.run(list(pairs))
        except Exception as error:
            if "truncat" not in str(error).lower():  # the tokenizer raises nothing more telling
                raise
            raise UsageError(
                f"a claim of more than {LONGEST} tokens: nothing of the evidence would be read",
                where=WHERE,
                hint="take the text apart first: redargue ground",
            ) from None
        return [self._judged([float(each) for each in logits.reshape(-1)], sigmoid) for logits in every]

    def _judged(self, logits: list[float], sigmoid: bool) -> tuple[float, float | None]:
        if not all(map(isfinite, logits)):
            raise UsageError(
                f"the model gives {logits} for a pair",
                where=WHERE,
                hint="export it again, in another precision say",
            )
        if sigmoid or len(logits) == 1:
            return logistic(logits[0]), None
        places = self._places(len(logits))
        raised = [exp(each - max(logits)) for each in logits]
        shares = [each / sum(raised) for each in raised]
        return shares[places.entailment], None if places.contradiction is None else shares[places.contradiction]

    def _places(self, count: int) -> Outputs:
        names = [name.lower() for name in self._names]
        entailed = [at for at, name in enumerate(names) if name.startswith(ENTAILED)]
        contradicted = [at for at, name in enumerate(names) if name.startswith(CONTRADICTED)]
        if len(names) != count or len(entailed) != 1:
            raise UsageError(
                f"the model gives {count} numbers a pair, and which of them is entailment is not said",
                where=WHERE,
                hint="add its config.json, with id2label, or choose the first output alone: sigmoid=true",
            )
        return Outputs(entailed[0], contradicted[0] if count > 2 and len(contradicted) == 1 else None)
