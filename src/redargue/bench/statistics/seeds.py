"""Agreement of one method's runs with different seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redargue.bench.metrics.base import MetricValue, mean, same_length, undefined
from redargue.claims import Frozen
from redargue.errors import UsageError


class SeedAgreement(Frozen):
    """Agreement of runs; a non-answer is a separate category.

    Attributes:
        flipped: share of items whose label is not the same in all runs.
        items: their indices, from 0.
        agreement: share of pairs of runs that agree, a mean over items.
        kappa: Fleiss' kappa.
    """

    runs: int
    flipped: MetricValue
    items: tuple[int, ...]
    agreement: MetricValue
    kappa: MetricValue


def seed_agreement(runs: Sequence[Sequence[str | None]]) -> SeedAgreement:
    """Flips and agreement of at least two runs over the same items in the same order."""
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} runs cannot be compared", hint="give at least two, of different seeds")
    n = same_length(**{f"run {at}": run for at, run in enumerate(runs, start=1)})
    k = len(runs)
    counts = [Counter(column) for column in zip(*runs, strict=True)]
    flipped = tuple(at for at, count in enumerate(counts) if len(count) > 1)
    pairs = [sum(votes * (votes - 1) for votes in count.values()) / (k * (k - 1)) for count in counts]
    agreement = mean("agreement", pairs)
    totals = Counter(label for run in runs for label in run)
    chance = sum((total / (n * k)) ** 2 for total in totals.values())
    if agreement.value is None:
        kappa = undefined("fleiss-kappa", agreement.undefined)
    elif len(totals) == 1:
        kappa = undefined("fleiss-kappa", "all runs say one label for all items", n=n)
    else:
        kappa = MetricValue(name="fleiss-kappa", value=(agreement.value - chance) / (1 - chance), n=n)
    return SeedAgreement(
        runs=k,
        flipped=mean("flipped", (len(count) > 1 for count in counts)),
        items=flipped,
        agreement=agreement,
        kappa=kappa,
    )
