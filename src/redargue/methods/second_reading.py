"""A second look at a verdict before it ends a claim: what it lacks, and the small reader's view of what it quotes."""

from __future__ import annotations

from collections.abc import Iterable

from redargue import words
from redargue.claims import Claim
from redargue.evidence import Passage, Quote, Side
from redargue.methods.agent import Agent
from redargue.methods.verdict_parts import limited
from redargue.nli.language import language_of
from redargue.run import Run
from redargue.tasks.score import ReaderAnswer, ReadPassages
from redargue.verdicts import Verdict

OPPOSITE = {Side.FOR: Side.AGAINST, Side.AGAINST: Side.FOR}


def why_unsettled(verdict: Verdict, run: Run) -> tuple[str, ...]:
    """Why a verdict may not end the claim, as the hardened rules on quotations have it; empty where it may."""
    settled = limited(verdict, run.events, reads_evidence=True, hardened=True)
    if settled.unchecked:
        return (words.unchecked(settled.unchecked),)
    return (words.caveats(settled.caveats),) if settled.label != verdict.label else ()


async def read_quotes(claim: Claim, quotes: Iterable[Quote], reader: Agent, *, round_: int = 0) -> ReaderAnswer | None:
    """What the small reader says about the located quotations; None where a text is not English."""
    texts = [quote for quote in quotes if quote.found]
    shown = tuple(Passage(text=quote.text, title=quote.source.title if quote.source else "") for quote in texts)
    return await read_english(claim, shown, reader, round_=round_)


async def read_english(
    claim: Claim, passages: tuple[Passage, ...], reader: Agent, *, round_: int = 0
) -> ReaderAnswer | None:
    """What the small reader says about the passages; None where there are none, or a text is not English."""
    if not passages or any(map(language_of, (claim.text, *(each.text for each in passages)))):
        return None
    return await reader.perform(ReadPassages(claim=claim, passages=passages), round_=round_)
