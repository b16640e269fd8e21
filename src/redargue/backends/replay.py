"""The backend of a replay, which performs no tasks."""

from __future__ import annotations

from redargue.backends.base import Backend, Call, Reply, Stability
from redargue.errors import ReplayMiss
from redargue.runs.manifest import RunManifest
from redargue.tasks.base import AnyTask, Out, Task


class ReplayBackend:
    """The recorded backend's name, identity, thresholds and prompts, without its model.

    Attributes:
        min_confidence: of its verdicts where the run's spec names none.
        priced: whether the prices of all its models and tools were known.
    """

    def __init__(self, inner: Backend, manifest: RunManifest) -> None:
        recorded = manifest.backend
        self.min_confidence, self.priced = recorded.threshold, manifest.priced
        self.name, self.identity = inner.name, recorded.identity
        self.stability = Stability(*recorded.stability)
        self._inner, self.supports_attention_weights = inner, inner.supports_attention_weights
        self.english_only = getattr(inner, "english_only", False)

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return self._inner.render(task)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Raises ReplayMiss: the run consults its record first."""
        raise ReplayMiss(f"the record does not contain {task.name()} of {call.agent!r}")
