"""Prompts of the referees: scores for both teams, a vote, a confidence (Dual-Position Debate, §3.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard

from pydantic import Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.methods.dual_position.tasks import STANCES, Position, Speech, evidence_of
from redargue.tasks.base import Profile, Task, max_length
from redargue.tasks.documents import claim_section, documents
from redargue.tasks.untrusted import wrap_untrusted

Vote = Literal["affirmative", "negative", "tie"]
SCORE_DIMENSIONS = ("evidence", "logic", "neutrality", "persuasiveness")
EMPHASES = {
    "factual": "You are the factual referee: how authentic and authoritative the evidence is counts most.",
    "logical": "You are the logical referee: the rigour between arguments and evidence counts most.",
    "rhetorical": "You are the rhetorical referee: neutral language and overall persuasiveness count most.",
}
TIE_BAND = 0.05  # of mean scores: closer ones are a tie where no vote was given (D4)


def _score(about: str) -> Any:
    return Field(ge=0, le=1, description=about)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Judgement(Frozen):
    """A referee's judgement; scores in [0, 1]. Percentages are converted; a score on another scale is refused.

    Attributes:
        vote: None where none was given: then the scores decide (``D4``).
        confidence: in [0, 1]; None where none was given: then the distance of the scores.
    """

    reason: str = Field(
        default="",
        description="which quotations decide, and why: at most three sentences",
        json_schema_extra=max_length(800),
    )
    affirmative_evidence: float = _score("how authentic and authoritative the affirmative team's evidence is")
    affirmative_logic: float = _score("how well its arguments follow from its evidence")
    affirmative_neutrality: float = _score("how free its language is of emotion and bias")
    affirmative_persuasiveness: float = _score("how clear, complete and persuasive it is")
    negative_evidence: float = _score("how authentic and authoritative the negative team's evidence is")
    negative_logic: float = _score("how well its arguments follow from its evidence")
    negative_neutrality: float = _score("how free its language is of emotion and bias")
    negative_persuasiveness: float = _score("how clear, complete and persuasive it is")
    vote: Vote | SkipJsonSchema[None] = Field(default=None, description="your vote")
    confidence: Annotated[float, Field(ge=0, le=1)] | SkipJsonSchema[None] = Field(
        default=None, description="how sure you are of the vote"
    )

    @field_validator(
        "confidence", *(f"{side}_{dimension}" for side in STANCES for dimension in SCORE_DIMENSIONS), mode="before"
    )
    @classmethod
    def _percent(cls, value: Any) -> Any:
        """Reads 90, 90 % and "90%" as 0.9; 9 may be of 10 or of 100, and is refused. A number is never clipped."""
        if isinstance(value, str) and (found := re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*", value)):
            if found[2]:
                return float(found[1]) / 100
            value = float(found[1])
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            if 1 < value <= 10:
                raise ValueError(f"{value:g} is not from 0 to 1: 0 is the worst, 1 the best")
            return value / 100 if 10 < value <= 100 else value
        return None if value == "" else value

    @model_validator(mode="before")
    @classmethod
    def _of_ten(cls, value: Any) -> Any:
        """Reads scores from 0 to 10, where every score says that they are: none is between 0 and 1."""
        if not isinstance(value, Mapping):
            return value
        names = [f"{side}_{dimension}" for side in STANCES for dimension in SCORE_DIMENSIONS]
        given = [value.get(name) for name in names]
        if not all(_is_number(score) and (score == 0 or 1 < score <= 10) for score in given) or not any(given):
            return value
        if _is_number(sure := value.get("confidence")) and 1 < sure <= 10:
            names.append("confidence")
        return {**value, **{name: value[name] / 10 for name in names}}

    @field_validator("vote", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """Reads names in any case, and the paper's +1, −1 and 0."""
        if value in ("", None):
            return None
        word = str(value).strip().lower().removesuffix(" team").removesuffix(" side")
        return {"+1": "affirmative", "1": "affirmative", "-1": "negative", "0": "tie"}.get(word, word)

    def scores(self, position: Position) -> dict[str, float]:
        return {dimension: getattr(self, f"{position}_{dimension}") for dimension in SCORE_DIMENSIONS}

    def mean(self, position: Position) -> float:
        return sum(self.scores(position).values()) / len(SCORE_DIMENSIONS)

    @property
    def difference(self) -> float:
        return self.mean("affirmative") - self.mean("negative")

    @property
    def voted(self) -> Vote:
        """The vote, or the one that the scores imply."""
        if self.vote is not None:
            return self.vote
        if abs(self.difference) <= TIE_BAND:
            return "tie"
        return "affirmative" if self.difference > 0 else "negative"

    @property
    def sure(self) -> float:
        """The confidence, or the distance of the scores; 0.5 where both are missing or zero."""
        return self.confidence if self.confidence is not None else min(1.0, abs(self.difference)) or 0.5


class JudgeTeams(Task[Judgement]):
    """One referee's judgement of the debate so far; of the teams' ``passages`` where nobody has spoken yet."""

    claim: Claim
    referee: str
    emphasis: str
    speeches: tuple[Speech, ...]
    passages: tuple[Passage, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim, self.profile),
            "emphasis": self.emphasis,
            "debate": self._debate(),
            "passages": bool(self.passages),
        }

    def _debate(self) -> str:
        if self.passages:
            return f"Nothing was said yet. Documents: {documents(self.passages, self.profile)}"
        shown: dict[str, int] = {}
        return "\n".join(_speech(speech, self.profile, shown) for speech in self.speeches) or "(nothing was said)"


def _speech(speech: Speech, profile: Profile, shown: dict[str, int]) -> str:
    argument = wrap_untrusted(speech.argument.text)
    return f"Round {speech.round}, {speech.position} team: {argument}\n{evidence_of(speech, profile, shown)}"


# Who won a debate, from the referees' votes and confidences (Dual-Position Debate, §3.3).

OutcomeRule = Literal["mass", "literal"]
VALUES: dict[Vote, int] = {"affirmative": 1, "negative": -1, "tie": 0}


class DebateOutcome(NamedTuple):
    """The outcome of a vote.

    Attributes:
        winner: a tie also where two outcomes have the same weight, or no referee has any confidence.
        consensus: share of all confidence that is behind the winner, in [0, 1]; 0 where there is no confidence (D3).
        masses: the sum of confidences behind each vote, M_o = Σ C_j · [V_j = o].
        weights: the paper's signed sums, W_o = Σ V_j · C_j · [V_j = o]; the negative one is at most 0.
    """

    winner: Vote
    consensus: float
    masses: dict[Vote, float]
    weights: dict[Vote, float]


def debate_outcome(votes: Sequence[tuple[Vote, float]], rule: OutcomeRule = "mass") -> DebateOutcome:
    """The outcome of a round, from each referee's vote and confidence in [0, 1].

    The paper takes the largest signed weight. That of a tie is always 0 and that of the negative team at most 0, so the
    negative team cannot win (D1): ``literal`` is that rule; ``mass``, the default, compares confidences.
    """
    masses = {vote: sum((confidence for cast, confidence in votes if cast == vote), 0.0) for vote in VALUES}
    weights = {vote: VALUES[vote] * mass for vote, mass in masses.items()}
    compared = masses if rule == "mass" else weights
    most = max(compared.values())
    leading = [vote for vote, value in compared.items() if abs(value - most) < 1e-12]
    winner: Vote = leading[0] if len(leading) == 1 and (most > 0 or rule == "literal") else "tie"
    whole = sum(masses.values())
    return DebateOutcome(winner, masses[winner] / whole if whole else 0.0, masses, weights)
