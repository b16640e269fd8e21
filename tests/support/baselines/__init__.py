"""What tests know of the baselines, group by group."""

from __future__ import annotations

from typing import Any

from redargue.tasks.base import Profile, Task
from support.baselines import alone, debates, programs, searching

GROUPS = (alone, debates, programs, searching)
SCRIPT: dict[Any, Any] = {part: line for group in GROUPS for part, line in group.SCRIPT.items()}
SIGNS: dict[str, str] = {sign: role for group in GROUPS for sign, role in group.SIGNS.items()}


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind."""
    return {name: task for group in GROUPS for name, task in group.examples(profile).items()}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """What the loopback model says to a task; None: no baseline has it."""
    said = (group.reply(role, ask, label) for group in GROUPS)
    return next((each for each in said if each is not None), None)
