"""How the debates of the baselines show evidence and ask for a label."""

from __future__ import annotations

from typing import Any

from redargue.claims import Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks.answer import documents
from redargue.tasks.base import Task


class OnEvidence(Frozen):
    """A task that shows evidence, the same to every agent."""

    passages: tuple[Passage, ...] = ()


def label_question(labels: LabelSet) -> str:
    if labels.free_text:
        return "What is the answer?"
    meanings = ", ".join(f"**{label.name}** ({label.description or 'this option is right'})" for label in labels.labels)
    return f"Which of these is right: {meanings}?"


def evidence_line(task: Task[Any]) -> str | None:
    """The evidence, if the task shows any."""
    return f"Evidence: {documents(task.passages, task.profile)}" if isinstance(task, OnEvidence) else None
