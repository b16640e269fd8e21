"""Claims of a data set judged as of a day, and what became of evidence that is later or says nowhere when it is from.

The labels of a data set are of the day on which they were given; a live search finds what came after it, too (temporal
drift: Tool-MAD, journal, §V-C).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from redargue.bench.datasets.base import Example
from redargue.claims import Frozen, with_strict_as_of
from redargue.events import Event, EvidenceFound

WHEN = ("in time", "later", "undated")


class Timing(Frozen):
    """Passages by when they were published, search by search.

    Attributes:
        read: how many the agents were given: in time, later, undated.
        left_out: how many of each were left out; none where evidence is only marked.
    """

    read: tuple[int, int, int]
    left_out: tuple[int, int, int] = (0, 0, 0)


def judged(
    examples: Sequence[Example], sample: Mapping[str, Any], *, as_of: date | None = None, strict_as_of: bool = False
) -> tuple[tuple[Example, ...], dict[str, Any]]:
    """The examples and their sample, with a day as of which claims that bring none along are judged.

    Args:
        examples: of a data set; a claim's own day (AVeriTeC, or a mapped column) is kept.
        sample: how they were taken, as JSON.
        as_of: the day.
        strict_as_of: leave out evidence that is later or undated.

    Raises:
        UsageError: evidence in time is wanted, and a claim has no day.
    """
    claims = [each.claim if each.claim.as_of else each.claim.model_copy(update={"as_of": as_of}) for each in examples]
    if strict_as_of:
        claims = with_strict_as_of(claims)
    dated = {"as_of": as_of.isoformat()} if as_of else {}
    strict = {"only_in_time": True} if strict_as_of else {}
    pairs = zip(examples, claims, strict=True)
    return tuple(each.model_copy(update={"claim": claim}) for each, claim in pairs), {**sample, **dated, **strict}


def counted(events: Iterable[Event]) -> Timing | None:
    """What a recorded run read and left out; None where no claim was judged as of a day."""
    read: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for event in events:
        if isinstance(event, EvidenceFound):
            read.update(passage.timing for passage in event.passages if passage.timing)
            left_out.update(event.left_out)
    if not read and not left_out:
        return None
    first, later, undated = WHEN
    return Timing(
        read=(read[first], read[later], read[undated]),
        left_out=(left_out[first], left_out[later], left_out[undated]),
    )
