"""How the small models perform the tasks of ReAct's agent."""

from __future__ import annotations

from redargue.methods.baselines.react.method import ThinkAndAct
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.nli.next_step import next_step
from redargue.tasks.step import Step


@perform.register
def _think_and_act(task: ThinkAndAct, backend: EmbeddedBackend) -> Step:
    return next_step(task.model_copy(update={"tools": task.tools[:1]}), backend)
