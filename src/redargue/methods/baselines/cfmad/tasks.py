"""CFMAD's prompts (Fang et al., arXiv 2406.11514)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redargue.claims import Claim, Frozen, Meaning
from redargue.evidence import Passage
from redargue.methods.baselines.evidence_prompts import label_question
from redargue.tasks.answer import AnswerClaim, LabelledTask, claim_section, documents
from redargue.tasks.argue import Argument
from redargue.tasks.base import Task, lines
from redargue.tasks.untrusted import wrap_untrusted


def _stance_vars(claim: Claim, stance: str) -> dict[str, object]:
    """A stance as an option, or as whether the claim is true."""
    meaning = claim.labels.meaning(stance)
    truth = "true" if meaning is Meaning.SUPPORTED else "false"
    return {"stance": stance, "option": meaning is Meaning.OPTION, "truth": truth}


class _OfAStance(Frozen):
    claim: Claim
    stance: str
    passages: tuple[Passage, ...] = ()


class _Speaker:
    """What the speakers' tasks share; a plain class without fields, so it goes first."""

    def template_vars(self: Any) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim),
            "evidence": documents(self.passages, self.profile),
            **_stance_vars(self.claim, self.stance),
        }

    def parse_plain(self, text: str) -> Argument | None:
        plain = text.strip()
        return Argument(text=plain) if plain and not plain.startswith("{") else None


class ArgueStance(_Speaker, Task[Argument], _OfAStance):
    """Why the preset stance is right."""


class CriticiseStance(_Speaker, Task[Argument], _OfAStance):
    """Why the argument for a stance may be wrong."""

    argument: str

    def template_vars(self) -> Mapping[str, object]:
        opposite = {Meaning.SUPPORTED: "false", Meaning.REFUTED: "true"}
        return {
            **super().template_vars(),
            "argument": wrap_untrusted(self.argument),
            "opposite": opposite.get(self.claim.labels.meaning(self.stance), ""),
        }


class RebutCritic(_Speaker, Task[Argument], _OfAStance):
    """The defence of a stance against its critic."""

    argument: str
    criticism: str
    asked: str  # the label that the first question asked about; in the authors' program not always the stance

    def template_vars(self) -> Mapping[str, object]:
        return {
            **super().template_vars(),
            **_stance_vars(self.claim, self.asked),
            "argument": wrap_untrusted(self.argument),
            "criticism": wrap_untrusted(self.criticism),
        }


class Thread(Frozen):
    """What was said for a stance, against it, and in its defence."""

    stance: str
    argument: str
    criticism: str
    rebuttal: str


class JudgeStances(LabelledTask):
    """Which stance is right, after both threads."""

    passages: tuple[Passage, ...] = ()
    threads: tuple[Thread, ...] = ()

    @property
    def defines_labels(self) -> bool:
        """The question does, in both profiles."""
        return True

    def _threads(self) -> str:
        sides = {Meaning.SUPPORTED: "Positive side", Meaning.REFUTED: "Negative side"}
        meaning = self.claim.labels.meaning
        names = (sides.get(meaning(thread.stance), f"Option {thread.stance}") for thread in self.threads)
        return "\n".join(
            lines(
                f"{name}: {wrap_untrusted(thread.argument)}",
                f"Critic: {wrap_untrusted(thread.criticism)}",
                f"{name}: {wrap_untrusted(thread.rebuttal)}",
            )
            for name, thread in zip(names, self.threads, strict=True)
        )

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim),
            "evidence": documents(self.passages, self.profile),
            "label_question": label_question(self.claim.labels),
            "threads": self._threads(),
        }


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""
