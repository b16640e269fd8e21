"""Settings of Dual-Position Debate: the paper's, its ablations, what it leaves open (``docs/dual-position.md``)."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from redargue.methods.base import MethodSettings
from redargue.methods.dual_position.referees import EMPHASES, OutcomeRule, Vote
from redargue.methods.dual_position.tasks import OPPONENTS, STANCES, Position
from redargue.methods.dual_position.uncertainty import SAMPLES
from redargue.methods.setting_types import Word

QUERIES = 2 * len(STANCES)  # both teams have two
ROLES = ("gatherer", "analyst", "rebutter", "summariser")
_Transition = Literal["none", "true-skeptic", "true-trust", "always-skeptic", "always-trust"]
DUAL_POSITION_PROFILES: dict[str, dict[str, Any]] = {
    "paper": {"profile": "paper"},
    "hardened": {"tied": "not-enough", "transition": "none", "analysed_sentences": 2, "stop": "settled"}
    | {"speaking": "once", "after_concession": "none"},
}


class DualPositionSettings(MethodSettings):
    """Settings of ``dual-position``; the defaults are the paper's, the ablations are fields.

    Attributes:
        gatherers: off: no team has documents (Table 6).
        analysts: off: nobody checks the style of the text (Table 6).
        analysed_sentences: the least number of sentences, with the context's, of a claim whose style is checked.
        rebutters: off: the teams hand in summaries only (``D19``).
        summarisers: off: the rebuttal is the team's statement (Table 6).
        snippets: documents per claim, over both teams' queries, of which each gets a fourth, rounded up (``D12``).
        selected: passages of a team per round, nearest to the opponent's last statement (``D13``).
        uncertainty: how members' uncertainty is measured (``D6``): by the disagreement of samples, as in the paper, by
            log probabilities where the model gives them, or not at all. A lone member is compared with nobody, and not
            measured.
        samples: of each member's text, if they are compared.
        referees: factual, logical, rhetorical, or any name, which says what counts most for that referee.
        rule: confidence masses, or the paper's signed weights, by which the negative team cannot win (``D1``).
        min_rounds: before the debate may end; 0 is one referee's opinion of the claim alone (``D9``).
        consensus: share of confidence behind the winner that ends the debate (``D8``).
        stop: by consensus alone, or also, and before ``min_rounds``, once nothing is left to settle: a team concedes to
            the winner, both teams concede, or neither adds a quotation to those of earlier rounds.
        speaking: whether a rebutter and then a summariser write a team's statement, or one call does; a team without
            one of them has the other alone.
        after_concession: the referees who judge a round in which a team concedes: all, one, or none. With "none" the
            team that does not concede has won if a quotation of its own can carry its side; if both concede, the claim
            is left open, where its labels allow that (``tied``); else one referee judges.
        transition: who opens the round after a vote (``D9``): both teams concurrently, or one whose statement the other
            answers in the same round. ``true-skeptic`` (§4.1): after a vote for factual the negative team opens,
            otherwise the affirmative one. The first round is concurrent in any case (``D11``).
        tied: the outcome of a tie after the last round: not factual, as the paper's doubt has it, or the set's label
            for not enough evidence, where it has one (``D3``).
    """

    gatherers: bool = True
    analysts: bool = True
    rebutters: bool = True
    summarisers: bool = True
    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    analysed_sentences: int = Field(default=1, ge=1, le=50)
    snippets: int = Field(default=10, ge=1, le=100)
    selected: int = Field(default=5, ge=1, le=50)
    uncertainty: Literal["off", "agreement", "entropy", "token-sar"] = "agreement"
    samples: int = Field(default=SAMPLES, ge=2, le=10)
    referees: tuple[Word, ...] = Field(default=tuple(EMPHASES), min_length=1, max_length=15)
    rule: OutcomeRule = "mass"
    min_rounds: int = Field(default=2, ge=0, le=20)
    max_rounds: int = Field(default=4, ge=1, le=20)
    consensus: float = Field(default=0.6, ge=0, le=1)
    stop: Literal["consensus", "settled"] = "consensus"
    speaking: Literal["twice", "once"] = "twice"
    after_concession: Literal["all", "one", "none"] = "all"
    transition: _Transition = "true-skeptic"
    tied: Literal["not-factual", "not-enough"] = "not-factual"

    @model_validator(mode="after")
    def _rounds_fit(self) -> Self:
        if self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds={self.min_rounds} is above max_rounds={self.max_rounds}")
        if len(set(self.referees)) < len(self.referees):
            raise ValueError("two referees of one name")
        if not (self.rebutters or self.summarisers or self.analysts or self.gatherers):
            raise ValueError("a team without members says nothing")
        if self.gatherers and self.snippets < QUERIES:
            raise ValueError(f"snippets={self.snippets} is fewer than the {QUERIES} queries of both teams")
        return self

    @property
    def speaks_once(self) -> bool:
        """Whether one call writes a team's rebuttal and statement."""
        return self.speaking == "once" and self.rebutters and self.summarisers

    def opener(self, winner: Vote) -> Position | None:
        """Who opens the round after a vote; None: both teams speak concurrently."""
        factual = winner == "affirmative"
        openers: dict[_Transition, Position | None] = {
            "none": None,
            "always-skeptic": "negative",
            "always-trust": "affirmative",
            "true-skeptic": "negative" if factual else "affirmative",
            "true-trust": "affirmative" if factual else "negative",
        }
        return openers[self.transition]


def members(role: str) -> tuple[str, ...]:
    return tuple(member_name(position, role) for position in OPPONENTS)


def member_name(position: Position, role: str) -> str:
    """As in events and ``--model``: ``negative-rebutter``."""
    return f"{position}-{role}"


def referee_name(referee: str) -> str:
    return f"{referee}-referee"
