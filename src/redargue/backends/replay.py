"""Stands where a backend stood when a run was recorded; it is never asked."""

from __future__ import annotations

from redargue.backends.base import Backend, Call, Reply, Stability
from redargue.errors import ReplayMiss
from redargue.tasks.base import AnyTask, Out, Task


class ReplayBackend:
    """The recorded backend's name, identity and thresholds, with its way to render prompts.

    A replay therefore needs neither the model nor its weights, and goes on working after they were replaced.

    Args:
        inner: renders prompts.
        identity: as recorded.
        stability: as recorded.
    """

    def __init__(self, inner: Backend, identity: str, stability: Stability) -> None:
        self.name, self.identity, self.stability = inner.name, identity, stability
        self._inner, self.supports_attention_weights = inner, inner.supports_attention_weights

    def can(self, task: type[AnyTask]) -> bool:
        """Whatever was recorded."""
        return True

    def render(self, task: AnyTask) -> str:
        """As the recorded backend."""
        return self._inner.render(task)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Never answers.

        Raises:
            ReplayMiss: always; the run asks its record first.
        """
        raise ReplayMiss(f"the record does not hold {task.name()} of {call.agent!r}")
