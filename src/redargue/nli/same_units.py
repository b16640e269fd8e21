"""Writes a claim's measures as the evidence writes them, because the cross-encoder compares words and not values.

"24 months" beside "two years" becomes "two years", and "12 months" becomes "1 year". Only what the model reads changes;
the claim itself is shown and quoted as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from redargue.nli.quantities import UNIT_TOLERANCE, Quantity, base_units, quantities

CONVERTED = frozenset("time length area volume mass power energy data speed voltage".split())  # if the values differ
PARSED = 2000  # characters of evidence
_LEAD = re.compile(r"\A(?:[^\W\d_]+ )*(?=\d)", re.UNICODE)


def in_units_of(evidence: str, claim: str) -> str:
    """The claim, with measures in other units than the evidence's written in those.

    A measure whose value the evidence gives is written as it is there. Another one is converted if all measures of its
    kind in the evidence have one unit.
    """
    stated = [quantity for quantity in quantities(claim) if base_units(quantity.unit)]
    if not stated:
        return claim
    given = [quantity for quantity in quantities(evidence[:PARSED]) if base_units(quantity.unit)]
    for quantity in reversed(stated):
        same = [other for other in given if other.dimension == quantity.dimension]
        if text := _as_written(quantity, same):
            claim = claim[: quantity.start] + text + claim[quantity.end :]
    return claim


def _as_written(quantity: Quantity, given: Sequence[Quantity]) -> str | None:
    if any(other.unit == quantity.unit for other in given):
        return None
    if equal := next((other for other in given if _equal(quantity, other)), None):
        return equal.text
    units = {other.unit for other in given}
    return _converted(quantity, units.pop()) if len(units) == 1 and quantity.dimension in CONVERTED else None


def _equal(one: Quantity, other: Quantity) -> bool:
    """Whether two measures say the same: "at least a week" and "at least seven days"."""
    ends = ((one.low, other.low), (one.high, other.high))
    bounded = one.low != one.high
    if bounded and one.text.split()[0].casefold() != other.text.split()[0].casefold():
        return False
    return all(math.isclose(left, right, rel_tol=UNIT_TOLERANCE) for left, right in ends)


def _converted(quantity: Quantity, unit: str) -> str | None:
    """A single value in another unit, after the words that the text has before it ("at least")."""
    lead = _LEAD.match(quantity.text)
    bounds = {bound for bound in (quantity.low, quantity.high) if 0 < bound < math.inf}
    if lead is None or len(bounds) != 1:
        return None
    value = round(bounds.pop() / base_units(unit), 2)
    singular = unit.removesuffix("s") if len(unit) > 3 else unit
    return f"{lead.group()}{value:g} {singular if value == 1 or len(unit) < 4 else singular + 's'}"
