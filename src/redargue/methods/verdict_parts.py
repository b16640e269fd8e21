"""The parts of a verdict that come from quotations and searches."""

from __future__ import annotations

from collections.abc import Iterable

from redargue.claims import LabelSet, Meaning
from redargue.events import Event, EvidenceFound, EvidenceMissing
from redargue.evidence import Quote, Side


def side_of(labels: LabelSet, label: str | None) -> Side:
    """The side that the quotations of an answer with that label are on."""
    if label is None or labels.free_text:
        return Side.CONTEXT
    return {Meaning.SUPPORTED: Side.FOR, Meaning.REFUTED: Side.AGAINST}.get(labels.meaning(label), Side.CONTEXT)


def distinct(quotes: list[Quote]) -> tuple[Quote, ...]:
    """The quotations without duplicate spans: found ones first, then by side and agent."""
    order = sorted(quotes, key=lambda q: (not q.found, q.side, q.agent == "judge", q.agent, q.passage, q.start, q.text))
    seen: dict[tuple[str, str], Quote] = {}
    for quote in order:  # two tools may return the same sentence of a document in different passages
        document = (quote.source.document if quote.source else "") or quote.passage
        seen.setdefault((document, quote.text), quote)
    return tuple(seen.values())


def gaps(events: Iterable[Event]) -> tuple[str, ...]:
    """Failed searches, searches without results, and results left out for their date, without duplicates."""
    searches = [event for event in events if isinstance(event, EvidenceFound | EvidenceMissing)]
    missing: list[str] = []
    # Concurrent searches are recorded in no fixed order.
    for event in sorted(searches, key=lambda search: (search.round, search.agent, search.tool, search.query)):
        if isinstance(event, EvidenceMissing):
            missing.append(f"{event.tool} failed for {event.query!r}: {event.why}")
            continue
        if event.left_out:
            counts = ", ".join(f"{count} {why}" for why, count in event.left_out.items())
            missing.append(f"{event.tool}, {event.query!r}: left out as not in time: {counts}")
        if not event.passages:
            missing.append(f"{event.tool} found nothing for {event.query!r}")
    return tuple(dict.fromkeys(missing))
