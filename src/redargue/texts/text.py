"""A text to be checked, and its sentences with the places where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, Self

from pydantic import field_validator, model_validator

from redargue.claims import Claim, Frozen, readable
from redargue.corpus.chunk import sentence_spans

LONGEST = 200_000  # characters: some 2,000 sentences

Kind = Literal["text", "dialogue", "summary", "qa"]
KINDS: tuple[Kind, ...] = ("text", "dialogue", "summary", "qa")


class Text(Frozen):
    """What somebody or something wrote, to be checked claim by claim.

    Attributes:
        text: the whole of it; offsets count its characters (Unicode code points) from 0.
        kind: ``text``; a reply in a ``dialogue``, whose mere opinions are left out first; a ``summary``, whose claims
            are read against the nearest sentences of its document; an answer that is one claim together with its
            question (``qa``).
        context: what it answers or follows: a question, what was said before; needed for ``qa``.
    """

    text: str
    kind: Kind = "text"
    context: str = ""

    @field_validator("text")
    @classmethod
    def _checkable(cls, text: str) -> str:
        if not re.search(r"\w", text):
            raise ValueError(f"{text.strip()[:60]!r} holds no word to check")
        if len(text) > LONGEST:
            raise ValueError(f"a text of {len(text):,} characters; the limit is {LONGEST:,}: give it in parts")
        return readable(text)

    @field_validator("context")
    @classmethod
    def _in_characters(cls, context: str) -> str:
        return readable(context)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "qa":
            if not self.context.strip():
                raise ValueError("a question and its answer are one claim, and there is no question")
            Claim(text=self.whole)
        return self

    @property
    def whole(self) -> str:
        """Question and answer as one claim (Sun et al. 2024)."""
        return f"{self.context.strip()} {self.text.strip()}"


class Located(Frozen):
    """A claim and the words of the text that make it: ``text.text[start:end]``."""

    claim: str
    start: int
    end: int


class Unchecked(Frozen):
    """A sentence from which no claim was taken, and why not."""

    start: int
    end: int
    why: Literal["subjective", "states nothing that can be checked"]


class Sentence(Frozen):
    """A sentence, a heading or an entry of a list: ``text == whole[start:end]``."""

    start: int
    end: int
    text: str


_MARK = r"[ \t]*(?:[-*+•·–]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]+"
_PARTS = re.compile(rf"\n[ \t\r]*(?=\n)|\n(?={_MARK}\S)|\n(?=[ \t]*#)|(?<=\n)([ \t]*#[^\n]*)\n|\A([ \t]*#[^\n]*)\n")
_BEGINS = re.compile(_MARK)


def sentences_of(whole: str) -> tuple[Sentence, ...]:
    """The sentences of a text in order; none overlaps another, and what stands between them holds no word.

    Blank lines, headings and the entries of lists end a sentence whatever their punctuation; the mark of an entry
    (``1.``, ``-``) belongs to none.
    """
    return tuple(
        Sentence(start=start, end=end, text=whole[start:end])
        for start, end in _spans(whole)
        if re.search(r"\w", whole[start:end])
    )


def _spans(whole: str) -> Iterator[tuple[int, int]]:
    cuts = sorted({0, len(whole), *(match.end() for match in _PARTS.finditer(whole))})
    for begin, end in pairwise(cuts):
        part = whole[begin:end]
        mark = _BEGINS.match(part)
        offset = begin + (mark.end() if mark and part[mark.end() :].strip() else 0)
        for start, stop in sentence_spans(whole[offset:end]):
            yield offset + start, offset + stop
