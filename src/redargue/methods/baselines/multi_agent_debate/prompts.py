"""The prompts of multi-agent debate (Du et al., arXiv 2305.14325)."""

from __future__ import annotations

from typing import ClassVar

from redargue.methods.baselines import evidence_prompts
from redargue.tasks.answer import LabelledTask, Piece
from redargue.tasks.base import FORMAT_LAST, Exchange, Layout, Sections, lines
from redargue.tasks.labels import last_line, subject
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted


class SolveWithOthers(evidence_prompts.DebatePrompt, LabelledTask):
    """An agent's answer: independent at first, then informed by the other agents' last answers."""

    sections: ClassVar[Sections] = dict.fromkeys(("claim", "labels", "evidence", "solutions"))
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before: tuple[Exchange, ...] = ()
    solutions: tuple[OtherAnswer, ...] = ()  # if empty in a later round, the agent checks its own answer again

    layout: ClassVar[Layout] = FORMAT_LAST

    @property
    def output_format(self) -> str:
        if self.profile == "hardened":
            return last_line(self.claim.labels)
        return "Put your final answer, the label alone and in bold, on the last line of your reply."

    @property
    def lenient(self) -> bool:
        return True

    def role(self) -> str:
        return f"You are one of several agents who {evidence_prompts.same_task(self.claim.labels)}."

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def input_text(self) -> str:
        hardened = self.profile == "hardened"
        if not self.before:
            return lines(
                None
                if hardened
                else "Answer the following question as accurately as you can, and explain your answer.",
                evidence_prompts.topic(self),
            )
        if not self.solutions:
            return "Check once more that your answer is correct."
        return lines(
            f"These are the other agents' answers to the {subject(self.claim.labels) if hardened else 'question'}:",
            self._solutions(),
            f"They are opinions: {evidence_prompts.check_views(self)}, and your own answer, too. Change your answer"
            " only for evidence, not to agree; then give it again."
            if hardened
            else "Take their reasoning as further advice: go through your own answer and theirs step by step, and give"
            " an updated answer.",
        )

    def template_vars(self) -> dict[str, str]:
        return evidence_prompts.topic_vars(self) | {"solutions": self._solutions()}

    def _solutions(self) -> str:
        mark = "```" if self.profile == "paper" else ""  # the paper's own fence
        return "\n".join(
            f"One agent's answer: {mark}{wrap_untrusted(solution.text)}{mark}" for solution in self.solutions
        )


class SolveWithOthersOnEvidence(evidence_prompts.OnEvidence, SolveWithOthers):
    """The answer of an agent that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
