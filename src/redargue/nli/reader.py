"""How the embedded backend reads: from passages and a claim to sentences that speak for it or against it.

A passage is cut into sentences; the sentences nearest to the claim, alone and with their neighbour, are read by the
cross-encoder with the passage's title in front; its three nearest together, as the passage in short; and the nearest
sentences of two passages as one text: what only both together say. A text counts the less the further it is from the
claim (:mod:`redargue.nli.aggregation`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from typing import Literal, NamedTuple

from syntok import segmenter

from redargue.claims import LabelSet, Meaning
from redargue.evidence import Passage
from redargue.nli.aggregation import (
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
from redargue.nli.embedder import Embedder
from redargue.nli.entailment import CrossEncoder, Entailment

SENTENCES = 4  # of a passage that are read; the rest is further from the claim
IN_SHORT = 3  # of them that are read as one text
DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED)


@dataclass(frozen=True)
class Cited:
    """A sentence, verbatim, and the passage in which it stands."""

    quote: str
    passage: Passage


class Shown(NamedTuple):
    """A text to read.

    Attributes:
        kind: of what: a sentence, a passage in short, or sentences of two passages joined.
        cited: what a reader would quote of it: one sentence, or one of each of two passages.
        text: with the passages' titles.
    """

    kind: Literal["sentence", "passage", "joined"]
    cited: tuple[Cited, ...]
    text: str


@dataclass(frozen=True)
class Window:
    """A text that was read.

    Attributes:
        cited: what a reader would quote of it: one sentence, or one of each of two passages.
        nearness: cosine of the text to the claim, in [-1, 1].
        judgement: what the text says of the claim.
        kind: as of what was shown.
        relevance: how likely the text decides the claim at all, in [0, 1].
    """

    cited: tuple[Cited, ...]
    nearness: float
    judgement: Entailment
    kind: Literal["sentence", "passage", "joined"] = "sentence"
    relevance: float = 0.0

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
        """What each independent source says at its strongest, in any of its sentences."""
        return self._voices("sentence")

    @cached_property
    def together(self) -> Voice:
        """What sentences of two passages say, read as one text; nothing where there was one passage."""
        joined = (window.voice for window in self.windows if window.kind == "joined")
        return reduce(louder, joined, SILENT)

    def _voices(self, kind: str) -> tuple[Voice, ...]:
        said = [(each.cited[0].passage, each.voice) for each in self.windows if each.kind == kind]
        if self.publishers_once:
            return voices_of(said)
        found: dict[str, Voice] = {}
        for passage, voice in said:
            found[passage.sha256] = louder(found.get(passage.sha256, SILENT), voice)
        return tuple(found.values())

    def strongest(self, meaning: Meaning) -> float:
        """The strongest window's strength, in [0, 1]; 0 where nothing was read."""
        return max((window.strength(meaning) for window in self.windows), default=0.0)

    @property
    def features(self) -> tuple[float, float, float, float]:
        """What the answer is weighed from."""
        relevance = max((each.relevance for each in self.windows if each.kind == "passage"), default=0.0)
        return features(self.voices, self._voices("passage"), self.together, relevance)

    def probabilities(self, weights: Weights = WEIGHTS) -> Entailment:
        """Of the three answers, given everything that was read."""
        return probabilities(self.features, weights)

    def best(self, meaning: Meaning, count: int) -> tuple[Cited, ...]:
        """What says so most strongly, each sentence once; for any other meaning what is nearest to the claim."""
        windows = [each for each in self.windows if each.kind != "passage"]  # what is quoted is a sentence
        if meaning in DECIDED:
            order = sorted(windows, key=lambda window: -window.strength(meaning))
            order = order[:1] + [each for each in order[1:] if each.strength(meaning) > 0.5]
        else:
            order = sorted(windows, key=lambda window: -window.nearness)
        found: dict[str, Cited] = {}
        for cited in (cited for window in order for cited in window.cited):
            found.setdefault(cited.quote, cited)
        return tuple(found.values())[:count]

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
        """Reads every distinct passage: its nearest sentences, alone and after the one before; in short; two joined."""
        shown: list[Shown] = []
        for passage in {each.sha256: each for each in passages}.values():
            shown += self._windows(claim, passage)
        if not shown:
            return Reading(())
        nearness = self._nearness(claim, [each.text for each in shown])
        if joined := _joined(shown, nearness):
            shown.append(joined)
            nearness += self._nearness(claim, [joined.text])
        pairs = [(claim, each.text) for each in shown]
        every = zip(shown, nearness, self._entailment.read(pairs), self._entailment.relevance(pairs), strict=True)
        windows = tuple(
            Window(each.cited, near, judgement, each.kind, relevance) for each, near, judgement, relevance in every
        )
        return Reading(windows, self._publishers_once)

    def _nearness(self, claim: str, texts: Sequence[str]) -> list[float]:
        vectors = self._embedder.encode([claim, *texts])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def _windows(self, claim: str, passage: Passage) -> list[Shown]:
        """What to read of a passage."""
        found = sentences(passage.text)
        if not found:
            return []
        near = list(range(len(found)))
        if len(found) > 1:
            nearness = self._nearness(claim, found)
            near.sort(key=lambda i: -nearness[i])
        title = f"{passage.title}. " if passage.title else ""
        cited = [Cited(each, passage) for each in found]
        alone = [Shown("sentence", (cited[i],), title + found[i]) for i in sorted(near[:SENTENCES])]
        alone += [
            Shown("sentence", (cited[i],), f"{title}{found[i - 1]} {found[i]}") for i in sorted(near[:SENTENCES]) if i
        ]
        short = " ".join(found[i] for i in sorted(near[:IN_SHORT]))
        return [*alone, Shown("passage", (cited[near[0]],), title + short)]


def _joined(shown: Sequence[Shown], nearness: Sequence[float]) -> Shown | None:
    """The nearest texts of two passages as one text; None where there is one passage."""
    order = [i for i in sorted(range(len(shown)), key=lambda i: -nearness[i]) if shown[i].kind == "sentence"]
    first = shown[order[0]]
    others = (shown[i] for i in order if shown[i].cited[0].passage.sha256 != first.cited[0].passage.sha256)
    second = next(others, None)
    if second is None:
        return None
    return Shown("joined", (*first.cited, *second.cited), f"{first.text} {second.text}")


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each a verbatim span of it; headings of Markdown are none."""
    starts = [tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph]
    spans = (text[start:end].strip() for start, end in pairwise([*starts, len(text)]))
    return tuple(span for span in (HEADING.sub("", each) for each in spans) if re.search(r"\w", span))


HEADING = re.compile(r"\A(?:#+ [^\n]*(?:\n\s*|\Z))+")
