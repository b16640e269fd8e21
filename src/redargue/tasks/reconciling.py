"""An answer with its reasons and how sure the agent is of it, alone or after a look at all agents' answers (ReConcile).

Chen et al., "ReConcile: Round-Table Conference Improves Reasoning via Consensus among Diverse LLMs" (2309.13007).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.tasks.answer import STYLE_IS_NO_EVIDENCE, claim_lines
from redargue.tasks.base import FORMAT_LAST, PromptPart, Task, lines, list_bounds, max_length
from redargue.tasks.moderating import OnEvidence, evidence_line, label_question
from redargue.tasks.untrusted import wrap_untrusted


class AnswerWithConfidence(Frozen):
    """An agent's answer.

    Attributes:
        reasoning: why.
        answer: a label; empty where a mind without language finds nothing to answer from.
        confidence_level: how likely the agent holds it to be right, in [0, 1]; "90%" is 0.9.
        quotes: what it rests on, word for word; checked by code, never believed.
    """

    reasoning: str = Field(description="your reasoning, step by step", json_schema_extra=max_length(1_000))
    answer: str = Field(description="your answer")
    confidence_level: float = Field(
        ge=0, le=1, allow_inf_nan=False, description="how likely your answer is right, from 0.0 to 1.0"
    )
    quotes: tuple[str, ...] = Field(
        default=(),
        description="what you rely on, copied word for word from the evidence",
        json_schema_extra=list_bounds(6, 400),
    )

    @field_validator("confidence_level", mode="before")
    @classmethod
    def _percent(cls, given: Any) -> Any:
        """A text in per cent as a share."""
        if isinstance(given, str) and given.strip().endswith("%"):
            return float(given.strip().removesuffix("%")) / 100
        return given


class Group(Frozen):
    """Agents of one opinion.

    Attributes:
        answer: their label.
        given: their answers, one an agent.
    """

    answer: str
    given: tuple[AnswerWithConfidence, ...]


class AnswerSurely(Task[AnswerWithConfidence]):
    """An agent's answer with its confidence.

    Attributes:
        claim: what is checked.
        groups: all agents' last answers, those of most agents first; empty for an agent's first answer.
        samples: questions with explanations that convinced other agents, our own; may be empty.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "groups", "demonstrations")

    quotes_in_text: ClassVar[bool] = True

    claim: Claim
    groups: tuple[Group, ...] = ()
    samples: str = ""

    def instructions(self) -> str:
        """The samples; hardened: what counts."""
        return ""

    def hardened_rules(self) -> str:
        return STYLE_IS_NO_EVIDENCE

    def quote_source(self) -> str:
        return "the evidence" if isinstance(self, OnEvidence) else ""

    def worked_examples(self) -> str:
        return self.samples

    def output_format(self) -> str:
        """JSON, and nothing but a label in its answer."""
        names = ", ".join(self.claim.labels.names)
        return lines(
            'Reply in JSON, strictly: {"reasoning": "", "answer": "", "confidence_level": ""}',
            f'In the field "answer" give one of these and nothing else: {names}' if names else None,
        )

    def input_text(self) -> str:
        """Claim, evidence, question; then what all agents answered."""
        return lines(
            claim_lines(self.claim),
            evidence_line(self),
            label_question(self.claim.labels),
            "Answer with reasoning, step by step. Also say how sure you are of your answer, from 0.0 to 1.0.",
            self._discussed() if self.groups else None,
        )

    def layout(self) -> tuple[PromptPart, ...]:
        return FORMAT_LAST

    def _discussed(self) -> str:
        return lines(
            "Look carefully at these answers of the agents as further information, then give your own answer with your"
            " reasoning, step by step. Say clearly which view you agree or disagree with, and why.",
            self._groups(),
        )

    def _groups(self) -> str:
        free = self.claim.labels.free_text  # then an answer is an agent's own text
        names = (wrap_untrusted(each.answer, inline=True) if free else each.answer for each in self.groups)
        return "\n".join(_told(name, each) for name, each in zip(names, self.groups, strict=True))

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        """The labels."""
        labels = self.claim.labels
        return {} if labels.free_text else {"answer": labels.names}

    def validate_answer(self, answer: AnswerWithConfidence) -> AnswerWithConfidence:
        """The answer as a label."""
        label = self.claim.labels.single(answer.answer)
        if label is None:
            raise ValueError(f"{answer.answer[:60]!r} is none of the labels {', '.join(self.claim.labels.names)}")
        return answer.model_copy(update={"answer": label})

    def template_vars(self) -> dict[str, str]:
        """Claim, question, evidence, all agents' answers, samples."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": label_question(self.claim.labels),
            "evidence": (evidence_line(self) or "").removeprefix("Evidence: "),
            "groups": self._groups(),
            "demonstrations": self.samples,
        }


class AnswerSurelyOnEvidence(OnEvidence, AnswerSurely):
    """The answer of an agent that sees evidence."""


def _told(name: str, group: Group) -> str:
    """How many say so, and each one's reasons with its confidence."""
    count = len(group.given)
    who = "There is 1 agent that thinks" if count == 1 else f"There are {count} agents that think"
    return lines(
        f"{who} the answer is {name}.",
        *(
            "One agent's solution: "
            + wrap_untrusted(
                f"I think the answer is {each.answer} because {each.reasoning} My confidence level is"
                f" {each.confidence_level:g}."
            )
            for each in group.given
        ),
    )
