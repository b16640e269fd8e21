"""Markov-chain debate's prompt: an opinion on a claim with the severity of its error (Sun et al., arXiv 2406.03075)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_lines, documents
from redargue.tasks.base import Sections, Task, lines, max_length
from redargue.tasks.untrusted import wrap_untrusted

Part = Literal["judge", "trust", "skeptic", "leader"]
SEVERITIES = "0 no error, 1 minor, 2 moderate, 3 major, 4 severe, 5 fabricated"
ROLES: dict[Part, str] = {
    "judge": "You judge whether a claim is factual, from the evidence alone.",
    "trust": "You trust the claim: look for what in the evidence bears it out, and say where an objection goes too"
    " far.",
    "skeptic": "You doubt the claim: look for what in the evidence contradicts it or is missing, and question the last"
    " opinion.",
    "leader": "You lead the discussion: weigh both opinions against the evidence and decide.",
}


class Opinion(Frozen):
    """What an agent thinks of a claim."""

    opinion: str = Field(description="your reasoning, from the evidence", json_schema_extra=max_length(1_000))
    factuality: bool = Field(description="true if the claim is factual")
    severity: Literal[0, 1, 2, 3, 4, 5] = Field(description=f"of the claim's error: {SEVERITIES}")
    quotes: tuple[str, ...] = Field(default=(), description="what you rely on, copied word for word from the evidence")

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


class GiveOpinion(Task[Opinion]):
    """One agent's opinion in a state; it answers the last state's, or the first agent's, or both for the leader."""

    sections: ClassVar[Sections] = {"claim": None, "evidence": "Evidence: ", "others": "Opinions so far:\n"}

    claim: Claim
    part: Part
    passages: tuple[Passage, ...]
    others: tuple[Opinion, ...] = ()

    quote_source: ClassVar[str] = "the evidence"
    output_format: ClassVar[str] = (
        'Reply in JSON: {"opinion": "", "factuality": true, "severity": 0, "quotes": ["word for word"]}'
    )

    @property
    def instructions(self) -> str:
        return lines(ROLES[self.part], f"Say whether the claim is factual, and how grave its error is: {SEVERITIES}.")

    def input_text(self) -> str:
        return lines(claim_lines(self.claim), *self.section_texts())

    def template_vars(self) -> dict[str, str]:
        opinions = (
            f"{opinion.opinion} (factual: {str(opinion.factuality).lower()}, severity {opinion.severity})"
            for opinion in self.others
        )
        return {
            "claim": wrap_untrusted(self.claim.text, inline=True),
            "evidence": documents(self.passages, self.profile),
            "others": "\n".join(map(wrap_untrusted, opinions)),
        }
