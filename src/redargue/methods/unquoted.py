"""What an answer for or against a claim lacks that quotes nothing that can carry it (hardened)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from redargue.evidence import Passage
from redargue.quotations import find_quotes
from redargue.quotes import can_decide


def why_unquoted(texts: Iterable[str], passages: Sequence[Passage]) -> str:
    """Why no quotation can carry an answer, in words; empty where one can.

    Args:
        texts: quotations as an agent gives them.
        passages: in which they are looked up.
    """
    shown = tuple(passages)
    quotes = list(chain.from_iterable(find_quotes(text, shown) for text in texts if text.strip()))
    if any(can_decide(quote, shown) for quote in quotes):
        return ""
    if not quotes:
        return "nothing is quoted"
    if not any(quote.found for quote in quotes):
        return "no quotation was found in the documents"
    return "what is quoted is too short, or only a title"


def sent_back(word: str, why: str, *, can_search: bool) -> str:
    """The note on such an answer that an agent with steps left reads.

    Args:
        word: that it answered.
        why: from :func:`why_unquoted`.
    """
    more = "search for it, or copy" if can_search else "copy"
    return f"The answer {word} does not count yet: {why}. Give the evidence: {more} the sentence that decides."
