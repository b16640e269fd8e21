"""What every metric gives: a value or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized

from pydantic import model_validator

from redargue.claims import Frozen
from redargue.errors import UsageError

NO_ITEMS = "no items"


class Figure(Frozen):
    """One number of a table.

    Attributes:
        name: as a table's column says it, kebab-case.
        value: None where undefined, never NaN.
        undefined: why there is no value; empty where there is one.
        n: how many items it was computed from.
        low: lower bound of its interval; None where none was computed.
        high: upper bound.
    """

    name: str
    value: float | None
    undefined: str = ""
    n: int = 0
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _defined_or_explained(self) -> Figure:
        if (self.value is None) != bool(self.undefined):
            raise ValueError(f"{self.name}: a figure has a value or a reason, not {self.value} and {self.undefined!r}")
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{self.name}: {number} is no figure")
        return self


def undefined(name: str, reason: str, *, n: int = 0) -> Figure:
    """A figure without a value."""
    return Figure(name=name, value=None, undefined=reason, n=n)


def ratio(name: str, part: float, whole: float, *, n: int | None = None, empty: str = NO_ITEMS) -> Figure:
    """``part / whole``; undefined, because of ``empty``, where the whole is 0.

    Args:
        name: the figure's.
        part: the numerator.
        whole: the denominator.
        n: items; the whole where not given.
        empty: the reason where the whole is 0.
    """
    count = round(whole) if n is None else n
    return Figure(name=name, value=part / whole, n=count) if whole else undefined(name, empty, n=count)


def mean(name: str, values: Iterable[float], *, empty: str = NO_ITEMS) -> Figure:
    """The mean, summed without loss, so that it does not depend on the order."""
    given = list(values)
    return ratio(name, math.fsum(given), len(given), empty=empty)


def harmonic(precision: float, recall: float) -> float:
    """F1: the harmonic mean; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def same_length(**columns: Sized) -> int:
    """The common length of an item's columns.

    Raises:
        UsageError: they differ; says each column's length.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UsageError(f"columns of different length: {told}", hint="give one entry of each for every item")
    return next(iter(lengths.values()))


def known(labels: Sequence[str], *, among: Sequence[str], column: str) -> None:
    """Checks that labels are of a set.

    Raises:
        UsageError: one is not; says which, and where it stands.
    """
    for row, label in enumerate(labels, start=1):
        if label not in among:
            raise UsageError(
                f"{label!r} is not a label", where=f"{column}, item {row}", hint=f"labels: {', '.join(among)}"
            )
