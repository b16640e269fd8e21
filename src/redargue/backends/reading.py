"""How the embedded backend reads: from passages and a claim to sentences that speak for it or against it.

A passage is cut into sentences; the sentences nearest to the claim, alone and with their neighbour, are read by the
cross-encoder with the passage's title in front. The strongest sentence on each side decides, and a sentence counts the
less the further it is from the claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from syntok import segmenter

from redargue.claims import LabelSet, Meaning
from redargue.evidence import Passage
from redargue.models.embedder import Embedder
from redargue.models.entailment import CrossEncoder, Entailment

SENTENCES = 4  # of a passage that are read; the rest is further from the claim


class Weights(NamedTuple):
    """How a reading turns into a label; chosen on even rows by ``python -m benchmarks reading``.

    Attributes:
        far: a sentence whose cosine to the claim is this or less does not count.
        near: one whose cosine is this or more counts fully; between the two, in proportion.
        support: what the strongest sentence for the claim has to reach, in [0, 1].
        refute: likewise against it.
    """

    far: float = 0.2
    near: float = 0.5
    support: float = 0.45
    refute: float = 0.6


WEIGHTS = Weights()


@dataclass(frozen=True)
class Window:
    """A sentence of a passage, as it was read.

    Attributes:
        quote: the sentence, verbatim.
        passage: where it stands.
        nearness: cosine of the text that was read to the claim, in [-1, 1].
        judgement: what that text says of the claim.
    """

    quote: str
    passage: Passage
    nearness: float
    judgement: Entailment

    def strength(self, meaning: Meaning, weights: Weights = WEIGHTS) -> float:
        """How strongly it says so, in [0, 1]: what is about something else refutes nothing."""
        share = (self.nearness - weights.far) / (weights.near - weights.far)
        said = self.judgement.refutes if meaning is Meaning.REFUTED else self.judgement.supports
        return said * min(1.0, max(0.0, share))


@dataclass(frozen=True)
class Reading:
    """What passages say of a claim: every window that was read."""

    windows: tuple[Window, ...]

    def strongest(self, meaning: Meaning, weights: Weights = WEIGHTS) -> float:
        """The strongest window's strength, in [0, 1]; 0 where nothing was read."""
        return max((each.strength(meaning, weights) for each in self.windows), default=0.0)

    def best(self, meaning: Meaning, count: int) -> tuple[Window, ...]:
        """The windows that say so most strongly, each sentence once; for any other meaning the nearest."""
        if meaning in (Meaning.SUPPORTED, Meaning.REFUTED):
            order = sorted(self.windows, key=lambda window: -window.strength(meaning))
            least = WEIGHTS.support if meaning is Meaning.SUPPORTED else WEIGHTS.refute
            order = order[:1] + [each for each in order[1:] if each.strength(meaning) > least]
        else:
            order = sorted(self.windows, key=lambda window: -window.nearness)
        return tuple({each.quote: each for each in reversed(order)}.values())[::-1][:count]

    def label(self, labels: LabelSet, weights: Weights = WEIGHTS) -> str | None:
        """The stronger side's label where it is above its threshold, else not enough.

        None where neither is and the set has no label for that: nothing is guessed. Where both are above and the set
        has a label for conflict, that one.
        """
        support = self.strongest(Meaning.SUPPORTED, weights) / weights.support
        refute = self.strongest(Meaning.REFUTED, weights) / weights.refute
        conflict, undecided = labels.named(Meaning.CONFLICTING), labels.named(Meaning.NOT_ENOUGH)
        if conflict and min(support, refute) > 1:
            return conflict
        if max(support, refute) <= 1:
            return undecided
        return labels.named(Meaning.SUPPORTED if support >= refute else Meaning.REFUTED)


class Reader:
    """Reads passages with the two small models.

    Args:
        embedder: finds the sentences near a claim.
        entailment: reads them.
    """

    def __init__(self, embedder: Embedder, entailment: CrossEncoder) -> None:
        self._embedder, self._entailment = embedder, entailment

    def read(self, claim: str, passages: Sequence[Passage]) -> Reading:
        """Reads the sentences nearest to the claim in every distinct passage, alone and after the one before it."""
        shown: list[tuple[str, Passage, str]] = []
        for passage in {each.sha256: each for each in passages}.values():
            shown += [(quote, passage, text) for quote, text in self._windows(claim, passage)]
        texts = [text for _, _, text in shown]
        judged = self._entailment.read([(claim, text) for text in texts])
        vectors = self._embedder.encode([claim, *texts])
        return Reading(
            tuple(
                Window(quote, passage, float(vectors[0] @ vector), judgement)
                for (quote, passage, _), judgement, vector in zip(shown, judged, vectors[1:], strict=True)
            )
        )

    def _windows(self, claim: str, passage: Passage) -> list[tuple[str, str]]:
        """(sentence, text to read) of the sentences nearest to the claim."""
        found = sentences(passage.text)
        near: Sequence[int] = range(len(found))
        if len(found) > SENTENCES:
            vectors = self._embedder.encode([claim, *found])
            near = sorted(range(len(found)), key=lambda i: -float(vectors[0] @ vectors[i + 1]))[:SENTENCES]
        title = f"{passage.title}. " if passage.title else ""
        alone = [(found[i], title + found[i]) for i in sorted(near)]
        return alone + [(found[i], f"{title}{found[i - 1]} {found[i]}") for i in sorted(near) if i]


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each a verbatim span of it; headings of Markdown are none."""
    starts = [tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph]
    spans = (text[start:end].strip() for start, end in pairwise([*starts, len(text)]))
    return tuple(span for span in (HEADING.sub("", each) for each in spans) if re.search(r"\w", span))


HEADING = re.compile(r"\A(?:#+ [^\n]*(?:\n\s*|\Z))+")
