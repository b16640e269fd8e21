"""How the small models perform the tasks of MERMAID's agents."""

from __future__ import annotations

from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.nli.backend import EmbeddedBackend, compose_answer, perform
from redargue.nli.grammar import decompose
from redargue.nli.next_step import next_step, passages_read
from redargue.tasks.answer import Answer
from redargue.tasks.decompose import Decomposition
from redargue.tasks.step import Step


@perform.register
def _decompose(task: DecomposeClaim, backend: EmbeddedBackend) -> Decomposition:
    return decompose(task.claim.text)


@perform.register
def _next_step(task: NextStep, backend: EmbeddedBackend) -> Step:
    return next_step(task, backend)


@perform.register
def _force_answer(task: ForceAnswer, backend: EmbeddedBackend) -> Answer:
    passages = passages_read(task.memory, task.steps)
    return compose_answer(task.claim, passages, backend)
