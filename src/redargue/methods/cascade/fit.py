"""Thresholds of a cascade from labelled claims: for a target risk or loss with a guarantee, or for a mean cost.

The risk is the share of wrong labels among the claims that end before the last stage; the loss, the share of all claims
that get a wrong label before the last stage, which would have given the right one. Thresholds are tested one after
another, from strict to loose (Angelopoulos et al., "Learn then Test", arXiv 2110.01052): each null hypothesis, "the
risk (or loss) exceeds the target", has the exact binomial p-value, and the fallback procedure (Wiens and Dmitrienko,
2005) shares ``delta`` among them, so that the probability of choosing any threshold beyond the target is at most
``delta``. It holds if the claims that are checked are drawn as those of the fit were, and for the same models, prompts
and corpus; it says nothing about verdicts of the last stage.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.errors import UsageError, problem_of
from redargue.files import open_to_read
from redargue.runs.budget import Budget
from redargue.sanitize import counted

Threshold = Annotated[float, Field(ge=0, le=1)] | None
DELTA = 0.1
MOST_BYTES = 64_000_000
# From strict to loose, fixed before any claim is seen: the order of the tests must not depend on labels.
GRID = (
    *(0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8),
    *(0.77, 0.74, 0.71, 0.68, 0.65, 0.6, 0.55, 0.5),
)
STARTS = (0.96, 0.9, 0.8)  # each gets an equal share of ``delta``: where claims are few, a strict test cannot succeed


class StageRow(Frozen):
    """One stage of one labelled claim; costs are those of the claim up to and including this stage."""

    label: str | None
    right: bool
    score: float | None
    may_decide: bool
    calls: int
    tokens: int
    usd: float | None
    seconds: float


FitRow = tuple[StageRow, ...]


class Thresholds(Frozen):
    """Thresholds of all stages but the last, and what the labelled claims say about them.

    Attributes:
        early: labelled claims that end before the last stage, ``wrong`` of them with a wrong label.
        claims: all labelled claims.
        guarantee: in words.
    """

    thresholds: tuple[Threshold, ...]
    early: int
    wrong: int
    claims: int
    guarantee: str


class Fit(Frozen):
    """What each stage says about labelled claims, of which every stage was held.

    Attributes:
        backend: identity of the backend that held them.
        models: of roles that have their own.
        min_confidence: below which the last stage's verdict became not enough evidence.
        settings: of the cascade, on which what a stage says depends.
        sample: how the claims were drawn.
    """

    schema_version: Literal[1] = 1
    redargue: str
    backend: str
    stages: tuple[str, ...]
    debate: str
    models: dict[str, str] = Field(default_factory=dict)
    min_confidence: float = 0.0
    settings: dict[str, Any] = Field(default_factory=dict)
    sample: dict[str, Any]
    rows: tuple[FitRow, ...] = Field(min_length=1)

    @classmethod
    def read(cls, path: Path) -> Fit:
        """Raises UsageError for a file that is not one of ``redargue bench fit-cascade``, or is no regular file."""
        hint = "create it: redargue bench fit-cascade --dataset … --path … -o DIR"
        try:
            with open_to_read(path) as file:
                content = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:  # a path cannot have the character 0
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {str(path)!r}: {why}", where="fitted", hint=hint) from None
        if len(content) > MOST_BYTES:
            raise UsageError(f"{str(path)!r} has more than {MOST_BYTES:,} bytes", where="fitted", hint=hint)
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            what = f"{str(path)!r} is not a fitted cascade: {problem_of(error)}"
            raise UsageError(what, where="fitted", hint=hint) from None

    def least(self, target: float) -> int:
        """The fewest claims, all ended early and right, that keep a target risk; a fit with fewer cannot."""
        level = DELTA / max(1, len(self.stages) - 1) / len(STARTS)
        return math.ceil(math.log(level) / math.log1p(-target))

    def require(self, stages: Sequence[str], debate: str) -> None:
        """Raises UsageError if it was fitted for another cascade."""
        if (tuple(stages), debate) != (self.stages, self.debate):
            raise UsageError(
                f"the thresholds were fitted for {' -> '.join(self.stages)} with {self.debate}",
                where=f"{' -> '.join(stages)} with {debate}",
                hint="fit this cascade with redargue bench fit-cascade, or run that one",
            )

    def at_risk(self, target: float) -> Thresholds:
        """The loosest thresholds with an upper bound of the risk at ``target``, one stage after the other.

        The thresholds of stage k are tested with those chosen for the stages before and with no stop after; each of the
        combinations that might have been chosen has its share of ``delta``.
        """

        def p_value(tested: Sequence[Threshold]) -> float:
            early, wrong = early_stops(self.rows, tested)
            return binomial_tail(wrong, early, target) if early else 1.0

        chosen = self._loosest(p_value)
        words = (
            f"of the claims that end before the last stage, at most {target:.3g} get a wrong label, with probability"
            f" {1 - DELTA:.3g} over the {counted(len(self.rows), 'labelled claim')} of the fit, if claims are drawn as"
            " those were, with the same models, prompts and corpus"
            if early_stops(self.rows, chosen)[0]
            else f"no threshold keeps the risk at {target:.3g}: every claim goes to the last stage"
        )
        return self._thresholds(chosen, words)

    def at_loss(self, target: float) -> Thresholds:
        """The loosest thresholds with an upper bound of the loss at ``target``, as :meth:`at_risk` finds them."""
        chosen = self._loosest(lambda tested: binomial_tail(lost(self.rows, tested), len(self.rows), target))
        words = (
            f"at most {target:.3g} of all claims get a wrong label that the last stage would have had right, with"
            f" probability {1 - DELTA:.3g} over the {counted(len(self.rows), 'labelled claim')} of the fit, if claims"
            " are drawn as those were, with the same models, prompts and corpus"
            if early_stops(self.rows, chosen)[0]
            else f"no threshold keeps the loss at {target:.3g}: every claim goes to the last stage"
        )
        return self._thresholds(chosen, words)

    def _loosest(self, p_value: Callable[[Sequence[Threshold]], float]) -> list[Threshold]:
        stages = len(self.stages) - 1
        chosen: list[Threshold] = [None] * stages
        for stage in range(stages):
            share = DELTA / stages / len(STARTS) / (len(GRID) + 1) ** stage
            level = 0.0
            for value in GRID:
                level += share * (value in STARTS)
                if level and p_value((*chosen[:stage], value, *[None] * (stages - stage - 1))) <= level:
                    chosen[stage] = value
                else:
                    level = 0.0
        return chosen

    def within_budget(self, budget: str) -> Thresholds:
        """The thresholds with the most right labels among those whose mean cost is within the budget per claim.

        Raises:
            UsageError: a budget with several units, without prices, or below the cost of the first stage.
        """
        limits = Budget.parse(budget)
        given = limits.limits
        if "searches" in given:
            raise UsageError(f"{budget!r} counts searches", where="budget_per_claim", hint="give one in calls: 4calls")
        if len(given) > 1:
            raise UsageError(f"{budget!r} has several limits", where="budget_per_claim", hint="give one: 0.002usd")
        ((unit, limit),) = given.items()
        costs = [[getattr(stage, unit) for stage in row] for row in self.rows]
        if any(cost is None for row in costs for cost in row):
            hint = "give prices (--prices) and fit again, or a budget in calls or tokens"
            raise UsageError("the claims of the fit have no price", where="budget_per_claim", hint=hint)
        best: tuple[int, float, tuple[Threshold, ...]] | None = None
        for tested in itertools.product((*GRID, None), repeat=len(self.stages) - 1):
            ends = [stop_of(row, tested) for row in self.rows]
            mean = math.fsum(cost[end] for cost, end in zip(costs, ends, strict=True)) / len(ends)
            right = sum(row[end].right for row, end in zip(self.rows, ends, strict=True))
            if mean <= limit and (best is None or (right, -mean) > best[:2]):
                best = right, -mean, tested
        if best is None:
            raise UsageError(
                f"no threshold keeps the mean cost at {budget} per claim",
                where="budget_per_claim",
                hint="give a larger budget, or fewer stages: --set stages=reader+single-reader",
            )
        words = (
            f"mean cost {-best[1]:.4g} {unit} per claim and {best[0]} right labels on the"
            f" {counted(len(self.rows), 'labelled claim')} of the fit; no guarantee on the risk"
        )
        return self._thresholds(best[2], words)

    def _thresholds(self, thresholds: Sequence[Threshold], words: str) -> Thresholds:
        early, wrong = early_stops(self.rows, thresholds)
        return Thresholds(
            thresholds=tuple(thresholds), early=early, wrong=wrong, claims=len(self.rows), guarantee=words
        )


def stop_of(row: FitRow, thresholds: Sequence[Threshold]) -> int:
    """The index of the stage at which a claim ends."""
    for at, (stage, threshold) in enumerate(zip(row, thresholds, strict=False)):
        if threshold is not None and stage.may_decide and stage.score is not None and stage.score >= threshold:
            return at
    return len(row) - 1


def early_stops(rows: Sequence[FitRow], thresholds: Sequence[Threshold]) -> tuple[int, int]:
    """The claims that end before the last stage, and how many of them get a wrong label."""
    ends = [(row, end) for row in rows if (end := stop_of(row, thresholds)) < len(row) - 1]
    return len(ends), sum(not row[end].right for row, end in ends)


def lost(rows: Sequence[FitRow], thresholds: Sequence[Threshold]) -> int:
    """The claims that end before the last stage with a wrong label, where the last stage has the right one."""
    return sum(row[-1].right and not row[stop_of(row, thresholds)].right for row in rows)


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """P(X <= successes) for X ~ Bin(trials, probability), 0 < probability < 1: the p-value of "it is more probable"."""
    log, log_not = math.log(probability), math.log1p(-probability)
    terms = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * log + (trials - k) * log_not
        for k in range(successes + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))
