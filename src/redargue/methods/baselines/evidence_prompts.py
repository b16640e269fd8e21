"""How the debates of the baselines show evidence and ask for a label."""

from __future__ import annotations

from typing import Any, ClassVar

from redargue.claims import Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, claim_lines, documents
from redargue.tasks.base import Task, lines


class OnEvidence(Frozen):
    """A task that shows evidence, the same to every agent."""

    passages: tuple[Passage, ...] = ()


class DebatePrompt:
    """What a debater's prompts share; a plain class without fields, so it goes first."""

    instructions: ClassVar[str] = ""
    hardened_rules: ClassVar[str] = STYLE_IS_NO_EVIDENCE

    @property
    def quote_source(self) -> str:
        return "the evidence" if isinstance(self, OnEvidence) else ""


def label_question(labels: LabelSet) -> str:
    if labels.free_text:
        return "What is the answer?"
    meanings = ", ".join(f"**{label.name}** ({label.description or 'this option is right'})" for label in labels.labels)
    return f"Which of these is right: {meanings}?"


def label_in(text: str, labels: LabelSet) -> str:
    """The label that an agent names; a ValueError for another text, or several labels."""
    label = labels.single(text)
    if label is None:
        raise ValueError(f"{text[:60]!r} is not one of the labels {', '.join(labels.names)}")
    return label


def topic(task: Any) -> str:
    return lines(claim_lines(task.claim), evidence_line(task), label_question(task.claim.labels))


def topic_vars(task: Any) -> dict[str, str]:
    return {
        "claim": claim_lines(task.claim).removeprefix("Claim: "),
        "labels": label_question(task.claim.labels),
        "evidence": (evidence_line(task) or "").removeprefix("Evidence: "),
    }


def evidence_line(task: Task[Any]) -> str | None:
    return f"Evidence: {documents(task.passages, task.profile)}" if isinstance(task, OnEvidence) else None
