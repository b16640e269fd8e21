"""How the debates of the baselines show evidence and ask for a label."""

from __future__ import annotations

from typing import Any, ClassVar

from redargue.claims import Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, claim_lines, claim_section, documents
from redargue.tasks.base import Task, lines
from redargue.tasks.labels import label_definitions, subject

ONLY_DOCUMENTS = "Use only the numbered documents; do not fill gaps from memory."
OWN_EXAMPLES = ", from common knowledge; yours goes by the documents, in the form that is described below"


class OnEvidence(Frozen):
    """A task that shows evidence, the same to every agent."""

    passages: tuple[Passage, ...] = ()


class DebatePrompt:
    """What a debater's prompts share; a plain class without fields, so it goes first."""

    hardened_rules: ClassVar[str] = STYLE_IS_NO_EVIDENCE

    @property
    def instructions(self: Any) -> str:
        """In the hardened profile who the agent is, what it goes by and what the labels mean."""
        if self.profile == "paper":
            return ""
        has_documents = isinstance(self, OnEvidence)
        source = ONLY_DOCUMENTS if has_documents else "There are no documents: answer from what you know."
        return lines(self.role(), source, label_definitions(self.claim.labels, has_documents=has_documents))

    def role(self) -> str:
        """Who the agent is, where no system message says it."""
        return ""

    @property
    def defines_labels(self: Any) -> bool:
        return bool(self.profile == "hardened")

    @property
    def quote_source(self) -> str:
        return "the documents" if isinstance(self, OnEvidence) else ""


def same_task(labels: LabelSet) -> str:
    """What several agents do with one claim."""
    what = subject(labels)
    return f"{'answer' if what == 'question' else 'check'} the same {what}"


def check_views(task: Any) -> str:
    """What an agent does with the others' answers."""
    against = "against the documents, " if isinstance(task, OnEvidence) else ""
    return f"check them {against}step by step"


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
    """The claim and the evidence; and which labels there are, where the instructions do not define them."""
    if getattr(task, "defines_labels", False):
        heading = subject(task.claim.labels).capitalize()
        return lines(f"{heading}: {claim_section(task.claim)}", evidence_line(task))
    return lines(claim_lines(task.claim), evidence_line(task), label_question(task.claim.labels))


def topic_vars(task: Any) -> dict[str, str]:
    profile = task.profile
    return {
        "claim": claim_lines(task.claim).removeprefix("Claim: "),
        "labels": label_question(task.claim.labels),
        "evidence": documents(task.passages, profile) if isinstance(task, OnEvidence) else "",
    }


def evidence_line(task: Task[Any]) -> str | None:
    profile = task.profile
    heading = "Evidence: " if profile == "paper" else "Documents:\n"
    return heading + documents(task.passages, profile) if isinstance(task, OnEvidence) else None
