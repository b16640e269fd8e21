"""How the embedded backend reads: from passages and a claim to sentences that speak for it or against it.

A passage is cut into sentences; the sentences nearest to the claim, alone and with their neighbour, are read by the
cross-encoder with the passage's title in front, and the nearest sentences of two passages as one text: what only both
together say. A sentence counts the less the further it is from the claim (:mod:`redargue.backends.weighing`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise

from syntok import segmenter

from redargue.backends.weighing import (
    HEARD,
    SILENT,
    WEIGHTS,
    Voice,
    Weights,
    conflict,
    features,
    louder,
    probabilities,
    strength,
    voices_of,
)
from redargue.claims import LabelSet, Meaning
from redargue.evidence import Passage
from redargue.models.embedder import Embedder
from redargue.models.entailment import CrossEncoder, Entailment

SENTENCES = 4  # of a passage that are read; the rest is further from the claim
DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED)


@dataclass(frozen=True)
class Cited:
    """A sentence, verbatim, and the passage in which it stands."""

    quote: str
    passage: Passage


@dataclass(frozen=True)
class Window:
    """A text that was read.

    Attributes:
        cited: what a reader would quote of it: one sentence, or one of each of two passages.
        nearness: cosine of the text to the claim, in [-1, 1].
        judgement: what the text says of the claim.
    """

    cited: tuple[Cited, ...]
    nearness: float
    judgement: Entailment

    def strength(self, meaning: Meaning) -> float:
        """How strongly it says so, in [0, 1]."""
        said = self.judgement.refutes if meaning is Meaning.REFUTED else self.judgement.supports
        return strength(said, self.nearness)

    @property
    def voice(self) -> Voice:
        """What it says on both sides."""
        return Voice(*map(self.strength, DECIDED))


@dataclass(frozen=True)
class Reading:
    """What passages say of a claim.

    Attributes:
        windows: every text that was read.
        publishers_once: passages of one publisher are one voice; off, every passage is a voice of its own.
    """

    windows: tuple[Window, ...]
    publishers_once: bool = True

    @cached_property
    def voices(self) -> tuple[Voice, ...]:
        """What each independent source says at its strongest."""
        said = [(each.cited[0].passage, each.voice) for each in self.windows if len(each.cited) == 1]
        if self.publishers_once:
            return voices_of(said)
        found: dict[str, Voice] = {}
        for passage, voice in said:
            found[passage.sha256] = louder(found.get(passage.sha256, SILENT), voice)
        return tuple(found.values())

    @cached_property
    def together(self) -> Voice:
        """What sentences of two passages say, read as one text; nothing where there was one passage."""
        joined = (window.voice for window in self.windows if len(window.cited) > 1)
        return reduce(louder, joined, SILENT)

    def strongest(self, meaning: Meaning) -> float:
        """The strongest window's strength, in [0, 1]; 0 where nothing was read."""
        return max((window.strength(meaning) for window in self.windows), default=0.0)

    @property
    def features(self) -> tuple[float, float, float]:
        """What the answer is weighed from."""
        return features(self.voices, self.together)

    def probabilities(self, weights: Weights = WEIGHTS) -> Entailment:
        """Of the three answers, given everything that was read."""
        return probabilities(self.features, weights)

    def best(self, meaning: Meaning, count: int) -> tuple[Cited, ...]:
        """What says so most strongly, each sentence once; for any other meaning what is nearest to the claim."""
        if meaning in DECIDED:
            order = sorted(self.windows, key=lambda window: -window.strength(meaning))
            order = order[:1] + [each for each in order[1:] if each.strength(meaning) > 0.5]
        else:
            order = sorted(self.windows, key=lambda window: -window.nearness)
        every = (cited for window in order for cited in window.cited)
        return tuple({each.quote: each for each in reversed(list(every))}.values())[::-1][:count]

    def label(self, labels: LabelSet) -> str | None:
        """The likeliest of the set's labels; of conflicting sources the label for that, where the set has one.

        A set without a label for "not enough" gets the likelier side, or None where no source says anything.
        """
        undecided, conflicting = labels.named(Meaning.NOT_ENOUGH), labels.named(Meaning.CONFLICTING)
        supports, refutes, neither = self.probabilities()
        if conflicting and conflict(self.voices):
            return conflicting
        if undecided and neither >= max(supports, refutes):
            return undecided
        if not undecided and max(map(self.strongest, DECIDED)) < HEARD:
            return None
        return labels.named(Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED)

    def confidence(self, labels: LabelSet, label: str | None) -> float | None:
        """The probability of a label among those of the set; None where nothing was calibrated for such a set."""
        if label is None or {each.meaning for each in labels.labels} - {*DECIDED, Meaning.NOT_ENOUGH}:
            return None
        by_meaning = dict(zip((*DECIDED, Meaning.NOT_ENOUGH), self.probabilities(), strict=True))
        offered = {each.meaning for each in labels.labels}
        return round(by_meaning[labels.meaning(label)] / sum(by_meaning[meaning] for meaning in offered), 6)


class Reader:
    """Reads passages with the two small models.

    Args:
        embedder: finds the sentences near a claim.
        entailment: reads them.
        publishers_once: as of a :class:`Reading`.
    """

    def __init__(self, embedder: Embedder, entailment: CrossEncoder, *, publishers_once: bool = True) -> None:
        self._embedder, self._entailment, self._publishers_once = embedder, entailment, publishers_once

    def read(self, claim: str, passages: Sequence[Passage]) -> Reading:
        """Reads the nearest sentences of every distinct passage: alone, after the one before, those of two joined."""
        shown: list[tuple[tuple[Cited, ...], str]] = []
        for passage in {each.sha256: each for each in passages}.values():
            shown += self._windows(claim, passage)
        if not shown:
            return Reading(())
        nearness = self._nearness(claim, [text for _, text in shown])
        if joined := _joined(shown, nearness):
            shown.append(joined)
            nearness += self._nearness(claim, [joined[1]])
        judged = self._entailment.read([(claim, text) for _, text in shown])
        every = zip(shown, nearness, judged, strict=True)
        windows = tuple(Window(cited, near, judgement) for (cited, _), near, judgement in every)
        return Reading(windows, self._publishers_once)

    def _nearness(self, claim: str, texts: Sequence[str]) -> list[float]:
        vectors = self._embedder.encode([claim, *texts])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def _windows(self, claim: str, passage: Passage) -> list[tuple[tuple[Cited, ...], str]]:
        """What to cite and the text to read, of the sentences nearest to the claim."""
        found = sentences(passage.text)
        near: Sequence[int] = range(len(found))
        if len(found) > SENTENCES:
            nearness = self._nearness(claim, found)
            near = sorted(range(len(found)), key=lambda i: -nearness[i])[:SENTENCES]
        title = f"{passage.title}. " if passage.title else ""
        alone = [(i, title + found[i]) for i in sorted(near)]
        alone += [(i, f"{title}{found[i - 1]} {found[i]}") for i in sorted(near) if i]
        return [((Cited(found[i], passage),), text) for i, text in alone]


def _joined(
    shown: Sequence[tuple[tuple[Cited, ...], str]], nearness: Sequence[float]
) -> tuple[tuple[Cited, ...], str] | None:
    """The nearest texts of two passages as one text; None where there is one passage."""
    order = sorted(range(len(shown)), key=lambda i: -nearness[i])
    first = order[0]
    own = shown[first][0][0].passage.sha256
    second = next((i for i in order if shown[i][0][0].passage.sha256 != own), None)
    if second is None:
        return None
    return (*shown[first][0], *shown[second][0]), f"{shown[first][1]} {shown[second][1]}"


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each a verbatim span of it; headings of Markdown are none."""
    starts = [tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph]
    spans = (text[start:end].strip() for start, end in pairwise([*starts, len(text)]))
    return tuple(span for span in (HEADING.sub("", each) for each in spans) if re.search(r"\w", span))


HEADING = re.compile(r"\A(?:#+ [^\n]*(?:\n\s*|\Z))+")
