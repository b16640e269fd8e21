"""What the small models play of ReAct."""

from __future__ import annotations

from typing import cast

from redargue.nli.backend import EmbeddedBackend, play
from redargue.tasks.acting import NextStep, Step
from redargue.tasks.reacting import ThinkAndAct


@play.register
def _think_and_act(task: ThinkAndAct, backend: EmbeddedBackend) -> Step:
    """A step over what searches find; it reads whole passages, and there is nothing to look up in them."""
    plain = NextStep(claim=task.claim, steps=task.steps, tools=task.tools[:1], step=task.step, last=task.last)
    return cast(Step, play(plain, backend))
