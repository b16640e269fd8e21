"""Cuts a document into the pieces that are embedded and searched, without losing where they stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from syntok import segmenter

from redargue.claims import Frozen
from redargue.errors import UsageError

SIZE = 700  # characters: about 150 tokens of English, so that a chunk with its title fits the embedder's 256
OVERLAP = 120  # characters: a sentence, so that a pronoun keeps what it stands for

Span = tuple[int, int]


class Chunk(Frozen):
    """A piece of a document: ``text == document.text[start:end]``."""

    start: int
    end: int
    text: str


def chunks(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> tuple[Chunk, ...]:
    """Pieces of at most ``size`` characters that together hold every character of ``text`` but white space.

    A piece ends where a sentence does; a sentence longer than ``size`` is cut at white space, a word longer than that
    anywhere. A piece begins with the whole sentences at the end of the one before it, where they fit in ``overlap``.

    Args:
        text: of a document.
        size: characters, at least 1.
        overlap: characters, from 0 to less than ``size``.

    Raises:
        UsageError: a length out of range.
    """
    if not 0 <= overlap < size:
        raise UsageError(f"chunks of {size} characters cannot overlap by {overlap}", hint="0 <= overlap < size")
    pieces = [part for sentence in sentence_spans(text) for part in _parts(text, sentence, size)]
    found: list[Chunk] = []
    first = 0
    while first < len(pieces):
        after = _reach(pieces, first, size)
        start, end = pieces[first][0], pieces[after - 1][1]
        found.append(Chunk(start=start, end=end, text=text[start:end]))
        if after == len(pieces):
            break
        first = _step_back(pieces, first, after, size, overlap)
    return tuple(found)


def sentence_spans(text: str) -> Iterator[Span]:
    """Spans of sentences: only where they begin is asked of syntok, so that nothing between them can be lost."""
    starts = [0]
    for paragraph in segmenter.analyze(text):
        for sentence in paragraph:
            if sentence[0].offset > starts[-1]:
                starts.append(sentence[0].offset)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if bare := _strip(text, start, end):
            yield bare


def _strip(text: str, start: int, end: int) -> Span | None:
    """The span without the white space at its ends; None where nothing else is in it."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


_SPACE = re.compile(r"\s")


def _parts(text: str, sentence: Span, size: int) -> Iterator[Span]:
    """The sentence itself, or pieces of it that are no longer than ``size``."""
    start, end = sentence
    while end - start > size:
        spaces = [match.start() for match in _SPACE.finditer(text, start, start + size + 1)]
        cut = spaces[-1] if spaces else start + size
        part = _strip(text, start, cut)
        if part:
            yield part
        rest = _strip(text, cut, end)
        if rest is None:
            return
        start, end = rest
    yield start, end


def _reach(pieces: list[Span], first: int, size: int) -> int:
    """One past the last piece that still fits in a chunk that begins with piece ``first``."""
    after = first + 1
    while after < len(pieces) and pieces[after][1] - pieces[first][0] <= size:
        after += 1
    return after


def _step_back(pieces: list[Span], first: int, after: int, size: int, overlap: int) -> int:
    """Where the next chunk begins: it has to reach past piece ``after``, and never begins where the last one did."""
    begin = after
    while (
        begin - 1 > first
        and pieces[after - 1][1] - pieces[begin - 1][0] <= overlap
        and pieces[after][1] - pieces[begin - 1][0] <= size
    ):
        begin -= 1
    return begin
