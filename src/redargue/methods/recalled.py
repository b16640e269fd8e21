"""Reads recalled evidence again before it decides a claim: with the tool that found it, else at its address.

The run records these searches under :data:`READER`, so that a replay compares with the results of the run.
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
from redargue.retrieval.tools import Action
from redargue.run import Run

READER = "memory"
_MOST_PASSAGES = 3  # per claim


def recalled_passages(events: Iterable[Event]) -> dict[str, Passage]:
    """The passages that the memory returned and no search of the method found, by sha256."""
    searched, remembered = set[str](), dict[str, Passage]()
    for event in events:
        if isinstance(event, EvidenceRecalled):
            remembered |= {item.passage.sha256: item.passage for item in event.items}
        elif isinstance(event, EvidenceFound) and event.tool == LOOKUP:
            remembered |= {passage.sha256: passage for passage in event.passages}
        elif isinstance(event, EvidenceFound) and event.agent != READER:
            searched |= {passage.sha256 for passage in event.passages}
    return {sha: passage for sha, passage in remembered.items() if sha not in searched}


async def read_again(quotes: Sequence[Quote], claim: Claim, run: Run, read_page: Action | None) -> None:
    """Reads the recalled passages of the quotations again, as far as budget and record permit.

    Args:
        read_page: reads the page at an address; None if pages may not be read.
    """
    remembered = recalled_passages(run.events)
    quoted = dict.fromkeys(quote.passage for quote in quotes if quote.passage in remembered)
    for sha in list(quoted)[:_MOST_PASSAGES]:
        with suppress(BudgetReached, ReplayMiss):
            await _read(remembered[sha], claim, run, read_page)


async def _read(stored: Passage, claim: Claim, run: Run, read_page: Action | None) -> None:
    if stored.tool in run.tools:
        await run.search(stored.tool, query_of(stored), MIN_PASSAGES, agent=READER, claim=claim)
    elif stored.tool in run.actions:
        await run.act(stored.tool, arguments_of(stored), agent=READER, claim=claim)
    if read_page and stored.url and recall_outcome(stored, "", run.events) == "gone":
        run.actions.setdefault(read_page.name, read_page)
        await run.act(read_page.name, {"url": stored.url}, agent=READER, claim=claim)


def recall_outcome(stored: Passage, quotation: str, events: Iterable[Event]) -> RecheckOutcome:
    """How a recalled passage compares with what was read again; ``gone`` if its source was not read.

    A changed passage whose source still contains the quotation counts as the same.
    """
    found = [event for event in events if isinstance(event, EvidenceFound) and event.agent == READER]
    passages = [passage for event in found for passage in event.passages]
    result, _ = compare_with_page(stored, passages)
    if result == "changed" and quotation:
        shortened = stored.model_copy(update={"text": quotation})
        return compare_with_page(shortened, passages)[0]
    return result
