"""A text to be checked, and its sentences with their offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, Self

from pydantic import field_validator, model_validator

from redargue.claims import Claim, Frozen, readable
from redargue.retrieval.corpus.chunk import sentence_spans

MAX_LENGTH = 200_000  # characters, about 2,000 sentences

Kind = Literal["text", "dialogue", "summary", "qa"]
KINDS: tuple[Kind, ...] = ("text", "dialogue", "summary", "qa")


class Text(Frozen):
    """A text to be checked claim by claim.

    Attributes:
        text: offsets count its characters (Unicode code points) from 0.
        kind: ``text``; ``dialogue``, a reply whose pure opinions are excluded first; ``summary``, whose claims are
            checked against the most similar sentences of its document; or ``qa``, an answer that forms one claim
            together with its question.
        context: the question or the previous conversation; required for ``qa``.
    """

    text: str
    kind: Kind = "text"
    context: str = ""

    @field_validator("text")
    @classmethod
    def _checkable(cls, text: str) -> str:
        if not re.search(r"\w", text):
            raise ValueError(f"{text.strip()[:60]!r} contains no words")
        if len(text) > MAX_LENGTH:
            raise ValueError(f"the text has {len(text):,} characters; the limit is {MAX_LENGTH:,}: split it into parts")
        return readable(text)

    _readable = field_validator("context")(readable)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "qa":
            if not self.context.strip():
                raise ValueError("the kind 'qa' needs a question: --question, or context=…")
            Claim(text=self.whole)
        return self

    @property
    def whole(self) -> str:
        """The question and the answer, joined as one claim (Sun et al. 2024)."""
        return f"{self.context.strip()} {self.text.strip()}"


class LocatedClaim(Frozen):
    """A claim and the span of the sentence that makes it: ``text.text[start:end]``."""

    claim: str
    start: int
    end: int


NOT_CLAIMS = ("subjective", "states nothing that can be checked")  # other reasons leave possible claims unread
LEFT_OUT = "the model extracted no claim"


class UncheckedSentence(Frozen):
    """The span of a sentence without claims, and why.

    It is ``subjective``, states nothing, is not English, or states something that the model left out.
    """

    start: int
    end: int
    why: str


class Sentence(Frozen):
    """A sentence, a heading or a list item."""

    start: int
    end: int
    text: str


_MARKER = r"[ \t]*(?:[-*+•·–]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]+"
_BREAKS = re.compile(rf"\n[ \t\r]*(?=\n)|\n(?={_MARKER}\S)|\n(?=[ \t]*#)|(?<=\n)([ \t]*#[^\n]*)\n|\A([ \t]*#[^\n]*)\n")
_ITEM_START = re.compile(_MARKER)


def sentences_of(whole: str) -> tuple[Sentence, ...]:
    """Splits a text into sentences in order; they do not overlap, and there are no words between them.

    Blank lines, headings and list items end a sentence regardless of punctuation; a list marker (``1.``, ``-``) is not
    part of a sentence.
    """
    sentences = (Sentence(start=start, end=end, text=whole[start:end]) for start, end in _spans(whole))
    return tuple(sentence for sentence in sentences if re.search(r"\w", sentence.text))


def _spans(whole: str) -> Iterator[tuple[int, int]]:
    cuts = sorted({0, len(whole), *(match.end() for match in _BREAKS.finditer(whole))})
    for begin, end in pairwise(cuts):
        part = whole[begin:end]
        marker = _ITEM_START.match(part)
        offset = begin + (marker.end() if marker and part[marker.end() :].strip() else 0)
        for start, stop in sentence_spans(whole[offset:end]):
            yield offset + start, offset + stop
