"""The prompts of multi-agent debate."""

from __future__ import annotations

from typing import ClassVar

from redargue.tasks.answering import AnswerClaim, LabelledTask, Piece, claim_lines
from redargue.tasks.base import Exchange, data, lines
from redargue.tasks.moderating import OnEvidence, evidence_line, hardened_rules, label_question
from redargue.tasks.querying import OtherAnswer

LAST_LINE = "Put your final answer, the label alone and in bold, on the last line of your reply."


class SolveWithOthers(LabelledTask):
    """An agent's answer: its own first, then one that takes the other agents' last answers as advice.

    Attributes:
        before: the agent's chat so far.
        solutions: what the other agents answered last; with none in a later round it checks its own once more.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "solutions")
    wanted: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before: tuple[Exchange, ...] = ()
    solutions: tuple[OtherAnswer, ...] = ()

    @property
    def lenient(self) -> bool:
        """The others read the whole reply, with or without a label."""
        return True

    def role(self) -> str:
        """Hardened only: what counts."""
        return hardened_rules(self.profile, quoting=isinstance(self, OnEvidence))

    def form(self) -> str:
        """The label on the last line."""
        return LAST_LINE

    def earlier(self) -> tuple[Exchange, ...]:
        """The agent's chat."""
        return self.before

    def material(self) -> str:
        """The claim with the question; later the others' answers, and what to do with them."""
        if not self.before:
            return lines(
                "Answer the following question as accurately as you can, and explain your answer.",
                claim_lines(self.claim, self.profile),
                evidence_line(self),
                label_question(self.claim.labels),
            )
        if not self.solutions:
            return "Check once more that your answer is correct."
        return lines(
            "These are the other agents' answers to the question:",
            self._solutions(),
            "Take their reasoning as further advice: go through your own answer and theirs step by step, and give an"
            " updated answer.",
        )

    def instruction(self) -> str:
        """The paper's order: how to reply stands last."""
        return lines(self.role(), self.material(), self.form())

    def slots(self) -> dict[str, str]:
        """Claim, question, evidence, the others' answers."""
        return {
            "claim": claim_lines(self.claim, self.profile).removeprefix("Claim: "),
            "labels": label_question(self.claim.labels),
            "evidence": (evidence_line(self) or "").removeprefix("Evidence: "),
            "solutions": self._solutions(),
        }

    def _solutions(self) -> str:
        """Each between fences, without its writer's name."""
        if self.profile == "paper":
            return "\n".join(f"One agent's answer: ```{each.text}```" for each in self.solutions)
        return "\n".join(f"One agent's answer: {data(each.text, self.profile)}" for each in self.solutions)


class SolveWithOthersOnEvidence(OnEvidence, SolveWithOthers, AnswerClaim):
    """The answer of an agent that sees evidence."""

    wanted: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
