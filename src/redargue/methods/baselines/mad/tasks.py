"""MAD's prompts: two sides before a moderator, and a judge who decides in two steps (Liang et al., 2305.19118).

Each speaker has its own chat: its questions and replies are sent again, word for word. As published nobody has
evidence; the tasks ``…OnEvidence`` show the same passages to all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.methods.baselines import evidence_prompts
from redargue.tasks.answer import LabelledTask, Piece
from redargue.tasks.base import Exchange, Task, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


class _Debated(Frozen):
    claim: Claim
    before: tuple[Exchange, ...] = ()


class DebateTurn(evidence_prompts.DebatePrompt, LabelledTask, _Debated):
    """What a side says: its first answer, the negative side's objection, or whether it agrees by now."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    opponent: str = ""

    @property
    def lenient(self) -> bool:
        return True

    def chat_history(self) -> tuple[Exchange, ...]:
        return self.before

    def template_vars(self) -> Mapping[str, object]:
        return {**self.topic_vars(), "before": bool(self.before), "opponent": wrap_untrusted(self.opponent)}


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

    def chat_history(self: Any) -> tuple[Exchange, ...]:
        before: tuple[Exchange, ...] = self.before
        return before

    def template_vars(self: Any) -> Mapping[str, object]:
        return {**self.topic_vars(), "before": bool(self.before)}


class _BothSides(_Moderator):
    def template_vars(self: Any) -> Mapping[str, object]:
        sides = {side: wrap_untrusted(getattr(self, side)) for side in ("affirmative", "negative")}
        return {**super().template_vars(), **sides}


class _Deciding(_Moderator):
    """A question whose answer may be a label."""

    def enum_fields(self: Any) -> dict[str, tuple[str, ...]]:
        labels = self.claim.labels
        return {} if labels.free_text else {"debate_answer": (*labels.names, "")}

    def validate_answer(self: Any, answer: Any) -> Any:
        text = answer.debate_answer.strip()
        return answer.model_copy(
            update={"debate_answer": text and evidence_prompts.stated_label(text, self.claim.labels)}
        )


class ModerateRound(_Deciding, _BothSides, Task[Ruling], _Debated):
    """The moderator's ruling at the end of a round."""

    number: int = Field(ge=1, le=10)
    affirmative: str
    negative: str

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), "round": ORDINALS[self.number - 1]}


class ModerateRoundOnEvidence(evidence_prompts.OnEvidence, ModerateRound):
    """The ruling of a moderator who sees evidence."""


class Candidates(Frozen):
    """The answers that are in question."""

    candidates: tuple[str, ...] = Field(description="each answer in question", json_schema_extra=list_bounds(6, 300))


class ListCandidates(_BothSides, Task[Candidates], _Debated):
    """The judge's first step: which answers there are."""

    affirmative: str
    negative: str

    def parse_plain(self, text: str) -> Candidates | None:
        candidates = tuple(line.strip() for line in text.splitlines() if line.strip())
        return Candidates(candidates=candidates) if candidates and not text.lstrip().startswith("{") else None


class ListCandidatesOnEvidence(evidence_prompts.OnEvidence, ListCandidates):
    """The first step of a judge who sees evidence."""


class DecideDebate(_Deciding, Task[Decision], _Debated):
    """The judge's second step, in the same chat: one of the candidates."""


class DecideDebateOnEvidence(evidence_prompts.OnEvidence, DecideDebate):
    """The second step of a judge who sees evidence."""
