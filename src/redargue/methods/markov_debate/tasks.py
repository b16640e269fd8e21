"""Markov-chain debate's prompt: an opinion on a claim with the severity of its error (Sun et al., arXiv 2406.03075)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_section, documents
from redargue.tasks.base import Task, max_length
from redargue.tasks.untrusted import wrap_untrusted

Role = Literal["judge", "trust", "skeptic", "leader"]
SEVERITIES = "0 no error, 1 minor, 2 moderate, 3 major, 4 severe, 5 fabricated"


class Opinion(Frozen):
    """What an agent thinks of a claim."""

    opinion: str = Field(description="your reasoning, from the evidence", json_schema_extra=max_length(1_000))
    factuality: bool = Field(description="whether the claim is factual")
    severity: Literal[0, 1, 2, 3, 4, 5] = Field(description=f"of the claim's error: {SEVERITIES}")
    quotes: tuple[str, ...] = Field(default=(), description="each quotation, word for word")

    @model_validator(mode="before")
    @classmethod
    def _accept_paper_name(cls, data: Any) -> Any:
        """Accepts ``Error severity``, the paper's name."""
        if not isinstance(data, dict):
            return data
        names = {"error severity": "severity", "error_severity": "severity"}
        return {names.get(str(name).strip().lower(), str(name).strip().lower()): value for name, value in data.items()}

    @field_validator("severity", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


class HeardOpinion(Frozen):
    """An opinion with its author, as another agent's prompt shows it."""

    author: Role
    opinion: Opinion

    @property
    def text(self) -> str:
        said = self.opinion
        called = f"factual: {str(said.factuality).lower()}, severity {said.severity}"
        return f"{self.author} ({called}): {wrap_untrusted(said.opinion)}"


class GiveOpinion(Task[Opinion]):
    """One agent's opinion in a state; it answers the last state's, or the first agent's, or both for the leader."""

    claim: Claim
    part: Role
    passages: tuple[Passage, ...]
    others: tuple[HeardOpinion, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim),
            "evidence": documents(self.passages, self.profile),
            "others": "\n".join(heard.text for heard in self.others),
            "severities": SEVERITIES,
            **{part: part == self.part for part in get_args(Role)},
        }
