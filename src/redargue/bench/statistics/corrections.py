"""Correction for multiple tests."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.errors import UsageError


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's (1979) adjusted p-values, in the order given: reject where they are at most alpha.

    Raises:
        UsageError: a p-value outside [0, 1].
    """
    for at, value in enumerate(p_values, start=1):
        if not 0 <= value <= 1:  # NaN is not either
            raise UsageError(f"p-value {value!r} is not in [0, 1]", where=f"test {at}")
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[at] * (len(p_values) - rank)))
        adjusted[at] = least
    return tuple(adjusted)
