"""The embedded backend's role of an entailment model: the user's own, or the package's."""

from __future__ import annotations

from redargue.nli.backend import EmbeddedBackend, play
from redargue.tasks.score import InferClaim, Inferences, Inferred


@play.register
def _infer(task: InferClaim, mind: EmbeddedBackend) -> Inferences:
    """By the model that ``REDARGUE_ENTAILMENT`` names, else by the package's own, which has three outputs."""
    if mind.entailer is None:
        read = mind.entailment.read([(task.hypothesis, premise) for premise in task.premises])
        pairs = [(each.supports, None if task.sigmoid else each.refutes) for each in read]
    else:
        pairs = mind.entailer.read([(premise, task.hypothesis) for premise in task.premises], sigmoid=task.sigmoid)
    found = (Inferred(supports=_share(supports), refutes=_share(refutes)) for supports, refutes in pairs)
    return Inferences(inferences=tuple(found))


def _share(value: float | None) -> float | None:
    return None if value is None else round(min(1.0, max(0.0, value)), 6)
