"""The embedded backend's role of an entailment model: the user's own, or the package's."""

from __future__ import annotations

from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.scoring import InferClaim, Inferences, Inferred


@perform.register
def _infer(task: InferClaim, backend: EmbeddedBackend) -> Inferences:
    """By the model that ``REDARGUE_ENTAILMENT`` names, else by the package's own, which has three outputs."""
    if backend.user_nli is None:
        read = backend.entailment.read([(task.hypothesis, premise) for premise in task.premises])
        pairs = [(each.supports, None if task.sigmoid else each.refutes) for each in read]
    else:
        pairs = backend.user_nli.read([(premise, task.hypothesis) for premise in task.premises], sigmoid=task.sigmoid)
    found = (Inferred(supports=_share(supports), refutes=_share(refutes)) for supports, refutes in pairs)
    return Inferences(inferences=tuple(found))


def _share(value: float | None) -> float | None:
    return None if value is None else round(min(1.0, max(0.0, value)), 6)
