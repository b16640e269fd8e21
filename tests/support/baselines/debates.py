"""What tests know of the debates among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

from typing import Any

from redargue.tasks.base import Profile, Task


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    return {}


SCRIPT: dict[Any, Any] = {}  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
SIGNS: dict[str, str] = {}  # words in a plain prompt, and the task that has them


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    return None
