"""The quotations in what an agent gives as one: with its document's name, several together, or with words left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from redargue.denials import negates
from redargue.evidence import Passage, Quote, Side, publisher_of
from redargue.quotes import find_quote

_SHORTEST = 3  # words between quotation marks: fewer are a name or a term
_REFERENCE = r"(?:document|doc|source|passage|evidence|excerpt)s?\.?\s*"
_REFERENCE_BEFORE = re.compile(  # a bare number may be part of the quotation
    rf"^\s*(?:(?:{_REFERENCE})?(?:\[D?\d{{1,3}}\]|\(D?\d{{1,3}}\))|(?:{_REFERENCE}D?|D)\d{{1,3}}(?=\s*[:–—]))\s*[:,–—-]*\s*",
    re.IGNORECASE,
)
_REFERENCE_AFTER = re.compile(
    rf"(?:\[(?:{_REFERENCE})?D?\d{{1,3}}\]|\((?:{_REFERENCE})?D?\d{{1,3}}\))[.,;]?$", re.IGNORECASE
)
_QUOTATION_MARK = re.compile('["“”„«»]')
_OMISSION = re.compile(r"(?:\[\s*(?:\.\.\.|…)[^\]\n]{0,60}\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)")
_MOST_PIECES = 6
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")


def find_quotes(
    text: str, passages: tuple[Passage, ...], *, side: Side = Side.CONTEXT, agent: str = ""
) -> tuple[Quote, ...]:
    """The quotations in what an agent gives as one: the text itself, or what is inside where the text is not found.

    So it may name its document (``Document [1]: "…"``, ``Title: "…"``, ``"…" (1)``), contain several quotations in
    quotation marks, or leave words out (``… [...] …``): then one passage has to contain every piece, in their order.
    """
    given = find_quote(text, passages, side=side, agent=agent)
    if given.found:
        return (given,)
    found = _inside(text, passages)
    return tuple(quote.model_copy(update={"side": side, "agent": agent}) for quote in found) or (given,)


def _inside(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The quotations inside a text that is not found itself, those that are not found after the others."""
    for candidate in dict.fromkeys(_without_reference(text, passages)):
        whole = find_quote(candidate, passages)
        if whole.found:
            return [whole]
        if pieces := _pieces(candidate, passages) or _sentences(candidate, passages):
            return pieces
    several = [find_quote(span, passages) for span in _in_marks(text)]
    if not any(quote.found for quote in several):
        return []
    return sorted(several, key=lambda quote: not quote.found)


def _without_reference(text: str, passages: tuple[Passage, ...]) -> Iterator[str]:
    """The text without the number or the title of its document, and what is between its outer quotation marks."""
    marks = [match.start() for match in _QUOTATION_MARK.finditer(text)]
    if len(marks) > 1:
        yield text[marks[0] + 1 : marks[-1]]
    plain = _REFERENCE_AFTER.sub("", _REFERENCE_BEFORE.sub("", text.rstrip()))
    yield plain.rstrip()  # the text itself, where it has none
    for passage in passages:
        for name in (publisher_of(passage), passage.title.strip()):  # as prompts show them
            if name and text.casefold().startswith(f"{name.casefold()}:"):
                yield text[len(name) + 1 :].strip()


def _in_marks(text: str) -> list[str]:
    """What is between each pair of quotation marks, names and single words left out."""
    between = _QUOTATION_MARK.split(text)[1:-1:2]
    return [span.strip() for span in between if len(span.split()) >= _SHORTEST]


def _pieces(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The pieces between marks of omission, if one passage contains all of them; else nothing."""
    pieces = [piece.strip() for piece in _OMISSION.split(text) if re.search(r"\w", piece)]
    if not 1 < len(pieces) <= _MOST_PIECES:
        return []
    for passage in passages:
        found = [find_quote(piece, (passage,)) for piece in pieces]
        if all(quote.found and quote.part == "text" for quote in found) and _may_be_joined(found, passage.text):
            return found
    return []


def _sentences(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The sentences of a quotation that continues from one excerpt of a document into the next; else nothing."""
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if re.search(r"\w", part)]
    if not 1 < len(sentences) <= _MOST_PIECES:
        return []
    found = [find_quote(sentence, passages) for sentence in sentences]
    return found if all(_follows(first, second) for first, second in pairwise(found)) else []


def _follows(first: Quote, second: Quote) -> bool:
    if first.source is None or second.source is None or first.part == "title" or second.part == "title":
        return False
    between = second.offset - first.offset - len(first.text)
    return bool(first.source.document) and first.source.document == second.source.document and 0 <= between <= 2


def _may_be_joined(pieces: list[Quote], text: str) -> bool:
    """Whether pieces of a text are in its order, and nothing that is left out of a sentence negates it."""
    for first, second in pairwise(pieces):
        if second.start < first.end:
            return False
        left_out = text[first.end : second.start]
        if not _SENTENCE_END.search(left_out) and negates(left_out):
            return False
    return True
