"""What a debater hears of the others' answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from redargue.evidence import Passage
from redargue.quotes import find_quotes
from redargue.tasks.documents import document_key, sourced
from redargue.tasks.judge import Turn
from redargue.tasks.query import OtherAnswer

Documents = Mapping[tuple[int, str], tuple[Passage, ...]]  # by round and agent


def answers_of(turns: Iterable[Turn], documents: Documents | None = None) -> tuple[OtherAnswer, ...]:
    """The answers, with ``documents`` also the quotations that were found in them, and their sources."""
    return tuple(_heard(turn, documents) for turn in turns)


def _heard(turn: Turn, documents: Documents | None) -> OtherAnswer:
    found = _found(turn, documents.get((turn.round, turn.agent), ())) if documents is not None else ()
    return OtherAnswer(agent=turn.agent, text=turn.answer.text, found=found)


def _found(turn: Turn, passages: tuple[Passage, ...]) -> tuple[str, ...]:
    read = dict(zip((passage.sha256 for passage in passages), turn.passages, strict=False))
    quotes = chain.from_iterable(find_quotes(text, passages) for text in turn.answer.quotes)
    shown = (
        f"[{turn.numbered[document_key(read[quote.passage])]}] {sourced(quote.text, quote.source)}"
        for quote in quotes
        if quote.source is not None
    )
    return tuple(dict.fromkeys(shown))
