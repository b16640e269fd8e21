"""Snippets: runs of sentences, the best of each document, taken from several questions in turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from redargue.evidence import Passage
from redargue.retrieval.corpus.documents import sentence_spans


class Snippet(NamedTuple):
    """A part of a passage: ``text == passage.text[start:end]``."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def titled_text(self) -> str:
        return f"{self.passage.title}. {self.text}" if self.passage.title else self.text

    @property
    def page(self) -> str:
        return self.passage.document or self.passage.url or self.passage.sha256

    def overlaps(self, other: Snippet) -> bool:
        apart = other.passage.start - self.passage.start
        return self.page == other.page and self.start < apart + other.end and apart + other.start < self.end

    def as_passage(self) -> Passage:
        """The snippet as a passage with its own place in the document."""
        return self.passage.part(self.start, self.end)


def snippets(passage: Passage, sentences: int, stride: int) -> Iterator[Snippet]:
    """Runs of ``sentences`` sentences, one every ``stride``; the last one ends where the passage does."""
    spans = list(sentence_spans(passage.text))
    for first in range(0, len(spans), stride):
        run = spans[first : first + sentences]
        yield Snippet(passage, run[0][0], run[-1][1])
        if first + sentences >= len(spans):
            return


def best(cut: Sequence[Snippet], ratings: Sequence[float], *, per_page: int, most: int) -> list[Snippet]:
    """The ``most`` best rated, at most ``per_page`` per document, without overlaps; among equals the first."""
    kept: list[Snippet] = []
    pages: Counter[str] = Counter()
    for place in sorted(range(len(cut)), key=lambda place: -ratings[place]):
        snippet = cut[place]
        if pages[snippet.page] < per_page and not any(map(snippet.overlaps, kept)):
            kept.append(snippet)
            pages[snippet.page] += 1
    return kept[:most]


def round_robin(ranked: Sequence[Sequence[Snippet]], most: int) -> tuple[Snippet, ...]:
    """The first of each question, then the second, and so on, each text once."""
    chosen: dict[str, Snippet] = {}
    for snippet in chain.from_iterable(zip_longest(*ranked)):
        if snippet is not None:
            chosen.setdefault(snippet.text, snippet)
    return tuple(chosen.values())[:most]
