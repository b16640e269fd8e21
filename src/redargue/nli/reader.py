"""Reads passages with the embedder and the cross-encoder: sentences that support or refute a claim.

A passage is split into sentences. The cross-encoder reads the sentences nearest to the claim, alone and with the
sentence before, each after the passage's title; then the passage's three nearest sentences as one text, and the nearest
sentences of two passages as one text. :mod:`redargue.nli.aggregation` combines the scores.
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
    MIN_SIGNAL,
    NO_SIGNAL,
    WEIGHTS,
    SourceScore,
    Weights,
    conflict,
    features,
    max_score,
    probabilities,
    source_scores,
    strength,
)
from redargue.nli.embedder import Embedder
from redargue.nli.entailment import CrossEncoder, Entailment

SENTENCES = 4  # read per passage
IN_SHORT = 3  # of them, read as one text
DECIDED = (Meaning.SUPPORTED, Meaning.REFUTED)
Kind = Literal["sentence", "passage", "joined"]


@dataclass(frozen=True)
class SourcedSentence:
    """A verbatim sentence and the passage that contains it."""

    quote: str
    passage: Passage


class Candidate(NamedTuple):
    """A text to read.

    Attributes:
        kind: a sentence, a shortened passage, or the joined sentences of two passages.
        cited: the sentence to quote; of joined passages one sentence each.
    """

    kind: Kind
    cited: tuple[SourcedSentence, ...]
    text: str


@dataclass(frozen=True)
class ScoredSpan:
    """A text that was read.

    Attributes:
        nearness: cosine of the text to the claim, in [-1, 1].
        relevance: the probability that the text decides the claim at all, in [0, 1].
    """

    cited: tuple[SourcedSentence, ...]
    nearness: float
    judgement: Entailment
    kind: Kind = "sentence"
    relevance: float = 0.0

    def strength(self, meaning: Meaning) -> float:
        probability = self.judgement.refutes if meaning is Meaning.REFUTED else self.judgement.supports
        return strength(probability, self.nearness)

    @property
    def scores(self) -> SourceScore:
        return SourceScore(*map(self.strength, DECIDED))


@dataclass(frozen=True)
class Reading:
    """What passages say about a claim."""

    spans: tuple[ScoredSpan, ...]
    publishers_once: bool = True

    @cached_property
    def source_scores(self) -> tuple[SourceScore, ...]:
        """The maximum sentence-level score of each independent source."""
        return self._source_scores("sentence")

    @cached_property
    def joined(self) -> SourceScore:
        """The score of two passages' sentences read as one text; no signal if there was only one passage."""
        return reduce(max_score, (span.scores for span in self.spans if span.kind == "joined"), NO_SIGNAL)

    def _source_scores(self, kind: Kind) -> tuple[SourceScore, ...]:
        scores = [(span.cited[0].passage, span.scores) for span in self.spans if span.kind == kind]
        if self.publishers_once:
            return source_scores(scores)
        by_passage: dict[str, SourceScore] = {}
        for passage, score in scores:
            by_passage[passage.sha256] = max_score(by_passage.get(passage.sha256, NO_SIGNAL), score)
        return tuple(by_passage.values())

    def strongest(self, meaning: Meaning) -> float:
        """The strongest span's strength, in [0, 1]; 0 if nothing was read."""
        return max((span.strength(meaning) for span in self.spans), default=0.0)

    @property
    def features(self) -> tuple[float, float, float, float]:
        relevance = max((span.relevance for span in self.spans if span.kind == "passage"), default=0.0)
        return features(self.source_scores, self._source_scores("passage"), self.joined, relevance)

    def probabilities(self, weights: Weights = WEIGHTS) -> Entailment:
        return probabilities(self.features, weights)

    def best(self, meaning: Meaning, count: int) -> tuple[SourcedSentence, ...]:
        """The distinct sentences that express a decided meaning most strongly, or else those nearest to the claim."""
        spans = [span for span in self.spans if span.kind != "passage"]  # only sentences are quoted
        if meaning in DECIDED:
            order = sorted(spans, key=lambda span: -span.strength(meaning))
            order = order[:1] + [span for span in order[1:] if span.strength(meaning) > 0.5]
        else:
            order = sorted(spans, key=lambda span: -span.nearness)
        by_quote: dict[str, SourcedSentence] = {}
        for sentence in (sentence for span in order for sentence in span.cited):
            by_quote.setdefault(sentence.quote, sentence)
        return tuple(by_quote.values())[:count]

    def label(self, labels: LabelSet) -> str | None:
        """The most probable label; for conflicting sources the conflict label, if the set has one.

        A set without a "not enough" label gets the more probable side, or None if no source gives a signal.
        """
        undecided, conflicting = labels.named(Meaning.NOT_ENOUGH), labels.named(Meaning.CONFLICTING)
        supports, refutes, neither = self.probabilities()
        if conflicting and conflict(self.source_scores):
            return conflicting
        if undecided and neither >= max(supports, refutes):
            return undecided
        if not undecided and max(map(self.strongest, DECIDED)) < MIN_SIGNAL:
            return None
        return labels.named(Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED)

    def confidence(self, labels: LabelSet, label: str | None) -> float | None:
        """The label's probability among the set's labels; None if the set has labels that were not calibrated."""
        offered = {label.meaning for label in labels.labels}
        if label is None or offered - {*DECIDED, Meaning.NOT_ENOUGH}:
            return None
        by_meaning = dict(zip((*DECIDED, Meaning.NOT_ENOUGH), self.probabilities(), strict=True))
        return round(by_meaning[labels.meaning(label)] / sum(by_meaning[meaning] for meaning in offered), 6)


class Reader:
    """Reads passages with the two bundled models."""

    def __init__(self, embedder: Embedder, entailment: CrossEncoder, *, publishers_once: bool = True) -> None:
        self._embedder, self._entailment, self._publishers_once = embedder, entailment, publishers_once

    def read(self, claim: str, passages: Sequence[Passage]) -> Reading:
        candidates: list[Candidate] = []
        for passage in {passage.sha256: passage for passage in passages}.values():
            candidates += self._candidates(claim, passage)
        if not candidates:
            return Reading(())
        nearness = self._nearness(claim, [candidate.text for candidate in candidates])
        if joined := _joined(candidates, nearness):
            candidates.append(joined)
            nearness += self._nearness(claim, [joined.text])
        pairs = [(claim, candidate.text) for candidate in candidates]
        judgements, relevances = self._entailment.read(pairs), self._entailment.relevance(pairs)
        spans = tuple(
            ScoredSpan(candidate.cited, near, judgement, candidate.kind, relevance)
            for candidate, near, judgement, relevance in zip(candidates, nearness, judgements, relevances, strict=True)
        )
        return Reading(spans, self._publishers_once)

    def _nearness(self, claim: str, texts: Sequence[str]) -> list[float]:
        vectors = self._embedder.encode([claim, *texts])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def _candidates(self, claim: str, passage: Passage) -> list[Candidate]:
        texts = sentences(passage.text)
        if not texts:
            return []
        order = list(range(len(texts)))
        if len(texts) > 1:
            nearness = self._nearness(claim, texts)
            order.sort(key=lambda i: -nearness[i])
        title = f"{passage.title}. " if passage.title else ""
        cited = [(SourcedSentence(text, passage),) for text in texts]
        nearest = sorted(order[:SENTENCES])
        short = " ".join(texts[i] for i in sorted(order[:IN_SHORT]))
        return [
            *(Candidate("sentence", cited[i], title + texts[i]) for i in nearest),
            *(Candidate("sentence", cited[i], f"{title}{texts[i - 1]} {texts[i]}") for i in nearest if i),
            Candidate("passage", cited[order[0]], title + short),
        ]


def _joined(candidates: Sequence[Candidate], nearness: Sequence[float]) -> Candidate | None:
    """The nearest sentences of two passages as one text; None if there is only one."""
    order = sorted(range(len(candidates)), key=lambda i: -nearness[i])
    first, *others = [candidates[i] for i in order if candidates[i].kind == "sentence"]
    for second in others:
        if second.cited[0].passage.sha256 != first.cited[0].passage.sha256:
            return Candidate("joined", (*first.cited, *second.cited), f"{first.text} {second.text}")
    return None


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, each a verbatim span of it; Markdown headings are left out."""
    starts = [tokens[0].offset for paragraph in segmenter.analyze(text) for tokens in paragraph]
    spans = (text[start:end].strip() for start, end in pairwise([*starts, len(text)]))
    return tuple(span for span in (HEADING.sub("", span) for span in spans) if re.search(r"\w", span))


HEADING = re.compile(r"\A(?:#+ [^\n]*(?:\n\s*|\Z))+")
