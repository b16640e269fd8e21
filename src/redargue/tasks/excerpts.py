"""The excerpts of one document as one text: in its order, each sentence once, with what is left out between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from redargue.evidence import CUT_MARK, Passage

_WORD = 6  # characters of an English word with its space
_ADJACENT = 2  # characters between excerpts that are only white space or a line break


class _Piece(NamedTuple):
    """A text with the offset of its first character in its document."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def by_document(passages: Iterable[Passage]) -> tuple[tuple[Passage, ...], ...]:
    """The passages grouped by document, in the order in which the documents come first."""
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(document_key(passage), []).append(passage)
    return tuple(map(tuple, groups.values()))


def document_numbers(passages: Iterable[Passage]) -> dict[str, int]:
    """The numbers of the documents, by document, in the order in which they come first; from 1."""
    return {document_key(group[0]): number for number, group in enumerate(by_document(passages), 1)}


def numbers_of(passages: Iterable[Passage], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the documents of some passages, in their order."""
    return tuple(numbers[document_key(group[0])] for group in by_document(passages))


def document_key(passage: Passage) -> str:
    """What identifies a passage's document; its own text where the tool names neither a document nor an address."""
    return passage.document or passage.url or passage.sha256


def joined(passages: tuple[Passage, ...]) -> str:
    """The excerpts of one document for a prompt, with marks where it was cut."""
    ordered = sorted(passages, key=lambda passage: passage.start)
    pieces = _without_copies([_Piece(passage.start, passage.text) for passage in ordered])
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        text += f"{_left_out(before, piece)}{piece.text}"
    lead = ordered[0].lead
    last = max(ordered, key=lambda passage: passage.start + len(passage.text))
    return f"{lead}{text}{f' {CUT_MARK}' if last.ends_cut else ''}"


def _without_copies(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces without those inside others; overlapping ones become one."""
    kept: list[_Piece] = []
    for piece in pieces:
        words = _words(piece.text)
        if any(words in _words(other.text) for other in kept):
            continue
        kept = [other for other in kept if _words(other.text) not in words]
        if kept and (union := _union(kept[-1], piece)):
            kept[-1] = union
        else:
            kept.append(piece)
    return kept


def _words(text: str) -> str:
    """The text in which a copy is looked for: letters in one case, spaces alike."""
    return f" {' '.join(text.split())} ".casefold()


def _union(first: _Piece, second: _Piece) -> _Piece | None:
    """Two overlapping pieces as one; None where they do not overlap, or differ where they do."""
    common = first.end - second.start
    if common <= 0 or second.start < first.start or first.text[-common:] != second.text[:common]:
        return None
    return _Piece(first.start, first.text + second.text[common:])


def _left_out(before: _Piece, after: _Piece) -> str:
    """What is between two excerpts; without a length where the tool does not say where they begin."""
    missing = after.start - before.end
    if missing < 0:
        return "\n[…]\n"
    if missing <= _ADJACENT:
        return "\n"
    return f"\n[… about {max(1, round(missing / _WORD))} words left out …]\n"
