"""ReConcile's prompts (Chen et al., 2309.13007)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen
from redargue.methods.baselines import evidence_prompts
from redargue.tasks.base import Task, lines, max_length, quotes_field
from redargue.tasks.untrusted import wrap_untrusted


class RecalledWithConfidence(Frozen):
    """An agent's label with its reasoning and stated confidence in [0, 1]; "90%" is 0.9."""

    reasoning: str = Field(description="your reasoning, step by step", json_schema_extra=max_length(1_000))
    answer: str = Field(description="your answer")
    confidence_level: float = Field(
        ge=0, le=1, allow_inf_nan=False, description="how likely your answer is right, from 0.0 to 1.0"
    )

    @field_validator("confidence_level", mode="before")
    @classmethod
    def _percent(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().endswith("%"):
            return float(value.strip().removesuffix("%")) / 100
        return value


class AnswerWithConfidence(RecalledWithConfidence):
    """An answer from documents."""

    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from the documents")


class Group(Frozen):
    """Agents of one opinion."""

    answer: str
    given: tuple[AnswerWithConfidence, ...]


class AnswerSurely(evidence_prompts.DebatePrompt, Task[AnswerWithConfidence]):
    """An agent's answer with its confidence."""

    claim: Claim
    groups: tuple[Group, ...] = ()
    samples: str = ""

    def requested_type(self) -> type[Frozen]:
        return RecalledWithConfidence

    def _groups(self) -> str:
        free = self.claim.labels.free_text  # then an answer is an agent's own text
        names = (wrap_untrusted(group.answer, inline=True) if free else group.answer for group in self.groups)
        shown = _solutions if self.profile == "paper" else _opinions
        return "\n".join(shown(name, group) for name, group in zip(names, self.groups, strict=True))

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        labels = self.claim.labels
        return {} if labels.free_text else {"answer": labels.names}

    def validate_answer(self, answer: AnswerWithConfidence) -> AnswerWithConfidence:
        return answer.model_copy(update={"answer": evidence_prompts.stated_label(answer.answer, self.claim.labels)})

    def template_vars(self) -> Mapping[str, object]:
        return {
            **self.topic_vars(),
            "names": ", ".join(self.claim.labels.names),
            "groups": self._groups(),
            "demonstrations": self.samples,
        }


class AnswerSurelyOnEvidence(evidence_prompts.OnEvidence, AnswerSurely):
    """The answer of an agent that sees evidence."""

    def requested_type(self) -> type[Frozen]:
        return AnswerWithConfidence


def _opinions(name: str, group: Group) -> str:
    count = len(group.given)
    return lines(
        f"{count} agent{'s' if count > 1 else ''} answered {name}:",
        *(
            f"Reasons, with confidence {reply.confidence_level:g}: {wrap_untrusted(reply.reasoning)}"
            for reply in group.given
        ),
    )


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
