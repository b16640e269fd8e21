"""Splits a document into the chunks that are embedded and searched, and keeps their offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from syntok import segmenter

from redargue.claims import Frozen
from redargue.errors import UsageError

SIZE = 700  # characters: about 150 tokens of English, so that a chunk with its title fits the embedder's 256
OVERLAP = 120  # characters: about a sentence, so that a pronoun keeps its antecedent

_Span = tuple[int, int]


class Chunk(Frozen):
    """A chunk of a document: ``text == document.text[start:end]``."""

    start: int
    end: int
    text: str


def chunks(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> tuple[Chunk, ...]:
    """Splits a text into chunks of at most ``size`` characters that together cover it except for white space.

    A chunk ends at the end of a sentence. A sentence longer than ``size`` is split at white space, a longer word at any
    character. A chunk begins with the last sentences of the previous chunk, as many as fit in ``overlap`` characters.

    Raises:
        UsageError: a length is out of range; 0 <= ``overlap`` < ``size``.
    """
    if not 0 <= overlap < size:
        raise UsageError(f"chunks of {size} characters cannot overlap by {overlap}", hint="use 0 <= overlap < size")
    pieces = [part for sentence in sentence_spans(text) for part in _parts(text, sentence, size)]
    result: list[Chunk] = []
    first = 0
    while first < len(pieces):
        after = first + 1
        while after < len(pieces) and pieces[after][1] - pieces[first][0] <= size:
            after += 1
        start, end = pieces[first][0], pieces[after - 1][1]
        result.append(Chunk(start=start, end=end, text=text[start:end]))
        if after == len(pieces):
            break
        first = _step_back(pieces, first, after, size, overlap)
    return tuple(result)


def sentence_spans(text: str) -> Iterator[_Span]:
    """Spans of the sentences. Only their starts come from syntok, so that no text between sentences is lost."""
    starts = sorted({0, *sentence_starts(text)})
    for start, end in pairwise([*starts, len(text)]):
        if span := _strip(text, start, end):
            yield span


@lru_cache(maxsize=16)
def sentence_starts(text: str) -> tuple[int, ...]:
    """Where sentences begin. A document is split for its chunks and for its sentences at about the same time."""
    return tuple(tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph)


def _strip(text: str, start: int, end: int) -> _Span | None:
    part = text[start:end].strip()
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return (start, start + len(part)) if part else None


_SPACE = re.compile(r"\s")


def _parts(text: str, sentence: _Span, size: int) -> Iterator[_Span]:
    rest: _Span | None = sentence
    while rest and rest[1] - rest[0] > size:
        start, end = rest
        spaces = [match.start() for match in _SPACE.finditer(text, start, start + size + 1)]
        cut = spaces[-1] if spaces else start + size
        if part := _strip(text, start, cut):
            yield part
        rest = _strip(text, cut, end)
    if rest:
        yield rest


def _step_back(pieces: list[_Span], first: int, after: int, size: int, overlap: int) -> int:
    """First piece of the next chunk, which must include piece ``after`` and begin after piece ``first``."""
    begin = after
    while (
        begin - 1 > first
        and pieces[after - 1][1] - pieces[begin - 1][0] <= overlap
        and pieces[after][1] - pieces[begin - 1][0] <= size
    ):
        begin -= 1
    return begin
