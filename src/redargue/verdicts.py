"""Verdicts with their quotations, scores and cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import RedargueError
from redargue.evidence import Quote, Side


class Usage(Frozen):
    """What was spent; every request that was sent counts.

    Attributes:
        calls: model requests, including retries and repairs.
        embeddings: requests for vectors alone.
        searches: requests to evidence tools; a tool that sends no request counts as one per search.
        prompt_tokens: as the provider counts them; the embedded backend counts its models' tokens.
        usd: None where a price is unknown or none applies.
        by_agent: calls.
        by_task: calls.
        by_round: calls; "0" for those outside of rounds.
        by_tool: searches.
    """

    calls: int = 0
    embeddings: int = 0
    searches: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    by_agent: dict[str, int] = Field(default_factory=dict)
    by_task: dict[str, int] = Field(default_factory=dict)
    by_round: dict[str, int] = Field(default_factory=dict)
    by_tool: dict[str, int] = Field(default_factory=dict)


def total_usage(usages: Sequence[Usage]) -> Usage:
    """The sum; in dollars only where every item has a price."""
    prices = [usage.usd for usage in usages if usage.usd is not None]
    tables = {
        name: dict(sum((Counter(getattr(usage, name)) for usage in usages), Counter()))
        for name in ("by_agent", "by_task", "by_round", "by_tool")
    }
    counts = ("calls", "embeddings", "searches", "prompt_tokens", "completion_tokens")
    return Usage(
        **{name: sum(getattr(usage, name) for usage in usages) for name in counts},
        usd=math.fsum(prices) if usages and len(prices) == len(usages) else None,
        **tables,
    )


class Metric(StrEnum):
    """Scores of a debater's answer."""

    FAITHFULNESS = "faithfulness"
    RELEVANCE = "answer_relevance"
    CONSISTENCY = "consistency"


class Score(Frozen):
    """One score of one answer.

    Attributes:
        value: in [0, 1] (relevance: a mean of cosines, in [-1, 1]); None where undefined, never NaN.
        undefined: why there is no value; empty where there is one.
        round: from 1; 0 for a mean over rounds.
        detail: what the value was computed from, in words.
    """

    metric: Metric
    value: float | None
    undefined: str = ""
    agent: str = ""
    round: int = 0
    detail: tuple[str, ...] = ()


class ErrorInfo(Frozen):
    """An error as data; a verdict has it instead of a label."""

    type: str
    what: str
    where: str = ""
    hint: str = ""
    exit_code: int

    @classmethod
    def of(cls, error: RedargueError) -> ErrorInfo:
        return cls(
            type=type(error).__name__, what=error.what, where=error.where, hint=error.hint, exit_code=error.exit_code
        )


RENAMED_METHODS = {"one-reader": "single-reader"}  # the name in recordings of 0.1.0 → the name now
MethodName = Annotated[str, AfterValidator(lambda name: RENAMED_METHODS.get(name, name))]


class Verdict(Frozen):
    """The outcome for one claim.

    Attributes:
        label: of the claim's label set; None where no answer could be read (counted as wrong) or an error occurred.
        confidence: in [0, 1]; None where this method and model are not calibrated.
        decided_by: the role or procedure that decided, such as ``consensus``, ``judge`` or ``vote``; None after an
            error.
        rounds: debate rounds held, or steps taken.
        round_labels: per round, one label per debater.
        reason: the deciding text, as the agent wrote it.
        quotes: checked against the passages by code; those not found are kept and marked, and do not count.
        gaps: searches without results, and sources that failed.
        method: registered name.
        profile: name of the published variant.
        backend: registered name.
        run: identifier of the run.
        error: None unless an error ended the verification.
    """

    schema_version: Literal[1] = 1
    claim: Claim
    label: str | None
    meaning: Meaning | None = None
    confidence: float | None = None
    decided_by: str | None = None
    rounds: int = 0
    round_labels: tuple[tuple[str | None, ...], ...] = ()
    reason: str = ""
    quotes: tuple[Quote, ...] = ()
    gaps: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    usage: Usage = Usage()
    method: MethodName = ""
    profile: str = ""
    backend: str = ""
    run: str = ""
    error: ErrorInfo | None = None

    def side(self, side: Side) -> tuple[Quote, ...]:
        """The quotations for one side that were found."""
        return tuple(quote for quote in self.quotes if quote.side is side and quote.found)
