"""MAD's prompts: two sides before a moderator, and a judge who decides in two steps (Liang et al., 2305.19118).

Each speaker has its own chat: its questions and replies are sent again, word for word. As published nobody has
evidence; the tasks ``…OnEvidence`` show the same passages to all.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.methods.baselines import evidence_prompts
from redargue.tasks.answer import LabelledTask, Piece
from redargue.tasks.base import FORMAT_LAST, Exchange, Layout, Sections, Task, lines, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted

DEBATER = (
    "You are a debater. You need not agree with the other side: what both of you look for is the correct answer to the"
    " topic of the debate."
)


MODERATOR = (
    "You are the moderator of a debate between two debaters, who give their answers to a topic and discuss them. At the"
    " end of each round you evaluate the answers and decide which one is correct."
)


DISAGREE = "You disagree with that answer. Give your own answer, and your reasons."


AGREE = "Do you agree with that view? Give your reasons, and your answer."


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class _Debated(Frozen):
    claim: Claim
    before: tuple[Exchange, ...] = ()

    @property
    def topic_in_system(self: Any) -> bool:
        """As in the paper; hardened, untrusted text stays out of system messages."""
        return bool(self.profile == "paper")


class DebateTurn(evidence_prompts.DebatePrompt, LabelledTask, _Debated):
    """What a side says: its first answer, the negative side's objection, or whether it agrees by now."""

    sections: ClassVar[Sections] = dict.fromkeys(("claim", "labels", "evidence", "opponent", "asked"))
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    opponent: str = ""

    output_format: ClassVar[str] = ""

    @property
    def lenient(self) -> bool:
        return True

    @property
    def system(self) -> str:
        return lines(DEBATER, evidence_prompts.topic(self) if self.topic_in_system else None)

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def input_text(self) -> str:
        opens = not self.before and not (self.topic_in_system and self.opponent)
        return lines(
            evidence_prompts.topic(self) if opens else None,
            self._opponent(),
            self._asked(),
        )

    def _opponent(self) -> str | None:
        if not self.opponent:
            return None
        heading = "" if self.profile == "paper" else "The other side's answer: "
        return heading + wrap_untrusted(self.opponent)

    def _asked(self) -> str:
        if not self.opponent:
            return ""
        return AGREE if self.before else DISAGREE

    def template_vars(self) -> dict[str, str]:
        return evidence_prompts.topic_vars(self) | {"opponent": wrap_untrusted(self.opponent), "asked": self._asked()}


class DebateTurnOnEvidence(evidence_prompts.OnEvidence, DebateTurn):
    """What a side says that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")


class _PaperKeys(Frozen):
    @model_validator(mode="before")
    @classmethod
    def _as_fields(cls, data: Any) -> Any:
        """The paper's keys as fields: ``Whether there is a preference`` is ``preference``."""
        if not isinstance(data, dict):
            return data
        names = {re.sub(r"\W+", "_", str(name).strip().lower()): value for name, value in data.items()}
        if "whether_there_is_a_preference" in names:
            names["preference"] = names.pop("whether_there_is_a_preference")
        return names


class Decision(_PaperKeys):
    """A judge's decision."""

    reason: str = Field(description="why, in short", json_schema_extra=max_length(1_000))
    debate_answer: str = Field(description="the answer that is correct")


class Ruling(_PaperKeys):
    """A moderator's ruling; an answer ends the debate."""

    preference: bool = Field(description="whether there is a clear preference for an answer")
    supported_side: Literal["affirmative", "negative", ""] = Field(description="the side that you support, if any")
    reason: str = Field(description="why, in short", json_schema_extra=max_length(1_000))
    debate_answer: str = Field(description="the correct answer, which ends the debate; empty if it is to go on")

    @field_validator("supported_side", mode="before")
    @classmethod
    def _a_side_or_none(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        side = value.strip().lower().removesuffix(" side")
        return "" if side in ("none", "neither", "n/a") else side


class _Moderator(evidence_prompts.DebatePrompt):
    """The moderator, who is the judge in the end. A plain class without fields, so it goes first."""

    quote_source: ClassVar[str] = ""  # a ruling has no quotations

    @property
    def system(self: Any) -> str:
        return lines(MODERATOR, evidence_prompts.topic(self) if self.topic_in_system else None)

    def chat_history(self: Any) -> tuple[Exchange, ...]:
        before: tuple[Exchange, ...] = self.before
        return before

    def template_vars(self) -> dict[str, str]:
        return evidence_prompts.topic_vars(self)


class _BothSides(_Moderator):
    def sides(self: Any) -> str:
        return lines(
            f"Affirmative side: {wrap_untrusted(self.affirmative)}", f"Negative side: {wrap_untrusted(self.negative)}"
        )

    def template_vars(self: Any) -> dict[str, str]:
        sides = {side: wrap_untrusted(getattr(self, side)) for side in ("affirmative", "negative")}
        return evidence_prompts.topic_vars(self) | sides


class _Deciding(_Moderator):
    """A question whose answer may be a label."""

    layout: ClassVar[Layout] = FORMAT_LAST

    def enum_fields(self: Any) -> dict[str, tuple[str, ...]]:
        labels = self.claim.labels
        return {} if labels.free_text else {"debate_answer": (*labels.names, "")}

    def validate_answer(self: Any, answer: Any) -> Any:
        text = answer.debate_answer.strip()
        return answer.model_copy(update={"debate_answer": text and evidence_prompts.label_in(text, self.claim.labels)})


class ModerateRound(_Deciding, _BothSides, Task[Ruling], _Debated):
    """The moderator's ruling at the end of a round."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "round", "affirmative", "negative")

    number: int = Field(ge=1, le=10)
    affirmative: str
    negative: str

    output_format: ClassVar[str] = (
        'Reply in JSON: {"Whether there is a preference": "Yes or No", "Supported Side": "Affirmative or Negative",'
        ' "Reason": "", "debate_answer": ""}'
    )

    def input_text(self) -> str:
        return lines(
            None if self.topic_in_system or self.before else evidence_prompts.topic(self),
            f"The {ORDINALS[self.number - 1]} round of the debate has ended.",
            self.sides(),
            "Evaluate both answers, and say whether one of them is clearly better. If so, say which side you"
            " support and why, and give the answer that you think is correct: the debate then ends. If not, leave the"
            " answer empty: the debate goes on.",
        )

    def template_vars(self) -> dict[str, str]:
        return super().template_vars() | {"round": ORDINALS[self.number - 1]}


class ModerateRoundOnEvidence(evidence_prompts.OnEvidence, ModerateRound):
    """The ruling of a moderator who sees evidence."""


class Candidates(Frozen):
    """The answers that are in question."""

    candidates: tuple[str, ...] = Field(description="each answer in question", json_schema_extra=list_bounds(6, 300))


class ListCandidates(_BothSides, Task[Candidates], _Debated):
    """The judge's first step: which answers there are."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "affirmative", "negative")

    affirmative: str
    negative: str

    def input_text(self) -> str:
        return lines(
            None if self.topic_in_system else evidence_prompts.topic(self),
            self.sides(),
            "Which answers are in question now? Name them without reasons.",
        )

    def parse_plain(self, text: str) -> Candidates | None:
        candidates = tuple(line.strip() for line in text.splitlines() if line.strip())
        return Candidates(candidates=candidates) if candidates and not text.lstrip().startswith("{") else None


class ListCandidatesOnEvidence(evidence_prompts.OnEvidence, ListCandidates):
    """The first step of a judge who sees evidence."""


class DecideDebate(_Deciding, Task[Decision], _Debated):
    """The judge's second step, in the same chat: one of the candidates."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence")

    output_format: ClassVar[str] = 'Reply in JSON: {"Reason": "", "debate_answer": ""}'

    def input_text(self) -> str:
        if self.topic_in_system:
            question = evidence_prompts.topic(self)
        elif self.defines_labels and self.claim.labels.labels:
            question = ""
        else:
            question = evidence_prompts.label_question(self.claim.labels)
        asked = f"Therefore: {question}" if question else "Therefore, which of them is right?"
        return lines(asked, "Sum up your reasons, and give the answer that you think is correct.")


class DecideDebateOnEvidence(evidence_prompts.OnEvidence, DecideDebate):
    """The second step of a judge who sees evidence."""
