"""CFMAD's prompts (Fang et al., arXiv 2406.11514)."""

from __future__ import annotations

from typing import Any, ClassVar

from redargue.claims import Claim, Frozen, Meaning
from redargue.evidence import Passage
from redargue.methods.baselines.evidence_prompts import label_question
from redargue.methods.dual_position.prompts import Argument
from redargue.tasks.answer import AnswerClaim, claim_lines, documents
from redargue.tasks.base import FORMAT_LAST, PromptPart, Task, lines
from redargue.tasks.untrusted import wrap_untrusted


def why(claim: Claim, stance: str) -> str:
    meaning = claim.labels.meaning(stance)
    if meaning is Meaning.OPTION:
        return f"Explain why option {stance} might be the answer to the question."
    truth = "true" if meaning is Meaning.SUPPORTED else "false"
    return f"Understand the evidence and the claim fully, and answer: why is the claim {truth}?"


class _OfAStance(Frozen):
    claim: Claim
    stance: str
    passages: tuple[Passage, ...] = ()


def _case(task: Any) -> str:
    case: str = task.with_claim(claim_lines(task.claim), f"Evidence: {documents(task.passages, task.profile)}")
    return case


def _case_vars(task: Any) -> dict[str, str]:
    return {
        "claim": claim_lines(task.claim).removeprefix("Claim: "),
        "evidence": documents(task.passages, task.profile),
    }


class _Speaker:
    """What the prompts of a thread share; a plain class without fields, so it goes first."""

    quotes_in_text: ClassVar[bool] = True

    def quote_source(self) -> str:
        return "the evidence"

    def parse_plain(self, text: str) -> Argument | None:
        plain = text.strip()
        return Argument(text=plain) if plain and not plain.startswith("{") else None


class ArgueStance(_Speaker, Task[Argument], _OfAStance):
    """Why the preset stance is right."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "evidence", "asked")

    def input_text(self) -> str:
        return lines(_case(self), why(self.claim, self.stance))

    def template_vars(self) -> dict[str, str]:
        return _case_vars(self) | {"asked": why(self.claim, self.stance)}


class CriticiseStance(_Speaker, Task[Argument], _OfAStance):
    """Why the argument for a stance may be wrong."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "evidence", "argument", "asked")

    argument: str

    def input_text(self) -> str:
        return lines(_case(self), f"Assistant: {wrap_untrusted(self.argument)}", self._asked())

    def _asked(self) -> str:
        opposite = {Meaning.SUPPORTED: "false", Meaning.REFUTED: "true"}
        truth = opposite.get(self.claim.labels.meaning(self.stance))
        if truth is None:
            return "The assistant's answer may be wrong. Persuade it that its answer may be wrong."
        return (
            f"The assistant's answer may be wrong. Persuade it, from the evidence, that the claim is in fact {truth}."
        )

    def template_vars(self) -> dict[str, str]:
        return _case_vars(self) | {"argument": wrap_untrusted(self.argument), "asked": self._asked()}


class RebutCritic(_Speaker, Task[Argument], _OfAStance):
    """The defence of a stance against its critic.

    Attributes:
        asked: the label whose reasons the first question asked for; the authors' program does not always use the
            stance.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "evidence", "asked", "argument", "criticism")

    argument: str
    criticism: str
    asked: str

    def input_text(self) -> str:
        return lines(
            _case(self),
            why(self.claim, self.asked),
            f"Fact checker: {wrap_untrusted(self.argument)}",
            f"Critic: {wrap_untrusted(self.criticism)}",
            "Play the part of the fact checker: point out the mistakes in what the critic says, and state your view"
            " once more.",
        )

    def template_vars(self) -> dict[str, str]:
        return _case_vars(self) | {
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


class JudgeStances(AnswerClaim):
    """Which stance is right, after both threads."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "threads")

    threads: tuple[Thread, ...] = ()

    def hardened_rules(self) -> str:
        return ""

    def quote_source(self) -> str:
        return "the evidence"

    def output_format(self) -> str:
        return "Give your final answer, the label alone and in bold, on the last line only."

    def input_text(self) -> str:
        return lines(_case(self), self._threads(), f"You have heard both sides. {label_question(self.claim.labels)}")

    def layout(self) -> tuple[PromptPart, ...]:
        return FORMAT_LAST

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
        return _case_vars(self) | {"labels": label_question(self.claim.labels), "threads": self._threads()}


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""

    def instructions(self) -> str:
        return lines("Think step by step.", super().instructions())
