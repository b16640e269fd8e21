"""What every method does with what its agents quoted and looked for."""

from __future__ import annotations

from collections.abc import Iterable

from redargue.claims import LabelSet, Meaning
from redargue.events import Event, EvidenceFound, EvidenceMissing
from redargue.evidence import Quote, Side


def side_of(labels: LabelSet, label: str | None) -> Side:
    """What the quotations of an answer with that label speak for."""
    if label is None or labels.free_text:
        return Side.CONTEXT
    return {Meaning.SUPPORTED: Side.FOR, Meaning.REFUTED: Side.AGAINST}.get(labels.meaning(label), Side.CONTEXT)


def distinct(quotes: list[Quote]) -> tuple[Quote, ...]:
    """Each span once, in a fixed order: found ones first, then by side and agent."""
    order = sorted(quotes, key=lambda q: (not q.found, q.side, q.agent == "judge", q.agent, q.passage, q.start, q.text))
    seen: dict[tuple[str, str], Quote] = {}
    for quote in order:  # two tools may cut the same sentence out of one document in two passages
        document = (quote.source.document if quote.source else "") or quote.passage
        seen.setdefault((document, quote.text), quote)
    return tuple(seen.values())


def gaps(events: Iterable[Event]) -> tuple[str, ...]:
    """What was searched for and not found, what was left out as not in time, and tools that failed, each once."""
    searches = [event for event in events if isinstance(event, EvidenceFound | EvidenceMissing)]
    found: dict[str, None] = {}
    # Agents search at once, some several things: in no order.
    for event in sorted(searches, key=lambda each: (each.round, each.agent, each.tool, each.query)):
        if isinstance(event, EvidenceMissing):
            found[f"{event.tool} failed for {event.query!r}: {event.why}"] = None
            continue
        if event.left_out:
            counts = ", ".join(f"{count} {why}" for why, count in event.left_out.items())
            found[f"{event.tool}, {event.query!r}: left out as not in time: {counts}"] = None
        if not event.passages:
            found[f"{event.tool} found nothing for {event.query!r}"] = None
    return tuple(found)
