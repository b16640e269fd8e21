"""What two recorded systems would have cost and said as a cascade: the second only where the first is not sure.

No model is called: labels, confidences and costs are those of the records. Both systems have to have seen the same
claims, which are matched by their text; a label of the first counts as the second's label of the same meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from redargue.bench.compare import ComparedSystem, Comparison, Prediction
from redargue.bench.metrics.classification import correct_items
from redargue.bench.statistics.bootstrap import DRAWS, Interval, interval, macro_f1_interval
from redargue.claims import Frozen
from redargue.errors import UsageError

_THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99)


class Paired(Frozen):
    """One claim's recorded predictions; ``label`` is the first's, in the words of the second's label set."""

    claim: str
    gold: str
    label: str | None
    first: Prediction
    then: Prediction


class Rescored(Frozen):
    """A cascade of two recorded systems with one threshold; None never stops."""

    threshold: float | None
    claims: int
    kept: int  # claims that the first decides
    accuracy: Interval
    macro_f1: Interval
    calls: float  # per claim; as ``usd``, of the second only for the claims that reach it
    usd: float | None  # None if a price is unknown
    saved: float  # share of the second's calls that are not made, in [0, 1]


def row_of(comparison: Comparison, spec: str = "") -> ComparedSystem:
    """A system's row by its spec, or the only one; raises UsageError."""
    rows = {row.spec: row for row in comparison.rows}
    if not spec and len(rows) == 1:
        (spec,) = rows
    if spec not in rows:
        raise UsageError(f"no system {spec!r} in this bench", hint=f"systems: {', '.join(rows)}")
    return rows[spec]


def paired(
    first: Comparison, first_row: ComparedSystem, then: Comparison, then_row: ComparedSystem
) -> tuple[Paired, ...]:
    """The claims with a gold label that both systems have seen; raises UsageError if there are none."""
    answers = {claim.claim: said for claim, said in zip(first.claims, first_row.said, strict=True)}
    words = {said.meaning: said.label for said in then_row.said if said.label}
    pairs = []
    for claim, said in zip(then.claims, then_row.said, strict=True):
        answer = answers.get(claim.claim)
        if claim.gold is None or answer is None:
            continue
        label = words.get(answer.meaning) if answer.label else None
        pairs.append(Paired(claim=claim.claim, gold=claim.gold, label=label, first=answer, then=said))
    if not pairs:
        raise UsageError("the two benches have no claim in common", hint="run both on the same claims")
    return tuple(pairs)


def stops(pair: Paired, threshold: float | None) -> bool:
    """Whether the first decides: a label with enough confidence and a quotation that was found."""
    if threshold is None or pair.label is None or pair.first.confidence is None:
        return False
    return pair.first.confidence >= threshold and pair.first.quotes[0] > 0


def rescored(pairs: Sequence[Paired], threshold: float | None, *, draws: int = DRAWS) -> Rescored:
    """The cascade with one threshold; macro-F1 over the gold labels, a missing answer being wrong."""
    kept = [stops(pair, threshold) for pair in pairs]
    labels = [pair.label if keep else pair.then.label for pair, keep in zip(pairs, kept, strict=True)]
    gold = [pair.gold for pair in pairs]
    asked = [pair.then for pair, keep in zip(pairs, kept, strict=True) if not keep]
    every = sum(pair.then.calls for pair in pairs)
    prices = [usd for said in (*(pair.first for pair in pairs), *asked) if (usd := said.usd) is not None]
    names = sorted({*gold, *(label for label in labels if label)})
    return Rescored(
        threshold=threshold,
        claims=len(pairs),
        kept=sum(kept),
        accuracy=interval([float(right) for right in correct_items(gold, labels)], draws=draws),
        macro_f1=macro_f1_interval(gold, labels, labels=names, over=sorted(set(gold)), draws=draws),
        calls=(sum(pair.first.calls for pair in pairs) + sum(said.calls for said in asked)) / len(pairs),
        usd=sum(prices) / len(pairs) if len(prices) == len(pairs) + len(asked) else None,
        saved=1 - sum(said.calls for said in asked) / every if every else 0.0,
    )


def frontier(pairs: Sequence[Paired], *, draws: int = DRAWS) -> tuple[Rescored, ...]:
    """The second alone, then the cascade from strict to loose thresholds."""
    return tuple(rescored(pairs, threshold, draws=draws) for threshold in (None, *reversed(_THRESHOLDS)))
