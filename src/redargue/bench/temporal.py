"""As-of dates of claims, and counts of evidence published in time, later, or without a date.

The labels of a data set are those of its time; a live search also finds what came later (temporal drift: Tool-MAD,
journal, §V-C).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from redargue.bench.datasets.base import Example
from redargue.claims import Frozen, with_strict_as_of
from redargue.events import Event, EvidenceFound
from redargue.evidence import Timing

TIMINGS = (Timing.IN_TIME, Timing.LATER, Timing.UNDATED)


class EvidenceDates(Frozen):
    """Passages (in time, later, undated) that agents read, and that ``--strict-as-of`` left out."""

    read: tuple[int, int, int]
    left_out: tuple[int, int, int] = (0, 0, 0)


def apply_as_of(
    examples: Sequence[Example], sample: Mapping[str, Any], *, as_of: date | None = None, strict_as_of: bool = False
) -> tuple[tuple[Example, ...], dict[str, object]]:
    """The examples with an as-of date for claims that have none, and the sample with these options."""
    given = (example.claim for example in examples)
    claims = [claim if claim.as_of else claim.model_copy(update={"as_of": as_of}) for claim in given]
    if strict_as_of:
        claims = with_strict_as_of(claims)
    dated = {"as_of": as_of.isoformat()} if as_of else {}
    strict = {"only_in_time": True} if strict_as_of else {}
    pairs = zip(examples, claims, strict=True)
    return tuple(example.model_copy(update={"claim": claim}) for example, claim in pairs), {**sample, **dated, **strict}


def count_dates(events: Iterable[Event]) -> EvidenceDates | None:
    """Counts the passages of a recorded run; None if no claim has an as-of date."""
    read: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for event in events:
        if isinstance(event, EvidenceFound):
            read.update(passage.timing for passage in event.passages if passage.timing)
            left_out.update(event.left_out)
    if not read and not left_out:
        return None
    counts = {"read": read, "left_out": left_out}
    return EvidenceDates.model_validate({name: [count[at] for at in TIMINGS] for name, count in counts.items()})
