"""The embedded backend's roles in methods that search in turns and call a claim true or false.

Queries are made of the claim's own words, its parts, and names that evidence brings in; what is called true or false
is the likelier side of what was read. Where nothing was read there is no side.
"""

from __future__ import annotations

from typing import cast

from redargue.nli.backend import EmbeddedBackend, play
from redargue.tasks.acting import NextStep, Step
from redargue.tasks.reacting import ThinkAndAct


@play.register
def _think_and_act(task: ThinkAndAct, mind: EmbeddedBackend) -> Step:
    """A step over what searches find; it reads whole passages, and there is nothing to look up in them."""
    plain = NextStep(claim=task.claim, steps=task.steps, tools=task.tools[:1], step=task.step, last=task.last)
    return cast(Step, play(plain, mind))
