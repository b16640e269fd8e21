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
DISCUSSION = (
    "You take part in a discussion of whether a claim is factual. It is factual if the numbered evidence bears out"
    " every part of it, and not factual if the evidence contradicts at least one part. Where it does neither, say what"
    " is missing, take the likelier side, and quote nothing."
)
CHECK = "An opinion is no evidence: check what it says, and agree or differ for what the evidence shows."


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

    author: Part
    opinion: Opinion

    @property
    def text(self) -> str:
        said = self.opinion
        called = f"factual: {str(said.factuality).lower()}, severity {said.severity}"
        return f"{self.author} ({called}): {wrap_untrusted(said.opinion)}"


class GiveOpinion(Task[Opinion]):
    """One agent's opinion in a state; it answers the last state's, or the first agent's, or both for the leader."""

    sections: ClassVar[Sections] = {"claim": None, "evidence": "Evidence: ", "others": "Opinions so far:\n"}

    claim: Claim
    part: Part
    passages: tuple[Passage, ...]
    others: tuple[HeardOpinion, ...] = ()

    quote_source: ClassVar[str] = "the evidence"

    @property
    def output_format(self) -> str:
        return lines(
            'Reply in JSON: {"opinion": "", "factuality": true, "severity": 0, "quotes": ["word for word"]}',
            None if self.profile == "paper" else f'"severity" is that of the claim\'s error: {SEVERITIES}.',
        )

    @property
    def instructions(self) -> str:
        if self.profile == "paper":
            return lines(
                ROLES[self.part], f"Say whether the claim is factual, and how grave its error is: {SEVERITIES}."
            )
        return lines(DISCUSSION, ROLES[self.part], CHECK if self.others else None)

    def input_text(self) -> str:
        return lines(claim_lines(self.claim), *self.section_texts())

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": wrap_untrusted(self.claim.text, inline=True),
            "evidence": documents(self.passages, self.profile),
            "others": "\n".join(heard.text for heard in self.others),
        }
