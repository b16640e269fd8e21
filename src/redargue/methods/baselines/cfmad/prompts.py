"""CFMAD's prompts (Fang et al., arXiv 2406.11514)."""

from __future__ import annotations

from typing import Any, ClassVar

from redargue.claims import Claim, Frozen, Meaning
from redargue.evidence import Passage
from redargue.methods.baselines.evidence_prompts import label_question
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, AnswerClaim, claim_section, documents
from redargue.tasks.argue import Argument
from redargue.tasks.base import FORMAT_LAST, Layout, Sections, Task, lines
from redargue.tasks.untrusted import wrap_untrusted


def why(claim: Claim, stance: str) -> str:
    meaning = claim.labels.meaning(stance)
    if meaning is Meaning.OPTION:
        return f"Explain why option {stance} might be the answer to the question."
    truth = "true" if meaning is Meaning.SUPPORTED else "false"
    return f"Understand the evidence and the claim fully, and answer: why is the claim {truth}?"


_CASE: Sections = {"claim": "Claim: ", "evidence": "Evidence: "}


class _OfAStance(Frozen):
    claim: Claim
    stance: str
    passages: tuple[Passage, ...] = ()


class _OnEvidence:
    """A prompt that begins with claim and evidence. A plain class without fields, so it goes first."""

    quote_source: ClassVar[str] = "the evidence"

    def input_text(self: Any) -> str:
        claim, evidence, *rest = self.section_texts()
        return lines(*((evidence, claim) if self.profile == "paper" else (claim, evidence)), *rest)

    def template_vars(self: Any) -> dict[str, str]:
        return {"claim": claim_section(self.claim), "evidence": documents(self.passages, self.profile)}


class _Speaker(_OnEvidence):
    quotes_in_text: ClassVar[bool] = True

    hardened_rules: ClassVar[str] = lines(
        "You take part in a debate about a claim, in the part that the last message gives you. Argue from the evidence"
        " alone, and say nothing that it does not bear out.",
        STYLE_IS_NO_EVIDENCE,
    )

    quote_source: ClassVar[str] = "the evidence"

    def parse_plain(self, text: str) -> Argument | None:
        plain = text.strip()
        return Argument(text=plain) if plain and not plain.startswith("{") else None


class ArgueStance(_Speaker, Task[Argument], _OfAStance):
    """Why the preset stance is right."""

    sections: ClassVar[Sections] = {**_CASE, "asked": ""}

    def template_vars(self) -> dict[str, str]:
        return super().template_vars() | {"asked": why(self.claim, self.stance)}


class CriticiseStance(_Speaker, Task[Argument], _OfAStance):
    """Why the argument for a stance may be wrong."""

    sections: ClassVar[Sections] = {**_CASE, "argument": "Assistant: ", "asked": ""}

    argument: str

    def _asked(self) -> str:
        opposite = {Meaning.SUPPORTED: "false", Meaning.REFUTED: "true"}
        truth = opposite.get(self.claim.labels.meaning(self.stance))
        if truth is None:
            return "The assistant's answer may be wrong. Persuade it that its answer may be wrong."
        return (
            f"The assistant's answer may be wrong. Persuade it, from the evidence, that the claim is in fact {truth}."
        )

    def template_vars(self) -> dict[str, str]:
        return super().template_vars() | {"argument": wrap_untrusted(self.argument), "asked": self._asked()}


class RebutCritic(_Speaker, Task[Argument], _OfAStance):
    """The defence of a stance against its critic."""

    sections: ClassVar[Sections] = {**_CASE, "asked": "", "argument": "Fact checker: ", "criticism": "Critic: "}

    argument: str
    criticism: str
    asked: str  # the label that the first question asked about; in the authors' program not always the stance

    def input_text(self) -> str:
        return lines(
            super().input_text(),
            "Play the part of the fact checker: point out the mistakes in what the critic says, and state your view"
            " once more.",
        )

    def template_vars(self) -> dict[str, str]:
        return super().template_vars() | {
            "asked": why(self.claim, self.asked),
            "argument": wrap_untrusted(self.argument),
            "criticism": wrap_untrusted(self.criticism),
        }


class Thread(Frozen):
    """What was said for a stance, against it, and in its defence."""

    stance: str
    argument: str
    criticism: str
    rebuttal: str


class JudgeStances(_OnEvidence, AnswerClaim):
    """Which stance is right, after both threads."""

    sections: ClassVar[Sections] = {**_CASE, "labels": None, "threads": ""}
    own_prompt: ClassVar[bool] = True

    threads: tuple[Thread, ...] = ()

    hardened_rules: ClassVar[str] = lines(
        "You judge a debate about a claim. Read the evidence yourself: the arguments of both sides are opinions to"
        " check against it. Do not count arguments.",
        STYLE_IS_NO_EVIDENCE,
    )
    output_format: ClassVar[str] = "Give your final answer, the label alone and in bold, on the last line only."
    layout: ClassVar[Layout] = FORMAT_LAST

    @property
    def defines_labels(self) -> bool:
        """The question does, in both profiles."""
        return True

    def input_text(self) -> str:
        return lines(super().input_text(), f"You have heard both sides. {label_question(self.claim.labels)}")

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

    def template_vars(self) -> dict[str, str]:
        return super().template_vars() | {"labels": label_question(self.claim.labels), "threads": self._threads()}


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""
