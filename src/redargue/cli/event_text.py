"""One event of a run as one line of plain words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from redargue.events import (
    Answered,
    CallFailed,
    ClaimStarted,
    Decomposed,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
    Judged,
    QueryWritten,
    Refereed,
    RoundEnded,
    RoundVoted,
    Scored,
    Spoke,
    Stepped,
)
from redargue.evidence import Passage, QuoteStatus
from redargue.sanitize import counted, printable

MARKS = {QuoteStatus.VERIFIED: "✓", QuoteStatus.REPAIRED: "≈", QuoteStatus.NOT_FOUND: "✗"}
NO_LABEL = "(no label)"

Turn: TypeAlias = QueryWritten | EvidenceFound | EvidenceMissing | Answered | Scored | Spoke | Refereed


def describe(event: Event) -> str:
    """The event in words; empty for one that a person does not need to see."""
    match event:
        case ClaimStarted():
            return f"claim: {printable(event.claim.text)}"
        case Decomposed():
            triplets = "; ".join(printable(triplet.line) for triplet in event.triplets)
            return f"{event.agent} decomposes the claim: {triplets}"
        case EvidenceRecalled() | EvidenceRemembered():
            return f"{event.agent} {memory_text(event)}"
        case RoundEnded():
            agreed = "agreement" if event.agreed else "no agreement"
            outcome = "accepted" if event.accepted else f"not accepted: {'; '.join(event.why)}"
            return f"round {event.round} ends: {agreed}; {outcome}"
        case RoundVoted():
            return f"round {event.round} ends: {event.winner}, with {event.consensus:.2f} of the confidence"
        case Judged():
            return f"the judge decides: {printable(event.label or NO_LABEL)}"
        case CallFailed():
            return f"{event.agent}, {event.task}: {printable(event.error.what)}"
        case Stepped():
            return f"step {event.round}, {event.agent} {step_text(event)}"
        case QueryWritten() | EvidenceFound() | EvidenceMissing() | Answered() | Scored() | Spoke() | Refereed():
            return f"round {event.round}, {event.agent} {_turn_text(event)}"
    return ""


def _turn_text(event: Turn) -> str:
    match event:
        case QueryWritten():
            return f"searches for: {printable(event.query)}{' (unchanged)' if event.kept else ''}"
        case EvidenceFound():
            return f"finds: {_titles(event.passages)}"
        case EvidenceMissing():
            return f"cannot search: {printable(event.why)}"
        case Answered():
            quotes = "".join(f"\n    {MARKS[quote.status]} “{printable(quote.text)[:200]}”" for quote in event.quotes)
            return f"answers: {printable(event.label or NO_LABEL)}{quotes}"
        case Scored():
            score = event.score
            value = f"undefined ({score.undefined})" if score.value is None else f"{score.value:.3f}"
            return f"scores: {score.metric} {value}"
        case Spoke():
            return f"says: {printable(event.text)[:300]}"
        case Refereed():
            if event.problem:
                return f"does not vote: {printable(event.problem)}"
            return f"votes: {event.vote} ({event.confidence:.2f})"


def memory_text(event: EvidenceRecalled | EvidenceRemembered) -> str:
    """What an agent took from the evidence memory, or stored there."""
    if isinstance(event, EvidenceRemembered):
        words, left_out = f"stores in the memory: {counted(len(event.passages), 'passage')}", event.dropped
    else:
        words = f"recalls: {_titles(item.passage for item in event.items)}"
        left_out = {"held back": event.held_back, **event.left_out}
    return words + "".join(f", {count} {printable(reason)}" for reason, count in left_out.items() if count)


def step_text(event: Stepped) -> str:
    """What an agent that acts in steps did."""
    if event.answer is not None:
        return f"answers: {printable(event.answer)}"
    if not event.tool:
        return printable(event.problem)
    thought = f"thinks: {printable(event.thought)[:200]}; " if event.thought else ""
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
    note = f" (not called: {event.problem})" if event.problem else ""
    return f"{thought}calls {printable(event.tool)}({printable(arguments)[:200]}){note}"


def _titles(passages: Iterable[Passage]) -> str:
    return "; ".join(printable(passage.title or passage.text)[:50] for passage in passages) or "nothing"
