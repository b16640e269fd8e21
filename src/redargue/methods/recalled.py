"""Reads recalled evidence again before it decides a claim: with the tool that found it, else at its address.

The run records these searches under :data:`READER`, so that a replay compares with what was found then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from redargue.claims import Claim
from redargue.errors import BudgetReached, ReplayMiss
from redargue.events import Event, EvidenceFound, EvidenceRecalled
from redargue.evidence import Passage, Quote
from redargue.memory.memory import LOOKUP
from redargue.memory.recheck import MIN_PASSAGES, RecheckOutcome, arguments_of, compare_with_page, query_of
from redargue.retrieval.tools.base import Action
from redargue.run import Run

READER = "memory"
_MOST = 3  # passages that are read again for a claim


def recalled(events: Iterable[Event]) -> dict[str, Passage]:
    """The passages that came from the memory and that no search of the method found, by sha256."""
    searched, remembered = set[str](), dict[str, Passage]()
    for event in events:
        if isinstance(event, EvidenceRecalled):
            remembered |= {item.passage.sha256: item.passage for item in event.items}
        elif isinstance(event, EvidenceFound) and event.tool == LOOKUP:
            remembered |= {passage.sha256: passage for passage in event.passages}
        elif isinstance(event, EvidenceFound) and event.agent != READER:
            searched |= {passage.sha256 for passage in event.passages}
    return {sha: passage for sha, passage in remembered.items() if sha not in searched}


async def read_again(quotes: Sequence[Quote], claim: Claim, run: Run, page: Action | None) -> None:
    """Asks for the recalled passages of the quotations again; ``page`` reads an address, None where none may be read.

    What cannot be asked for again is left as it is.
    """
    remembered = recalled(run.events)
    for sha in list(dict.fromkeys(quote.passage for quote in quotes if quote.passage in remembered))[:_MOST]:
        with suppress(BudgetReached, ReplayMiss):
            await _ask_again(remembered[sha], claim, run, page)


async def _ask_again(stored: Passage, claim: Claim, run: Run, page: Action | None) -> None:
    if stored.tool in run.tools:
        await run.search(stored.tool, query_of(stored), MIN_PASSAGES, agent=READER, claim=claim)
    elif stored.tool in run.actions:
        await run.act(stored.tool, arguments_of(stored), agent=READER, claim=claim)
    if page and stored.url and recall_outcome(stored, "", run.events) == "gone":
        run.actions.setdefault(page.name, page)
        await run.act(page.name, {"url": stored.url}, agent=READER, claim=claim)


def recall_outcome(stored: Passage, quotation: str, events: Iterable[Event]) -> RecheckOutcome:
    """How a recalled passage compares with what was read again; ``gone`` if its source was not.

    A passage that has changed is the same where its source still has the quotation.
    """
    found = [event for event in events if isinstance(event, EvidenceFound) and event.agent == READER]
    passages = [passage for event in found for passage in event.passages]
    result, _ = compare_with_page(stored, passages)
    if result == "changed" and quotation:
        shortened = stored.model_copy(update={"text": quotation})
        return compare_with_page(shortened, passages)[0]
    return result
