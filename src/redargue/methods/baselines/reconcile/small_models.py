"""The embedded backend's roles in the baselines' debates, where these rest on evidence.

It reads the same passages in the same way whoever it plays: its debaters differ only where the evidence has two sides,
or where they chose other pieces of it, and a debate is mostly one reader's answer (``experiments/LOG.md``).
"""

from __future__ import annotations

from redargue.methods.baselines.reconcile.prompts import AnswerSurelyOnEvidence, AnswerWithConfidence
from redargue.methods.baselines.small_models import read_evidence
from redargue.nli.backend import EmbeddedBackend, play


@play.register
def _answer_surely(task: AnswerSurelyOnEvidence, mind: EmbeddedBackend) -> AnswerWithConfidence:
    """What the evidence says, as sure as its reading is calibrated; not sure at all where nothing was calibrated."""
    answer = read_evidence(task.claim, task.passages, mind)
    return AnswerWithConfidence(
        reasoning=answer.text,
        answer=answer.label or "",
        confidence_level=answer.confidence or 0.0,
        quotes=answer.quotes,
    )
