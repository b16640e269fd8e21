"""One event of a run as one line of plain words."""

from __future__ import annotations

from collections.abc import Iterable

from redargue import events, words
from redargue.claims import FREE_TEXT, LabelSet
from redargue.evidence import Passage, QuoteStatus
from redargue.sanitize import counted, printable

MARKS = {QuoteStatus.VERIFIED: "✓", QuoteStatus.REPAIRED: "≈", QuoteStatus.NOT_FOUND: "✗"}
NO_LABEL = "(no label)"


def describe(event: events.Event, labels: LabelSet = FREE_TEXT) -> str:
    """The event in words, for a terminal; empty for one that a person does not need to see.

    ``labels`` are those of the event's claim, which are then shown in plain words.
    """
    return printable(_described(event, labels))  # agents and tools have names from servers and folders, too


def _described(event: events.Event, labels: LabelSet) -> str:
    match event:
        case events.ClaimStarted():
            return f"claim: {printable(event.claim.text)}"
        case events.Decomposed():
            triplets = "; ".join(printable(triplet.line) for triplet in event.triplets)
            return f"{event.agent} decomposes the claim: {triplets}"
        case events.EvidenceRecalled() | events.EvidenceRemembered():
            return f"{event.agent} {memory_text(event)}"
        case events.StageEnded():
            ends = "stops" if event.stopped else "continues"
            outcome = f"{label_text(event.label, labels)}; {ends}: {'; '.join(event.why)}"
            return f"stage {event.number} of {event.of}, {event.stage}: {outcome}"
        case events.RoundEnded():
            agreed = "agreement" if event.agreed else "no agreement"
            outcome = "accepted" if event.accepted else f"not accepted: {'; '.join(event.why)}"
            saved = f"; {counted(event.not_held, 'further round')} not held: nothing changes" if event.not_held else ""
            return f"round {event.round} ends: {agreed}; {outcome}{saved}"
        case events.RoundVoted():
            return f"round {event.round} ends: {event.winner}, with {event.consensus:.2f} of the confidence"
        case events.Judged():
            return f"the judge decides: {label_text(event.label, labels)}"
        case events.CallFailed():
            return f"{event.agent}, {event.task}: {printable(event.error.what)}"
        case events.Stepped():
            return f"step {event.round}, {event.agent} {step_text(event, labels)}"
        case events.ClaimEnded():
            return ""
    text = _turn_text(event, labels)
    return f"round {event.round}, {event.agent} {text}" if text else ""


def label_text(label: str | None, labels: LabelSet) -> str:
    return printable(labels.plain(label)) if label else NO_LABEL


def _turn_text(event: events.Event, labels: LabelSet) -> str:
    match event:
        case events.QueryWritten():
            return f"searches for: {printable(event.query)}{' (unchanged)' if event.kept else ''}"
        case events.EvidenceFound():
            return f"finds: {_titles(event.passages)}"
        case events.EvidenceMissing():
            return f"cannot search: {printable(event.why)}"
        case events.Answered():
            quotes = "".join(f"\n    {MARKS[quote.status]} “{printable(quote.text)[:200]}”" for quote in event.quotes)
            return f"answers: {label_text(event.label, labels)}{quotes}"
        case events.TurnKept():
            return f"is not asked again, as nothing has changed: {label_text(event.label, labels)}"
        case events.Scored():
            score = event.score
            value = f"undefined ({score.undefined})" if score.value is None else f"{score.value:.3f}"
            return f"scores: {score.metric} {value}"
        case events.Spoke():
            return f"says: {printable(event.text)[:300]}"
        case events.Refereed():
            if event.problem:
                return f"does not vote: {printable(event.problem)}"
            return f"votes: {event.vote} ({event.confidence:.2f})"
    return ""


def memory_text(event: events.EvidenceRecalled | events.EvidenceRemembered) -> str:
    if isinstance(event, events.EvidenceRemembered):
        said, left_out = f"stores in the memory: {counted(len(event.passages), 'passage')}", event.dropped
    else:
        held_back = f", {event.held_back} held back" if event.held_back else ""
        said, left_out = f"recalls: {_titles(item.passage for item in event.items)}{held_back}", event.left_out
    return ", ".join(filter(None, (said, words.omissions(left_out))))


def step_text(event: events.Stepped, labels: LabelSet = FREE_TEXT) -> str:
    if event.answer is not None:
        return f"answers: {printable(labels.plain(event.answer))}"
    if not event.tool:
        return printable(event.problem)
    thought = f"thinks: {printable(event.thought)[:200]}; " if event.thought else ""
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
    note = f" (not called: {event.problem})" if event.problem else ""
    return f"{thought}calls {printable(event.tool)}({printable(arguments)[:200]}){note}"


def _titles(passages: Iterable[Passage]) -> str:
    return "; ".join(printable(passage.title or passage.text)[:50] for passage in passages) or "nothing"
