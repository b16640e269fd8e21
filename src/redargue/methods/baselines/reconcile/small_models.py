"""How small models perform the tasks of ReConcile."""

from __future__ import annotations

from redargue.methods.baselines.reconcile.prompts import AnswerSurelyOnEvidence, AnswerWithConfidence
from redargue.methods.baselines.small_models import read_evidence
from redargue.nli.backend import EmbeddedBackend, perform


@perform.register
def _answer_surely(task: AnswerSurelyOnEvidence, backend: EmbeddedBackend) -> AnswerWithConfidence:
    """States the reading's calibrated confidence, or 0 where nothing was calibrated."""
    answer = read_evidence(task.claim, task.passages, backend)
    return AnswerWithConfidence(
        reasoning=answer.text,
        answer=answer.label or "",
        confidence_level=answer.confidence or 0.0,
        quotes=answer.quotes,
    )
