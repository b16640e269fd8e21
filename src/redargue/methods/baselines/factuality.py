"""The last step of FacTool and Factcheck-GPT: a verifier rates the claim against the evidence and names the error."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.evidence import Passage
from redargue.methods.base import Method
from redargue.tasks.answer import Answer
from redargue.tasks.factuality import FactualityCheck
from redargue.verdicts import Verdict

VERIFIER = "verifier"


class FactualityMethod(Method):
    """A method that ends in a factuality check."""

    def label(self, factual: bool) -> str:
        """The claim's own label.

        Raises:
            UsageError: the label set lacks a label for correct claims, or one for incorrect claims.
        """
        correct, incorrect = self.two_sides()
        return correct if factual else incorrect

    def read(self, check: FactualityCheck) -> Answer:
        """The check as an answer: its reasoning, with the error and the correction where there are any."""
        notes = {"Error": check.error, "Correction": check.correction}
        lines = (f"{name}: {text}" for name, text in notes.items() if text and text.strip(" .").lower() != "none")
        text = "\n".join([check.reasoning, *lines])
        return Answer(text=text, label=self.label(check.factuality), quotes=check.quotes)

    def conclude(self, answer: Answer, passages: Sequence[Passage]) -> Verdict:
        self.answered(VERIFIER, answer, round_=1, passages=passages)
        return self.verdict(answer.label, reason=answer.text, decided_by="reader", rounds=1)
