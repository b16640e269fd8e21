"""One event of a run in one line of plain words."""

from __future__ import annotations

from functools import singledispatch

from redargue.cli.terminal import printable
from redargue.events import (
    Answered,
    CallFailed,
    ClaimStarted,
    Decomposed,
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
from redargue.evidence import QuoteStatus

MARKS = {QuoteStatus.VERIFIED: "✓", QuoteStatus.REPAIRED: "≈", QuoteStatus.NOT_FOUND: "✗"}


@singledispatch
def describe(event: object) -> str:
    """The event in words; empty for what a person need not see."""
    return ""


@describe.register
def _(event: ClaimStarted) -> str:
    return f"claim: {printable(event.claim.text)}"


@describe.register
def _(event: QueryWritten) -> str:
    return f"round {event.round}, {event.agent} asks: {printable(event.query)}{' (kept)' if event.kept else ''}"


@describe.register
def _(event: EvidenceFound) -> str:
    found = "; ".join(printable(each.title or each.text)[:50] for each in event.passages)
    return f"round {event.round}, {event.agent} finds: {found or 'nothing'}"


@describe.register
def _(event: EvidenceMissing) -> str:
    return f"round {event.round}, {event.agent} gets no answer: {printable(event.why)}"


@describe.register(EvidenceRecalled)
@describe.register(EvidenceRemembered)
def _(event: EvidenceRecalled | EvidenceRemembered) -> str:
    return f"{event.agent} {memory_line(event)}"


@describe.register
def _(event: Decomposed) -> str:
    return f"{event.agent} takes the claim apart: {'; '.join(printable(each.line) for each in event.triplets)}"


@describe.register
def _(event: Stepped) -> str:
    return f"step {event.round}, {event.agent} {stepped(event)}"


@describe.register
def _(event: Answered) -> str:
    quotes = "".join(f"\n    {MARKS[each.status]} “{printable(each.text)[:200]}”" for each in event.quotes)
    return f"round {event.round}, {event.agent} says: {printable(event.label or '(no label)')}{quotes}"


@describe.register
def _(event: Scored) -> str:
    score = event.score
    value = f"undefined ({score.undefined})" if score.value is None else f"{score.value:.3f}"
    return f"round {event.round}, {event.agent}: {score.metric} {value}"


@describe.register
def _(event: RoundEnded) -> str:
    how = "accepted" if event.accepted else "not accepted: " + "; ".join(event.why)
    return f"round {event.round} ends, {'agreed' if event.agreed else 'not agreed'}; {how}"


@describe.register
def _(event: Spoke) -> str:
    return f"round {event.round}, {event.agent} says: {printable(event.text)[:300]}"


@describe.register
def _(event: Refereed) -> str:
    if event.problem:
        return f"round {event.round}, {event.agent} gives no judgement: {printable(event.problem)}"
    return f"round {event.round}, {event.agent} votes: {event.vote} ({event.confidence:.2f})"


@describe.register
def _(event: RoundVoted) -> str:
    return f"round {event.round} ends: {event.winner}, with {event.consensus:.2f} of the confidence"


@describe.register
def _(event: Judged) -> str:
    return f"the judge says: {printable(event.label or '(no label)')}"


@describe.register
def _(event: CallFailed) -> str:
    return f"{event.agent}, {event.task}: {printable(event.error.what)}"


def memory_line(event: EvidenceRecalled | EvidenceRemembered) -> str:
    """What the memory gave or took."""
    counts = (
        event.dropped if isinstance(event, EvidenceRemembered) else {"held back": event.held_back, **event.left_out}
    )
    rest = "".join(f", {count} {printable(why)}" for why, count in counts.items() if count)
    if isinstance(event, EvidenceRemembered):
        return f"hands {len(event.passages)} to the memory{rest}"
    found = "; ".join(printable(each.passage.title or each.passage.text)[:50] for each in event.items)
    return f"recalls: {found or 'nothing'}{rest}"


def stepped(event: Stepped) -> str:
    """What an agent that acts in steps did."""
    if event.answer is not None:
        return f"answers: {printable(event.answer)}"
    if not event.tool:
        return printable(event.problem)
    thought = f"thinks: {printable(event.thought)[:200]}; " if event.thought else ""
    asked = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
    note = f" (not asked: {event.problem})" if event.problem else ""
    return f"{thought}calls {printable(event.tool)}({printable(asked)[:200]}){note}"
