"""Answering a claim from what a model knows: no document is shown (closed-book).

No task here is an ``AnswerClaim``: a mind that reads documents and knows nothing must not be taken to play it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.tasks.answer import LabelledTask, Piece, claim_lines
from redargue.tasks.base import FORMAT_LAST, PromptPart, Task, lines, max_length

WHEN = {
    Meaning.SUPPORTED: "If the claim is correct",
    Meaning.REFUTED: "If the claim is incorrect",
    Meaning.NOT_ENOUGH: "If nothing you know settles the claim",
    Meaning.CONFLICTING: "If what you know contradicts itself, or the claim leaves out what matters",
    Meaning.OPTION: "If this option is right",
}
DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.OPTION)


class AnswerClosedBook(LabelledTask):
    """An answer in the words of a reader of documents, without the documents: reasons first, the label last.

    Attributes:
        must_answer: whether only labels that decide the claim are offered (FIRE's last prompt takes nothing else).
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels")
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    must_answer: bool = False

    def instructions(self) -> str:
        """What is asked."""
        return self._asked()

    def _asked(self) -> str:
        return lines("Check the claim from what you know. You have no documents.", self._must())

    def _must(self) -> str | None:
        return "You must decide, also where you are not sure." if self.must_answer else None

    def output_format(self) -> str:
        """The labels; explanation first, label on the last line."""
        if self.claim.labels.free_text:
            return "Explain first, then give your answer on the last line."
        last = f"Your final answer ({self._every()}) must stand on the last line only, after your reasoning."
        return lines(*self._rules("first explain why, then output"), last)

    def input_text(self) -> str:
        """The claim."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """The claim and its labels."""
        return {"claim": self.input_text().removeprefix("Claim: "), "labels": self._every()}

    def choice(self) -> dict[str, str]:
        """The labels, or those that decide the claim."""
        return {name: WHEN[self.claim.labels.meaning(name)].removeprefix("If ") for name in self._names()}

    def chosen(self, word: str) -> str | None:
        """One of those that are offered."""
        return self._allowed(super().chosen(word))

    def label_of(self, text: str) -> str | None:
        """One of those that are offered."""
        return self._allowed(super().label_of(text))

    def _allowed(self, label: str | None) -> str | None:
        return label if self.claim.labels.free_text or label in self._names() else None

    def _names(self) -> tuple[str, ...]:
        labels = self.claim.labels.labels
        decided = tuple(label.name for label in labels if label.meaning in DECIDED)
        return decided if self.must_answer and decided else self.claim.labels.names

    def _every(self) -> str:
        return ", ".join(f"**{name}**" for name in self._names())

    def _rules(self, then: str) -> list[str]:
        when = ((WHEN[self.claim.labels.meaning(name)], name) for name in self._names())
        return [f"{each}, {then} **{name}**." for each, name in when]


class SelfChecked(Frozen):
    """What a model finds of a claim by itself (FacTool's verdict without evidence).

    Attributes:
        reasoning: step by step.
        error: what is wrong in the claim; "None" or empty where nothing is.
        corrected_claim: likewise.
        factuality: whether the claim is factual.
    """

    reasoning: str = Field(description="your reasoning, step by step", json_schema_extra=max_length(1_000))
    error: str = Field(
        description="the factual error in the claim; None if it has none", json_schema_extra=max_length(400)
    )
    corrected_claim: str = Field(
        description="the claim without its error; None if it has none", json_schema_extra=max_length(400)
    )
    factuality: bool = Field(description="true if the claim is factual, false if not")

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, given: Any) -> Any:
        """A ``null`` where the word is asked for says the same."""
        if not isinstance(given, dict):
            return given
        return {name: "None" if value is None and name != "factuality" else value for name, value in given.items()}


class SelfCheck(Task[SelfChecked]):
    """Whether a claim is factual, from what the model knows (FacTool's baseline Self-Check).

    Attributes:
        claim: what is checked.
        demonstrations: claims with replies, before the claim; empty for none (0-shot).
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "demonstrations")

    claim: Claim
    demonstrations: str = ""

    def instructions(self) -> str:
        """What to look for."""
        return lines(
            "You are given a claim. Find out whether it holds a factual error, from what you know.",
            "Reason about it step by step before you decide.",
        )

    def output_format(self) -> str:
        """A dictionary of four keys, with what each holds; the examples after it."""
        return lines(
            "Reply with one JSON object of these four keys and with nothing else; begin with {.",
            '{"reasoning": "is the claim factual? think step by step",'
            ' "error": "None if the claim is factual, else its error",'
            ' "corrected_claim": "None if the claim is factual, else the claim put right",'
            ' "factuality": true if the claim is factual, else false}',
        )

    def worked_examples(self) -> str:
        return f"Examples:\n{self.demonstrations}\nNow the claim:" if self.demonstrations else ""

    def input_text(self) -> str:
        """The claim."""
        return claim_lines(self.claim)

    def layout(self) -> tuple[PromptPart, ...]:
        """As in FacTool: the examples follow the form of the reply; without examples the claim precedes it."""
        if self.demonstrations:
            return "instructions", "output_format", "worked_examples", "input_text"
        return FORMAT_LAST

    def template_vars(self) -> dict[str, str]:
        """The claim, and the examples."""
        return {"claim": self.input_text().removeprefix("Claim: "), "demonstrations": self.demonstrations}
