"""Values of metrics, and the arithmetic that they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized

from pydantic import model_validator

from redargue.claims import Frozen
from redargue.errors import UsageError

NO_ITEMS = "no items"


class MetricValue(Frozen):
    """A named value of ``n`` items with an optional interval; None with a reason in ``undefined``, never NaN."""

    name: str
    value: float | None
    undefined: str = ""
    n: int = 0
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _defined_or_explained(self) -> MetricValue:
        if (self.value is None) != bool(self.undefined):
            raise ValueError(f"{self.name}: a figure has a value or a reason, not {self.value} and {self.undefined!r}")
        return self


class OfficialScores(Frozen):
    """A data set's official score, first among ``figures``, and whether each of the ``items`` counts in it."""

    figures: tuple[MetricValue, ...]
    items: tuple[bool, ...]

    def __getitem__(self, name: str) -> MetricValue:
        return {figure.name: figure for figure in self.figures}[name]


def undefined(name: str, reason: str, *, n: int = 0) -> MetricValue:
    return MetricValue(name=name, value=None, undefined=reason, n=n)


def ratio(name: str, part: float, whole: float, *, n: int | None = None, empty: str = NO_ITEMS) -> MetricValue:
    """``part / whole`` of ``n`` items (default: the whole); undefined for the reason ``empty`` if the whole is 0."""
    count = round(whole) if n is None else n
    return MetricValue(name=name, value=part / whole, n=count) if whole else undefined(name, empty, n=count)


def mean(name: str, values: Iterable[float], *, empty: str = NO_ITEMS) -> MetricValue:
    """The mean, with an exact sum, so that it does not depend on the order."""
    values = list(values)
    return ratio(name, math.fsum(values), len(values), empty=empty)


def f1_score(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def same_length(**columns: Sized) -> int:
    """The common length of columns; refuses columns of different lengths."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        columns_by_length = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise UsageError(f"columns of different length: {columns_by_length}", hint="give one entry per item in each")
    return next(iter(lengths.values()))


def require_known_labels(labels: Sequence[str], *, among: Sequence[str], column: str) -> None:
    for row, label in enumerate(labels, start=1):
        if label not in among:
            hint = f"labels: {', '.join(among)}"
            raise UsageError(f"{label!r} is not a label", where=f"{column}, item {row}", hint=hint)
