"""Settings of Markov-chain debate."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from redargue.methods.base import MethodSettings
from redargue.methods.markov_debate.tasks import Role
from redargue.methods.setting_types import Word

MARKOV_QUERIES = 2
_Transition = Literal["true-skeptic", "true-trust", "always-skeptic", "always-trust"]
STATES: dict[str, tuple[Role, Role, Role]] = {
    "trust": ("trust", "skeptic", "leader"),
    "skeptic": ("skeptic", "trust", "leader"),
}
MARKOV_DEBATE_PROFILES: dict[str, dict[str, Any]] = {
    "paper": {"profile": "paper"},
    "hardened": {"unproven": "not-enough"},
}


class MarkovDebateSettings(MethodSettings):
    """Settings of ``markov-debate``; the defaults are the paper's, the ablations are fields.

    Attributes:
        snippets: documents per claim, of which each of the two queries gets half, rounded up.
        transition: the state that follows a judgement: the skeptic's after "factual" and the trusting one's after any
            other (the paper's), the reverse, or always the same.
        min_rounds: states after the first before the debate may end; 0: the first opinion is the answer.
        max_rounds: after which it ends; the paper gives no number.
        unproven: the outcome of an opinion without a quotation that was found: its own label, as in the paper, or the
            set's label for not enough evidence, where it has one (``D21``).
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    snippets: int = Field(default=10, ge=1, le=100)
    transition: _Transition = "true-skeptic"
    min_rounds: int = Field(default=2, ge=0, le=20)
    max_rounds: int = Field(default=4, ge=0, le=20)
    unproven: Literal["believed", "not-enough"] = "believed"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds={self.min_rounds} is above max_rounds={self.max_rounds}")
        if self.snippets < MARKOV_QUERIES:
            raise ValueError(f"snippets={self.snippets} is fewer than the {MARKOV_QUERIES} queries")
        return self

    def state(self, factual: bool) -> tuple[Role, Role, Role]:
        doubted = {"true-skeptic": factual, "true-trust": not factual, "always-skeptic": True, "always-trust": False}
        return STATES["skeptic" if doubted[self.transition] else "trust"]
