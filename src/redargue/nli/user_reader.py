"""A user-supplied entailment model in place of the bundled cross-encoder (``redargue models add``).

It reads (claim, evidence) pairs in its own input form. Evidence that is longer than its input is read in windows; the
most decisive window counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from redargue.errors import UsageError
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.cache import Floats, Text
from redargue.nli.entailment import Entailment
from redargue.nli.input_forms import SEPARATORS, model_input, special_tokens, windows, without_marks
from redargue.nli.reader_sessions import open_model
from redargue.nli.reader_spec import ReaderSpec, files_sha256
from redargue.nli.session import TextModel

MIN_EVIDENCE = 32  # tokens of evidence


class UserReader:
    """Reads (claim, evidence) pairs with an added model.

    Args:
        weights: of the aggregation; fitted by ``redargue models fit``, else those of the bundled model.
        temperature: the logits are divided by it.
        model: replaces the one in the spec's folder.

    Raises:
        UsageError: the files are not those that were added, or do not fit together.
    """

    def __init__(
        self,
        spec: ReaderSpec,
        *,
        weights: Weights = WEIGHTS,
        temperature: float = 1.0,
        threads: int = 0,
        model: TextModel | None = None,
    ) -> None:
        self.spec, self.weights, self.temperature, self._threads = spec, weights, temperature, threads
        self._model = model

    @cached_property
    def sha256(self) -> str:
        """Identifies the files, the settings for reading them, and the fitted weights."""
        settings = self.spec.model_dump(mode="json", exclude={"name", "source", "folder", "foundation", "revision"})
        return hashlib.sha256(repr((sorted(settings.items()), self.weights, self.temperature)).encode()).hexdigest()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One result per pair, in order; each window is read alone, so results do not depend on their neighbours."""
        return [self.entailment(rows, self.temperature) for rows in self.logits(pairs)]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> list[list[Floats]]:
        """For each pair the logits of its windows."""
        inputs = [self._inputs(claim, evidence) for claim, evidence in pairs]
        rows = iter(self.model.run([text for texts in inputs for text in texts]))
        return [[next(rows) for _ in texts] for texts in inputs]

    def entailment(self, windows: Sequence[Floats], temperature: float) -> Entailment:
        """The probabilities of the most decisive window."""
        return max((self._probabilities(row, temperature) for row in windows), key=_decisiveness)

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text decides the claim either way, in [0, 1]."""
        return [1 - entailment.neither for entailment in self.read(pairs)]

    @cached_property
    def model(self) -> TextModel:
        if self._model is not None:
            return self._model
        spec = self.spec
        if spec.sha256 != files_sha256(spec):
            raise UsageError(
                f"the files of the reader {spec.name!r} have changed since it was added, or are gone",
                where=str(spec.folder),
                hint=f"add it again: redargue models add {spec.source} --as reader --name {spec.name}",
            )
        return open_model(spec, threads=self._threads)

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        return special_tokens(self.model.tokenizer)

    @cached_property
    def _separator(self) -> str:
        return next((mark for mark in SEPARATORS if mark in self._marks), "\n")

    def _inputs(self, claim: str, evidence: str) -> list[Text]:
        claim, evidence = without_marks(claim, self._marks), without_marks(evidence, self._marks)
        overhead = self._tokens(model_input(self.spec, "", claim, self._separator))
        room = min(self.spec.window, self.spec.longest - overhead)
        if room < MIN_EVIDENCE:
            raise UsageError(
                f"a claim of some {overhead} tokens leaves no room for evidence",
                where=f"reader {self.spec.name!r}, which reads {self.spec.longest}",
                hint="split the text into claims first: redargue ground",
            )
        parts = windows(evidence, room, self._tokens)
        return [model_input(self.spec, part, claim, self._separator) for part in parts]

    def _tokens(self, text: Text) -> int:
        return len(self.model.tokenizer.encode(*([text] if isinstance(text, str) else text)).ids)

    def _probabilities(self, row: Floats, temperature: float) -> Entailment:
        logits = row.astype(np.float64)
        if len(logits) == 1:  # the logit of support against its absence
            logits = np.array([0.0, logits[0]])
        if len(logits) != len(self.spec.outputs) or not np.isfinite(logits).all():
            raise UsageError(
                f"the model returns {logits.tolist()} for a pair, but its labels are {', '.join(self.spec.outputs)}",
                where=f"reader {self.spec.name!r}",
                hint="add it again with --labels, or export it again in another precision",
            )
        shares = np.exp((logits - logits.max()) / temperature)
        by_side = dict.fromkeys(Entailment._fields, 0.0) | dict(
            zip(self.spec.outputs, map(float, shares / shares.sum()), strict=True)
        )
        return Entailment(**by_side)


def _decisiveness(entailment: Entailment) -> tuple[float, float]:
    return 1 - entailment.neither, entailment.supports
