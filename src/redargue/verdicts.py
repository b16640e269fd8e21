"""What comes out: a verdict with its quotations, scores and cost."""

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
        calls: requests to a mind, retries and repairs included.
        embeddings: requests for vectors alone.
        searches: requests to evidence tools; a tool that asks nobody counts one a search.
        prompt_tokens: as the provider counts them; the embedded backend counts its models' tokens.
        completion_tokens: likewise.
        usd: None where a price is unknown or none applies.
        by_agent: calls of each agent.
        by_task: calls for each task.
        by_round: calls in each round; "0" for those outside of rounds.
        by_tool: searches with each tool.
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
    """The sums; in dollars only where every item has a price."""
    prices = [usage.usd for usage in usages if usage.usd is not None]
    tables = {
        name: dict(sum((Counter(getattr(usage, name)) for usage in usages), Counter()))
        for name in ("by_agent", "by_task", "by_round", "by_tool")
    }
    return Usage(
        calls=sum(usage.calls for usage in usages),
        embeddings=sum(usage.embeddings for usage in usages),
        searches=sum(usage.searches for usage in usages),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        usd=math.fsum(prices) if usages and len(prices) == len(usages) else None,
        **tables,
    )


class Metric(StrEnum):
    """A score that a debate gives an answer."""

    FAITHFULNESS = "faithfulness"
    RELEVANCE = "answer_relevance"
    CONSISTENCY = "consistency"


class Score(Frozen):
    """One score of one answer.

    Attributes:
        metric: what was measured.
        value: in [0, 1] (relevance: in [-1, 1], a mean of cosines); None where undefined, never NaN.
        undefined: why there is no value; empty where there is one.
        agent: whose answer.
        round: of which round, from 1; 0 for a mean over rounds.
        detail: what the value was computed from, as it reads.
    """

    metric: Metric
    value: float | None
    undefined: str = ""
    agent: str = ""
    round: int = 0
    detail: tuple[str, ...] = ()


class ErrorInfo(Frozen):
    """An error as data: it takes the place of a label, never the name of one."""

    type: str
    what: str
    where: str = ""
    hint: str = ""
    exit_code: int

    @classmethod
    def of(cls, error: RedargueError) -> ErrorInfo:
        """The error's fields."""
        return cls(
            type=type(error).__name__, what=error.what, where=error.where, hint=error.hint, exit_code=error.exit_code
        )


RENAMED_METHODS = {"one-reader": "single-reader"}  # the name in recordings of 0.1.0 → the name now
MethodName = Annotated[str, AfterValidator(lambda name: RENAMED_METHODS.get(name, name))]


class Verdict(Frozen):
    """The outcome for one claim.

    Attributes:
        claim: what was checked.
        label: of the claim's label set; None where no answer could be read (counted wrong) or an error ended the run.
        meaning: what the label says; None without a label.
        confidence: in [0, 1]; None because this method and model were not calibrated.
        decided_by: ``consensus`` of the debaters, the ``judge``, one ``reader``, the ``executor`` of steps or its
            ``forced`` answer after the last, the ``referees`` of two teams, the ``leader`` of a chain's last state,
            the ``moderator`` of a debate, its debaters' ``vote``, the ``summariser`` of one; None where an error ended
            the run.
        rounds: debate rounds held, or steps taken.
        round_labels: of each round, one a debater; empty where there were no rounds.
        reason: the deciding text, as the agent wrote it.
        quotes: found in the passages by code; those not found are kept, marked, and count for nothing.
        gaps: what was searched for and not found, sources that failed.
        scores: of every answer and round.
        usage: what it cost.
        method: registered name.
        profile: which published variant ran.
        backend: who played the roles.
        run: identifier of the run.
        error: what ended the run, if something did.
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
        """The found quotations that speak for one side."""
        return tuple(quote for quote in self.quotes if quote.side is side and quote.found)
