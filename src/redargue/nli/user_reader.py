"""A user-supplied entailment model in place of the bundled one (``redargue models add``).

It reads (claim, evidence) pairs in its own input form. Evidence that is longer than its input is
read in windows; the most decisive window counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from redargue.errors import UsageError
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.questions import EndpointModel, EndpointSpec
from redargue.nli.reader_models import open_model
from redargue.nli.reader_spec import SEPARATORS, ReaderSpec, model_input, windows, without_marks
from redargue.nli.session import Entailment, Floats, ModelText, TextModel
from redargue.sanitize import counted

MIN_EVIDENCE = 32  # tokens of evidence
AnySpec = ReaderSpec | EndpointSpec
_PLACE = {"name", "source", "folder", "foundation", "revision", "template", "key_variable"}


class UserReader:
    """Reads (claim, evidence) pairs with an added model.

    Args:
        weights: of the aggregation; fitted by ``redargue models fit``, else those of the bundled
            model.
        temperature: the logits are divided by it.
        model: replaces the one in the spec's folder; a reader at an endpoint has no other.

    Raises:
        UsageError: the files are not those that were added, or do not fit together.
    """

    def __init__(
        self,
        spec: AnySpec,
        *,
        weights: Weights = WEIGHTS,
        temperature: float = 1.0,
        model: TextModel | EndpointModel | None = None,
    ) -> None:
        self.spec, self.weights, self.temperature, self._model = spec, weights, temperature, model

    @property
    def at_endpoint(self) -> bool:
        """Whether reading sends requests."""
        return isinstance(self.spec, EndpointSpec)

    @property
    def uncalibrated(self) -> bool:
        """Whether it answers with words alone, and no weights were fitted to them."""
        words = isinstance(self.spec, EndpointSpec) and not self.spec.logprobs
        return words and self.weights == WEIGHTS

    @cached_property
    def sha256(self) -> str:
        """Identifies the model, the settings for reading with it, and the fitted weights."""
        settings = self.spec.model_dump(mode="json", exclude=_PLACE)  # how it is read
        identity = sorted(settings.items()), self.weights, self.temperature
        return hashlib.sha256(repr(identity).encode()).hexdigest()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
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
        return [1 - entailment.neither for entailment in self.read(pairs)]

    @cached_property
    def model(self) -> TextModel | EndpointModel:
        if self._model is not None:
            return self._model
        if not isinstance(self.spec, ReaderSpec):
            what = f"the reader {self.spec.name!r} is at an endpoint, to which nothing is sent here"
            raise UsageError(what, hint="use it in a check, a batch or a grounding")
        return open_model(self.spec)

    def _input(self, evidence: str, claim: str) -> ModelText:
        generates = isinstance(self.spec, ReaderSpec) and self.spec.decoder_start is not None
        separator = next((mark for mark in SEPARATORS if mark in self.model.marks), "\n")
        return model_input(self.spec.form, evidence, claim, separator=separator, generates=generates)

    def _inputs(self, claim: str, evidence: str) -> list[ModelText]:
        marks = self.model.marks
        claim, evidence = without_marks(claim, marks), without_marks(evidence, marks)
        overhead = self.model.count(self._input("", claim))
        room = min(self.spec.window, self.spec.longest - overhead)
        if room < MIN_EVIDENCE:
            raise UsageError(
                f"a claim of some {overhead} tokens leaves no room for evidence",
                where=f"reader {self.spec.name!r}, which reads {self.spec.longest}",
                hint="split the text into claims first: redargue ground",
            )
        return [self._input(part, claim) for part in windows(evidence, room, self.model.count)]

    def _probabilities(self, row: Floats, temperature: float) -> Entailment:
        spec, logits = self.spec, row.astype(np.float64)
        where = f"reader {spec.name!r}"
        if not np.isfinite(logits).all():
            what = f"the model returns {', '.join(map(str, logits.tolist()))} for a pair"
            raise UsageError(what, where=where, hint="its numbers overflow: export it again in float32")
        one_logit = isinstance(spec, ReaderSpec) and spec.one_logit
        expected = 1 if one_logit else len(spec.outputs)
        if len(logits) != expected:
            labels = "one: support" if one_logit else ", ".join(spec.outputs)
            what = f"the model returns {counted(len(logits), 'number')} for a pair, and its labels are {labels}"
            raise UsageError(what, where=where, hint="add it again with the --labels of its outputs")
        if one_logit:  # of support against its absence
            logits = np.array([0.0, logits[0]])
        shares = np.exp((logits - logits.max()) / temperature)
        shares /= shares.sum()
        by_side = dict.fromkeys(Entailment._fields, 0.0)
        by_side |= dict(zip(spec.outputs, map(float, shares), strict=True))
        return Entailment(**by_side)


def _decisiveness(entailment: Entailment) -> tuple[float, float]:
    return 1 - entailment.neither, entailment.supports
