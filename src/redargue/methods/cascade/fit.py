"""Fits the thresholds of a cascade to labelled claims: for a target risk or loss with a guarantee, or for a mean cost.

The risk is the share of wrong labels among the claims that end before the last stage. The loss is the share of all
claims that end before the last stage with a wrong label, where the last stage gives the right one.

Thresholds are tested from strict to loose (Angelopoulos et al., "Learn then Test", arXiv 2110.01052). Each null
hypothesis, "the risk (or loss) exceeds the target", has the exact binomial p-value. The fallback procedure (Wiens and
Dmitrienko, 2005) divides ``delta`` among the hypotheses, so that the probability of choosing any threshold beyond the
target is at most ``delta``. This holds for claims drawn as those of the fit were, and for the same models, prompts and
corpus; it does not cover verdicts of the last stage.
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
_STARTS = (0.96, 0.9, 0.8)  # each gets an equal share of ``delta``: with few claims, a strict test cannot succeed


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
    """Thresholds of all stages but the last, and their outcome on the labelled claims.

    Attributes:
        early: labelled claims that end before the last stage, ``wrong`` of them with a wrong label.
        claims: all labelled claims.
        guarantee: what holds for these thresholds, as a sentence.
    """

    thresholds: tuple[Threshold, ...]
    early: int
    wrong: int
    claims: int
    guarantee: str


class Fit(Frozen):
    """The outcome of every stage on each labelled claim.

    Attributes:
        backend: identity of the backend that performed the stages.
        models: models of the roles that have their own, by role.
        min_confidence: verdicts of the last stage with a lower confidence became not enough evidence.
        settings: settings of the cascade on which the outcomes depend.
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
        """Reads a file of ``redargue bench fit-cascade``; raises UsageError for any other."""
        hint = "create it: redargue bench fit-cascade --dataset … --path … -o DIR"
        try:
            with open_to_read(path) as file:
                content = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:  # ValueError: the path contains NUL
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
        """The fewest claims with which a fit can keep a target risk, if all of them end early with the right label."""
        level = DELTA / max(1, len(self.stages) - 1) / len(_STARTS)
        return math.ceil(math.log(level) / math.log1p(-target))

    def require(self, stages: Sequence[str], debate: str) -> None:
        """Raises UsageError if this is the fit of another cascade."""
        if (tuple(stages), debate) != (self.stages, self.debate):
            raise UsageError(
                f"the thresholds were fitted for {' -> '.join(self.stages)} with {self.debate}",
                where=f"{' -> '.join(stages)} with {debate}",
                hint="fit this cascade with redargue bench fit-cascade, or run that one",
            )

    def at_risk(self, target: float) -> Thresholds:
        """The loosest thresholds that bound the risk by ``target``, chosen stage by stage.

        A stage's thresholds are tested with those chosen for the earlier stages and without stops at later ones. Each
        combination that the earlier stages might have chosen has its share of ``delta``.
        """

        def p_value(tested: Sequence[Threshold]) -> float:
            early, wrong = early_stops(self.rows, tested)
            return binomial_tail(wrong, early, target) if early else 1.0

        promise = f"of the claims that end before the last stage, at most {target:.3g} get a wrong label"
        return self._guaranteed(self._loosest(p_value), promise, f"the risk at {target:.3g}")

    def at_loss(self, target: float) -> Thresholds:
        """The loosest thresholds that bound the loss by ``target``, as :meth:`at_risk` finds them."""
        chosen = self._loosest(lambda tested: binomial_tail(lost(self.rows, tested), len(self.rows), target))
        promise = f"at most {target:.3g} of all claims get a wrong label that the last stage would have had right"
        return self._guaranteed(chosen, promise, f"the loss at {target:.3g}")

    def _guaranteed(self, chosen: Sequence[Threshold], promise: str, target: str) -> Thresholds:
        if not early_stops(self.rows, chosen)[0]:
            return self._thresholds(chosen, f"no threshold keeps {target}: every claim goes to the last stage")
        claims = counted(len(self.rows), "labelled claim")
        return self._thresholds(
            chosen,
            f"{promise}, with probability {1 - DELTA:.3g} over the {claims} of the fit, if claims are drawn as those"
            " were, with the same models, prompts and corpus",
        )

    def _loosest(self, p_value: Callable[[Sequence[Threshold]], float]) -> list[Threshold]:
        stages = len(self.stages) - 1
        chosen: list[Threshold] = [None] * stages
        for stage in range(stages):
            share = DELTA / stages / len(_STARTS) / (len(GRID) + 1) ** stage
            level = 0.0  # a rejected hypothesis passes its level on to the next
            for threshold in GRID:
                level += share * (threshold in _STARTS)
                if level and p_value((*chosen[:stage], threshold, *[None] * (stages - stage - 1))) <= level:
                    chosen[stage] = threshold
                else:
                    level = 0.0
        return chosen

    def within_budget(self, budget: str) -> Thresholds:
        """The thresholds with the most right labels among those whose mean cost is within the budget per claim.

        Raises:
            UsageError: a budget with several units, without prices, or below the cost of the first stage.
        """
        limits = Budget.parse(budget).limits
        if "searches" in limits:
            raise UsageError(f"{budget!r} counts searches", where="budget_per_claim", hint="give one in calls: 4calls")
        if len(limits) > 1:
            raise UsageError(f"{budget!r} has several limits", where="budget_per_claim", hint="give one: 0.002usd")
        ((unit, limit),) = limits.items()
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
        guarantee = (
            f"mean cost {-best[1]:.4g} {unit} per claim and {best[0]} right labels on the"
            f" {counted(len(self.rows), 'labelled claim')} of the fit; no guarantee on the risk"
        )
        return self._thresholds(best[2], guarantee)

    def _thresholds(self, thresholds: Sequence[Threshold], guarantee: str) -> Thresholds:
        early, wrong = early_stops(self.rows, thresholds)
        return Thresholds(
            thresholds=tuple(thresholds), early=early, wrong=wrong, claims=len(self.rows), guarantee=guarantee
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
    """P(X <= successes) for X ~ Bin(trials, probability), 0 < probability < 1: the p-value of a higher probability."""
    log, log_not = math.log(probability), math.log1p(-probability)
    terms = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * log + (trials - k) * log_not
        for k in range(successes + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))
