"""The backend of a replay, which performs no tasks."""

from __future__ import annotations

from redargue.backends.base import Backend, Call, Reply, Stability
from redargue.errors import ReplayMiss
from redargue.tasks.base import AnyTask, Out, Task


class ReplayBackend:
    """The recorded backend's name, identity, thresholds and prompts, without its model.

    Args:
        min_confidence: of its verdicts where the run's spec names none.
        priced: whether the prices of all its models and tools were known.
    """

    def __init__(
        self, inner: Backend, identity: str, stability: Stability, *, min_confidence: float, priced: bool
    ) -> None:
        self.min_confidence, self.priced = min_confidence, priced
        self.name, self.identity, self.stability = inner.name, identity, stability
        self._inner, self.supports_attention_weights = inner, inner.supports_attention_weights
        self.english_only = getattr(inner, "english_only", False)

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return self._inner.render(task)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Raises ReplayMiss: the run consults its record first."""
        raise ReplayMiss(f"the record does not contain {task.name()} of {call.agent!r}")
