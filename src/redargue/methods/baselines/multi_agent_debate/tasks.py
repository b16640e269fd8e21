"""The prompts of multi-agent debate (Du et al., arXiv 2305.14325)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from redargue.methods.baselines import evidence_prompts
from redargue.tasks.answer import LabelledTask, Piece
from redargue.tasks.base import Exchange
from redargue.tasks.labels import label_names
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted


class SolveWithOthers(evidence_prompts.DebatePrompt, LabelledTask):
    """An agent's answer: independent at first, then informed by the other agents' last answers."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before: tuple[Exchange, ...] = ()
    solutions: tuple[OtherAnswer, ...] = ()  # if empty in a later round, the agent checks its own answer again

    @property
    def lenient(self) -> bool:
        return True

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def template_vars(self) -> Mapping[str, object]:
        return {
            **self.topic_vars(),
            "labels": label_names(self.claim.labels),
            "before": bool(self.before),
            "solutions": self._solutions(),
        }

    def _solutions(self) -> str:
        mark = "```" if self.profile == "paper" else ""  # the paper's own fence
        return "\n".join(
            f"One agent's answer: {mark}{wrap_untrusted(solution.text)}{mark}" for solution in self.solutions
        )


class SolveWithOthersOnEvidence(evidence_prompts.OnEvidence, SolveWithOthers):
    """The answer of an agent that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
