"""A debate of two sides before a moderator, and a judge who decides in two steps (MAD, Liang et al., 2305.19118).

Each speaker has a chat of its own that goes on: what it was asked and said before is sent again, word for word. As
published nobody has evidence; the tasks ``…OnEvidence`` show the same passages to all.
"""

from __future__ import annotations

from typing import Any

from redargue.claims import Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks.answering import documents
from redargue.tasks.base import Task


class OnEvidence(Frozen):
    """A task that shows what was found for the claim.

    Attributes:
        passages: the same for everybody.
    """

    passages: tuple[Passage, ...] = ()


def label_question(labels: LabelSet) -> str:
    """Asks for one of the labels."""
    if labels.free_text:
        return "What is the answer?"
    meanings = ", ".join(f"**{each.name}** ({each.description or 'this option is right'})" for each in labels.labels)
    return f"Which of these is right: {meanings}?"


def evidence_line(task: Task[Any]) -> str | None:
    """The evidence of a task that shows some."""
    return f"Evidence: {documents(task.passages, task.profile)}" if isinstance(task, OnEvidence) else None
