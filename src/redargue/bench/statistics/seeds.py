"""The same method under several seeds: how many labels flip, and how far the runs agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redargue.bench.metrics.base import Figure, mean, same_length, undefined
from redargue.claims import Frozen
from redargue.errors import UsageError


class Stability(Frozen):
    """Agreement of runs; a non-answer is a category of its own.

    Attributes:
        runs: how many.
        flipped: share of items whose label is not the same in all runs.
        items: their places, from 0.
        agreement: share of pairs of runs that say the same, a mean over items.
        kappa: Fleiss' kappa: that agreement beyond what the labels' frequencies give by chance.
    """

    runs: int
    flipped: Figure
    items: tuple[int, ...]
    agreement: Figure
    kappa: Figure


def stability(runs: Sequence[Sequence[str | None]]) -> Stability:
    """Flips and agreement over runs.

    Args:
        runs: each run's predicted labels of the same items in the same order; at least two runs.

    Raises:
        UsageError: fewer than two runs, or runs of different length.
    """
    if len(runs) < 2:
        raise UsageError(f"{len(runs)} runs cannot be compared", hint="give at least two, of different seeds")
    n = same_length(**{f"run {at}": run for at, run in enumerate(runs, start=1)})
    k = len(runs)
    counts = [Counter(column) for column in zip(*runs, strict=True)]
    flipped = tuple(at for at, count in enumerate(counts) if len(count) > 1)
    pairs = [sum(each * (each - 1) for each in count.values()) / (k * (k - 1)) for count in counts]
    agreement = mean("agreement", pairs)
    totals = Counter(label for run in runs for label in run)
    chance = sum((total / (n * k)) ** 2 for total in totals.values())
    if agreement.value is None:
        kappa = undefined("fleiss-kappa", agreement.undefined)
    elif len(totals) == 1:
        kappa = undefined("fleiss-kappa", "all runs say one label for all items", n=n)
    else:
        kappa = Figure(name="fleiss-kappa", value=(agreement.value - chance) / (1 - chance), n=n)
    return Stability(
        runs=k,
        flipped=mean("flipped", (float(len(count) > 1) for count in counts)),
        items=flipped,
        agreement=agreement,
        kappa=kappa,
    )
