"""How the debates of the baselines show evidence and ask for a label."""

from __future__ import annotations

from typing import Any

from redargue.claims import Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks.answer import claim_section, documents
from redargue.tasks.labels import label_definitions, subject_vars


class OnEvidence(Frozen):
    """A task that shows evidence, the same to every agent."""

    passages: tuple[Passage, ...] = ()


class DebatePrompt:
    """What a debater's prompts share; a plain class without fields, so it goes first."""

    @property
    def defines_labels(self: Any) -> bool:
        return bool(self.profile == "hardened")

    def topic_vars(self: Any) -> dict[str, object]:
        """The claim, the evidence, and which labels there are."""
        labels, has_documents = self.claim.labels, isinstance(self, OnEvidence)
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim),
            "evidence": documents(self.passages, self.profile) if has_documents else "",
            "label_question": label_question(labels),
            "label_definitions": label_definitions(labels, has_documents=has_documents),
            "free_text": labels.free_text,
        }


def label_question(labels: LabelSet) -> str:
    if labels.free_text:
        return "What is the answer?"
    meanings = ", ".join(f"**{label.name}** ({label.description or 'this option is right'})" for label in labels.labels)
    return f"Which of these is right: {meanings}?"


def stated_label(text: str, labels: LabelSet) -> str:
    """The label that an agent names; a ValueError for another text, or several labels."""
    label = labels.single(text)
    if label is None:
        raise ValueError(f"{text[:60]!r} is not one of the labels {', '.join(labels.names)}")
    return label
