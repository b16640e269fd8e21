"""MADKE's prompts."""

from __future__ import annotations

from typing import ClassVar

from redargue.tasks.answer import AnswerClaim, claim_lines
from redargue.tasks.base import lines
from redargue.tasks.selecting import STEPS, answers, bracketed, numbered
from redargue.tasks.untrusted import wrap_untrusted

DEBATER = (
    "You are an intelligent, diplomatic and assertive debater. You debate with other agents and try to reach a"
    " consensus on many topics. Where you are sure that your opinion is correct, keep to it; where you find a mistake"
    " in your reasoning, admit it at once and change your view. What counts is an informed, balanced debate."
)


class AnswerWithKnowledge(AnswerClaim):
    """An answer from the chosen evidence, from the second round on also from the others' and the own last answer.

    Attributes:
        own: what the agent answered in the last round; empty in the first.
        examples: of answers, our own; empty where the labels have none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "others", "own", "demonstrations")

    own: str = ""
    examples: str = ""

    @property
    def lenient(self) -> bool:
        """The others read the whole reply, with or without a label."""
        return True

    def system(self) -> str:
        """The persona."""
        return DEBATER

    def instructions(self) -> str:
        """What to do, and the examples."""
        return lines(
            self._wanted(),
        )

    def hardened_rules(self) -> str:
        return ""

    def quote_source(self) -> str:
        return "the evidence"

    def worked_examples(self) -> str:
        return f"Here are examples:\n{self.examples}\n(end of the examples)" if self.examples else ""

    def _wanted(self) -> str:
        if not self.own:
            return f"Decide whether the claim is correct. {STEPS}"
        return (
            "A few other agents have the same task; discuss it with them and think critically. With their answers or"
            " the evidence as advice you may change your answer, or keep it."
        )

    def output_format(self) -> str:
        """The labels in square brackets."""
        rules = "\n".join(
            f"If {each.description or 'this option is right'}, answer [{each.name}]."
            for each in self.claim.labels.labels
        )
        return lines(rules, "Put your answer in the form [answer], at the end.")

    def input_text(self) -> str:
        """Evidence, the others' answers, the own one, claim; hardened: the claim first."""
        return self.with_claim(
            claim_lines(self.claim),
            f"Evidence: {numbered(self.passages, self.profile)}" if self.passages else None,
            f"The other agents' answers:\n{answers(self.others)}" if self.others else None,
            f"Your last answer: {wrap_untrusted(self.own)}" if self.own else None,
        )

    def label_of(self, text: str) -> str | None:
        """The last one in square brackets."""
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        """Claim, labels, evidence, the others' answers, the own one, examples."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": ", ".join(f"[{name}]" for name in self.claim.labels.names),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }
