"""Verdicts with their quotations, scores and cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import Field

from redargue.caveats import Caveat, Noted, Unchecked, UncheckedReason
from redargue.claims import Claim, Frozen, Meaning, detail
from redargue.errors import RedargueError
from redargue.evidence import Gap, GapKind, Quote, Side
from redargue.sanitize import counted, shortened


class Usage(Frozen):
    """What was spent; every request that was sent counts.

    Attributes:
        calls: model requests, including retries and repairs.
        embeddings: requests for vectors alone.
        searches: requests to evidence tools; a tool that sends no request counts as one per search.
        prompt_tokens: as the provider counts them; the embedded backend counts its models' tokens.
        cached_tokens: prompt tokens that the provider read from its prompt cache, as it counts them.
        usd: None where a price is unknown or none applies; a request whose cost the provider did not report counts
            what it can have cost at most, as in a budget.
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
    cached_tokens: int = 0
    usd: float | None = None
    by_agent: dict[str, int] = Field(default_factory=dict)
    by_task: dict[str, int] = Field(default_factory=dict)
    by_round: dict[str, int] = Field(default_factory=dict)
    by_tool: dict[str, int] = Field(default_factory=dict)

    def __repr__(self) -> str:
        usd = "" if self.usd is None else f", ${self.usd:.4f}"
        tokens = self.prompt_tokens + self.completion_tokens
        counts = counted(self.calls, "call"), counted(self.searches, "search", "searches"), counted(tokens, "token")
        return f"<Usage {', '.join(counts)}{usd}>"


def total_usage(usages: Sequence[Usage]) -> Usage:
    """The sum; in dollars only where every item has a price."""
    prices = [usage.usd for usage in usages if usage.usd is not None]
    tables = {
        name: dict(sum((Counter(getattr(usage, name)) for usage in usages), Counter()))
        for name in ("by_agent", "by_task", "by_round", "by_tool")
    }
    counts = ("calls", "embeddings", "searches", "prompt_tokens", "completion_tokens", "cached_tokens")
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


class Unsure(Frozen):
    """The label of a verdict before its confidence was compared with ``min_confidence``, in [0, 1]."""

    label: str
    min_confidence: float


class Verdict(Noted):
    """The outcome for one claim.

    Attributes:
        label: of the claim's label set; None where no answer could be read (counted as wrong) or an error occurred.
        confidence: in [0, 1], of ``label``, or of ``unsure.label`` if given; None where this method and model are not
            calibrated.
        unsure: the confidence is below the threshold of the run (``min_confidence``): ``label`` is the set's label for
            not enough evidence, or None where the set has none.
        decided_by: the role or procedure that decided, such as ``consensus``, ``judge`` or ``vote``; None after an
            error.
        rounds: debate rounds held, or steps taken.
        round_labels: per round, one label per debater.
        reason: the deciding text, as the agent wrote it.
        caveats: reservations about the label, such as a missing quotation or a single source.
        robust_to: how many of the independent sources that show the label, quoted or not, may be false, so that the
            others still outnumber those that show the opposite, and the bundled reader, which reads the passages
            without the strongest of them, does not find the opposite likelier; at most 3, and 0 where it
            decides nothing, or where fewer than two publishers were at hand.
        unchecked: why the claim was not checked (another language, failed searches); None if it was.
        quotes: checked against the passages by code; those not found are kept and marked, and do not count.
        gaps: searches that failed, or that lack results.
        method: registered name.
        profile: name of the published variant.
        backend: registered name.
        run: identifier of the run.
        error: None unless an error ended the verification.
    """

    schema_version: Literal[2] = 2
    claim: Claim
    label: str | None
    meaning: Meaning | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    unsure: Unsure | None = None
    decided_by: str | None = None
    rounds: int = 0
    round_labels: tuple[tuple[str | None, ...], ...] = ()
    reason: str = ""
    caveats: tuple[Caveat, ...] = ()
    robust_to: int = detail(0)
    unchecked: Unchecked | None = None
    quotes: tuple[Quote, ...] = ()
    gaps: tuple[Gap, ...] = ()
    scores: tuple[Score, ...] = ()
    usage: Usage = Usage()
    method: str = ""
    profile: str = ""
    backend: str = ""
    run: str = ""
    error: ErrorInfo | None = None

    @property
    def stopped(self) -> bool:
        """Whether the budget stopped the claim before there was a verdict."""
        return self.error is not None and self.error.type == "BudgetReached"

    @property
    def plain_label(self) -> str:
        """The outcome in plain words."""
        if self.error:
            return "Stopped by the budget" if self.stopped else f"Error ({self.error.type})"
        if self.unchecked:
            return "Not checked"
        words = self.claim.labels.plain(self.label) if self.label else "No answer"
        return words + (" (unsure)" if self.unsure else "")

    @property
    def shown_confidence(self) -> float | None:
        """The confidence to show, with two digits; None where the claim was not checked.

        None also for a claim that the embedded reader leaves open: it is open because neither side is sure enough, and
        the probability of "neither" says little.
        """
        is_open = self.meaning is Meaning.NOT_ENOUGH and not self.unsure and self.backend == "embedded"
        return None if self.confidence is None or self.unchecked or is_open else rounded_down(self.confidence)

    def __repr__(self) -> str:
        sure = "" if self.shown_confidence is None else f" ({self.shown_confidence:.2f})"
        return f"<Verdict {self.plain_label}{sure}: {shortened(self.claim.text)}>"

    @property
    def why_unchecked(self) -> Unchecked | None:
        """Why the claim counts as not checked: ``unchecked``, an error, or no label; None if it was checked."""
        if self.error:
            if self.stopped:
                return Unchecked(reason=UncheckedReason.BUDGET)
            return Unchecked(reason=UncheckedReason.ERROR, error=self.error.type)
        if self.unchecked or self.label is not None:
            return self.unchecked
        if self.unsure:
            return Unchecked(reason=UncheckedReason.UNSURE)
        return Unchecked(reason=UncheckedReason.NO_ANSWER, caveats=self.caveats)

    @property
    def failed_searches(self) -> tuple[Gap, ...]:
        return tuple(gap for gap in self.gaps if gap.kind is GapKind.FAILED)

    @property
    def empty_searches(self) -> tuple[Gap, ...]:
        """The gaps of searches that did not fail: they found nothing, or some results could not be used."""
        return tuple(gap for gap in self.gaps if gap.kind is not GapKind.FAILED)

    def side(self, side: Side | Literal["for", "against", "context"]) -> tuple[Quote, ...]:
        """The quotations for one side that were found; raises ValueError if there is no such side."""
        wanted = Side(side)
        return tuple(quote for quote in self.quotes if quote.side is wanted and quote.found)


def rounded_down(confidence: float) -> float:
    """A confidence with two digits, as it is shown: one below a threshold is never shown as that threshold."""
    return math.floor(round(confidence * 100, 9)) / 100


def apply_threshold(verdict: Verdict, min_confidence: float) -> Verdict:
    """The verdict, undecided if it decides the claim with less confidence; its label is kept in ``unsure``.

    A verdict without a confidence, or on a claim that was not checked, is not changed.
    """
    decided = verdict.label is not None and verdict.meaning in (Meaning.SUPPORTED, Meaning.REFUTED)
    if verdict.unchecked or not decided or verdict.confidence is None or verdict.confidence >= min_confidence:
        return verdict
    label = verdict.claim.labels.named(Meaning.NOT_ENOUGH)
    changes = {
        "label": label,
        "meaning": Meaning.NOT_ENOUGH if label else None,
        "robust_to": 0,
        "unsure": Unsure(label=str(verdict.label), min_confidence=min_confidence),
    }
    return verdict.model_copy(update=changes)
