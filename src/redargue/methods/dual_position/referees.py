"""Referees score both teams and vote (Dual-Position Debate, §3.3), and models measure their own uncertainty (DebUnc).

An uncertainty (Yoffe et al., 2024) is at least 0, lower is surer: the mean entropy of the tokens, TokenSAR (Duan et
al., 2024) or, for a model without log probabilities, the disagreement of samples. Other agents receive it as a level
from 1 to 10 in their prompt, or as the weight of their attention.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple, TypeGuard

from pydantic import Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from redargue.backends import Output
from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.dual_position.tasks import STANCES, Position, Speech, evidence_of
from redargue.tasks.answer import Answer
from redargue.tasks.base import Out, Profile, Task, text_field
from redargue.tasks.score import CompareTexts, RateTexts
from redargue.tasks.sections import claim_section, documents
from redargue.tasks.untrusted import wrap_untrusted

Vote = Literal["affirmative", "negative", "tie"]
SCORE_DIMENSIONS = ("evidence", "logic", "neutrality", "persuasiveness")
_SCORES = tuple(f"{side}_{dimension}" for side in STANCES for dimension in SCORE_DIMENSIONS)
EMPHASES = {
    "factual": "You are the factual referee: how authentic and authoritative the evidence is counts most.",
    "logical": "You are the logical referee: the rigour between arguments and evidence counts most.",
    "rhetorical": "You are the rhetorical referee: neutral language and overall persuasiveness count most.",
}
_TIE_BAND = 0.05  # without a vote, mean scores that differ by no more are a tie (D4)


def _score(about: str) -> Any:
    return Field(ge=0, le=1, description=about)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Judgement(Frozen):
    """A referee's judgement; scores in [0, 1]. Percentages and scores out of 10 are converted; others are refused.

    Attributes:
        vote: None if none was given: the scores decide (D4).
        confidence: in [0, 1]; None if none was given: the difference of the scores counts.
    """

    reason: str = text_field("which quotations decide, and why: at most three sentences", 800, default="")
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

    @field_validator("confidence", *_SCORES, mode="before")
    @classmethod
    def _percent(cls, value: Any) -> Any:
        """Reads 90, 90 % and "90%" as 0.9; refuses 9, which may be out of 10 or 100. No number is clipped."""
        if isinstance(value, str) and (found := re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*", value)):
            if found[2]:
                return float(found[1]) / 100
            value = float(found[1])
        if isinstance(value, bool):
            raise ValueError(f"{value} is not a number from 0 to 1")
        if _is_number(value):
            if 1 < value <= 10:
                raise ValueError(f"{value:g} is not from 0 to 1: 0 is the worst, 1 the best")
            return value / 100 if 10 < value <= 100 else value
        return None if value == "" else value

    @model_validator(mode="before")
    @classmethod
    def _of_ten(cls, value: Any) -> Any:
        """Divides scores by 10 if they are clearly out of 10: each is 0 or above 1."""
        if not isinstance(value, Mapping):
            return value
        names = list(_SCORES)
        given = [value.get(name) for name in names]
        if not all(_is_number(score) and (score == 0 or 1 < score <= 10) for score in given) or not any(given):
            return value
        if _is_number(confidence := value.get("confidence")) and 1 < confidence <= 10:
            names.append("confidence")
        return {**value, **{name: value[name] / 10 for name in names}}

    @field_validator("vote", mode="before")
    @classmethod
    def _vote_name(cls, value: Any) -> Any:
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
        return round(self.mean("affirmative") - self.mean("negative"), 9)  # .8 - .75 is not above .05

    @property
    def effective_vote(self) -> Vote:
        """The vote, or the one that the scores imply."""
        if self.vote is not None:
            return self.vote
        if abs(self.difference) <= _TIE_BAND:
            return "tie"
        return "affirmative" if self.difference > 0 else "negative"

    @property
    def effective_confidence(self) -> float:
        """The confidence, or the difference of the scores; 0.5 if there is neither."""
        return self.confidence if self.confidence is not None else min(1.0, abs(self.difference)) or 0.5


class JudgeTeams(Task[Judgement]):
    """One referee's judgement of the debate so far, or of the teams' ``passages`` before the first speech."""

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
            "spoken": bool(self.speeches),
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


# The winner of a debate, from the referees' votes and confidences (Dual-Position Debate, §3.3).

OutcomeRule = Literal["mass", "literal"]
_VOTE_VALUES: dict[Vote, int] = {"affirmative": 1, "negative": -1, "tie": 0}


class DebateOutcome(NamedTuple):
    """The outcome of a vote.

    Attributes:
        winner: also a tie if two outcomes have the same weight, or no referee has any confidence.
        consensus: the winner's share of all confidence, in [0, 1]; 0 if there is no confidence (D3).
        masses: the sum of the confidences of each vote, M_o = Σ C_j · [V_j = o].
        weights: the paper's signed sums, W_o = Σ V_j · C_j · [V_j = o]; the negative one is at most 0.
    """

    winner: Vote
    consensus: float
    masses: dict[Vote, float]
    weights: dict[Vote, float]


def debate_outcome(votes: Sequence[tuple[Vote, float]], rule: OutcomeRule = "mass") -> DebateOutcome:
    """The outcome of a round, from each referee's vote and confidence in [0, 1].

    With ``literal``, the paper's rule, the largest signed weight wins. That of a tie is always 0 and that of the
    negative team at most 0, so the negative team cannot win (D1). ``mass``, the default, compares confidences.
    """
    masses = {vote: sum((confidence for cast, confidence in votes if cast == vote), 0.0) for vote in _VOTE_VALUES}
    weights = {vote: _VOTE_VALUES[vote] * mass for vote, mass in masses.items()}
    compared = masses if rule == "mass" else weights
    most = max(compared.values())
    leading = [vote for vote, value in compared.items() if abs(value - most) < 1e-12]
    winner: Vote = leading[0] if len(leading) == 1 and (most > 0 or rule == "literal") else "tie"
    whole = sum(masses.values())
    consensus = round(masses[winner] / whole, 9) if whole else 0.0  # .6 of 1 is not below .6
    return DebateOutcome(winner, consensus, masses, weights)


SAMPLES = 3
_TEMPERATURE = 1.0  # of samples, as in DebUnc
_LEAST_UNCERTAINTY = 1e-5  # smaller ones count as this one, because the confidence is 1/u

Measure = Literal["entropy", "token-sar", "agreement"]


async def with_uncertainty(
    agent: Agent, task: Task[Out], measure: Measure, *, samples: int = SAMPLES, round_: int = 0
) -> tuple[Out, float]:
    """An answer with its writer's uncertainty, 0 or more; values of different measures cannot be compared.

    Args:
        measure: ``agreement`` draws the samples in one request at temperature 1, as in DebUnc, and the first is the
            answer. ``entropy`` and ``token-sar`` need log probabilities of an answer at temperature 0; if the backend
            returns none, only further samples are drawn at 1, and their agreement is measured.
        samples: number of samples whose agreement is measured, at least 2.
    """
    if measure == "agreement":
        outputs = await agent.ask(task, n=samples, round_=round_, temperature=_TEMPERATURE)
        return outputs[0].answer, await _disagreement(agent, outputs, round_)
    (output,) = await agent.ask(task, round_=round_)
    value = output.entropy if measure == "entropy" else None
    if measure == "token-sar" and output.tokens:
        relevances = await token_relevances(agent, [token.text for token in output.tokens], round_)
        value = token_sar([token.logprob for token in output.tokens], relevances)
    if value is None:
        again = task.model_copy(update={"sample": task.sample + 1})
        further = await agent.ask(again, n=samples - 1, round_=round_, temperature=_TEMPERATURE)
        value = await _disagreement(agent, (output, *further), round_)
    return output.answer, value


async def _disagreement(agent: Agent, outputs: Sequence[Output[Out]], round_: int) -> float:
    """1 minus the mean agreement of all pairs of samples, in [0, 1].

    Two answers agree if both have the same label. The agreement of other texts is their cosine, at least 0. Requires at
    least two samples.
    """
    labels = [output.answer.label for output in outputs if isinstance(output.answer, Answer)]
    if len(labels) == len(outputs):
        alike = [float(left is not None and left == right) for left, right in combinations(labels, 2)]
    else:
        texts = tuple(output.text or output.answer.model_dump_json() for output in outputs)
        compared = (
            agent.perform(CompareTexts(reference=text, texts=texts[number:]), round_=round_)
            for number, text in enumerate(texts[:-1], 1)
        )
        alike = [max(0.0, value) for near in await gather_or_cancel(compared) for value in near.values]
    return round(1 - sum(alike) / len(alike), 9)


async def token_relevances(agent: Agent, tokens: Sequence[str], round_: int) -> tuple[float, ...]:
    """The relevance of each token: 1 minus the similarity of the text without it to the whole text, in [0, 1].

    The bundled cross-encoder compares the texts, not that of DebUnc (stsb-roberta-large, which reads 512 tokens). It
    reads 160 tokens; later ones have no relevance. A single token has the relevance 0.5.
    """
    if len(tokens) == 1:
        return (0.5,)
    without = tuple("".join([*tokens[:i], *tokens[i + 1 :]]) for i in range(len(tokens)))
    rated = await agent.perform(RateTexts(reference="".join(tokens), texts=without), round_=round_)
    return tuple(1 - value for value in rated.values)


def token_sar(logprobs: Sequence[float], relevances: Sequence[float]) -> float | None:
    """TokenSAR: the tokens' negative log probabilities (nats), weighted by relevance; None if no token is relevant."""
    total = sum(relevances)
    if total <= 0:
        return None
    return sum(-log * share for log, share in zip(logprobs, relevances, strict=True)) / total


def confidence_levels(uncertainties: Sequence[float]) -> tuple[int, ...]:
    """DebUnc's confidence levels of agents, from 1 to 10; equally uncertain agents get 5, whatever their number.

    The confidences, 1/u, are scaled to a fixed sum, 1/n is added, and the results are clipped and rounded. DebUnc's sum
    is 14, for three agents; 5n - 1 is the same for three, and keeps the mean at 5 for any number n.
    """
    confidences = attention_weights(uncertainties)
    count, total = len(confidences), sum(confidences)
    scaled = (confidence * (5 * count - 1) / total + 1 / count for confidence in confidences)
    return tuple(round(min(10.0, max(1.0, level))) for level in scaled)


def attention_weights(uncertainties: Sequence[float]) -> tuple[float, ...]:
    """The weights of attention to agents' texts: 1/u; only their ratios matter."""
    return tuple(1 / max(uncertainty, _LEAST_UNCERTAINTY) for uncertainty in uncertainties)
