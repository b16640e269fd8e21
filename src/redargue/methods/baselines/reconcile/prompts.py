"""ReConcile's prompts (Chen et al., 2309.13007)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.methods.baselines import evidence_prompts
from redargue.tasks.base import FORMAT_LAST, Layout, Task, lines, max_length, quotes_field
from redargue.tasks.untrusted import wrap_untrusted


class AnswerWithConfidence(Frozen):
    """An agent's label with its reasoning and stated confidence in [0, 1]; "90%" is 0.9."""

    reasoning: str = Field(description="your reasoning, step by step", json_schema_extra=max_length(1_000))
    answer: str = Field(description="your answer")
    confidence_level: float = Field(
        ge=0, le=1, allow_inf_nan=False, description="how likely your answer is right, from 0.0 to 1.0"
    )
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from the evidence")

    @field_validator("confidence_level", mode="before")
    @classmethod
    def _percent(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().endswith("%"):
            return float(value.strip().removesuffix("%")) / 100
        return value


class Group(Frozen):
    """Agents of one opinion."""

    answer: str
    given: tuple[AnswerWithConfidence, ...]


class AnswerSurely(evidence_prompts.DebatePrompt, Task[AnswerWithConfidence]):
    """An agent's answer with its confidence."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "groups", "demonstrations")

    quotes_in_text: ClassVar[bool] = True

    claim: Claim
    groups: tuple[Group, ...] = ()
    samples: str = ""

    layout: ClassVar[Layout] = FORMAT_LAST

    @property
    def worked_examples(self) -> str:
        return self.samples

    @property
    def output_format(self) -> str:
        names = ", ".join(self.claim.labels.names)
        return lines(
            'Reply in JSON, strictly: {"reasoning": "", "answer": "", "confidence_level": ""}',
            f'In the field "answer" give one of these and nothing else: {names}' if names else None,
        )

    def input_text(self) -> str:
        return lines(
            evidence_prompts.topic(self),
            "Answer with reasoning, step by step. Also say how sure you are of your answer, from 0.0 to 1.0.",
            "Look carefully at these answers of the agents as further information, then give your own answer with your"
            " reasoning, step by step. Say clearly which view you agree or disagree with, and why."
            if self.groups
            else None,
            self._groups(),
        )

    def _groups(self) -> str:
        free = self.claim.labels.free_text  # then an answer is an agent's own text
        names = (wrap_untrusted(group.answer, inline=True) if free else group.answer for group in self.groups)
        return "\n".join(_solutions(name, group) for name, group in zip(names, self.groups, strict=True))

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        labels = self.claim.labels
        return {} if labels.free_text else {"answer": labels.names}

    def validate_answer(self, answer: AnswerWithConfidence) -> AnswerWithConfidence:
        return answer.model_copy(update={"answer": evidence_prompts.label_in(answer.answer, self.claim.labels)})

    def template_vars(self) -> dict[str, str]:
        return evidence_prompts.topic_vars(self) | {"groups": self._groups(), "demonstrations": self.samples}


class AnswerSurelyOnEvidence(evidence_prompts.OnEvidence, AnswerSurely):
    """The answer of an agent that sees evidence."""


def _solutions(name: str, group: Group) -> str:
    count = len(group.given)
    who = "There is 1 agent that thinks" if count == 1 else f"There are {count} agents that think"
    return lines(
        f"{who} the answer is {name}.",
        *(
            "One agent's solution: "
            + wrap_untrusted(
                f"I think the answer is {reply.answer} because {reply.reasoning} My confidence level is"
                f" {reply.confidence_level:g}."
            )
            for reply in group.given
        ),
    )
