"""Aggregates passage-level entailment scores into label probabilities.

A side is as strong as its strongest independent source: passages that share a publisher or a site count as one source.
The weights were chosen, and the probabilities thereby calibrated, on even rows by ``python -m benchmarks reading``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from math import exp, log
from typing import NamedTuple
from urllib.parse import urlsplit

from redargue.evidence import Passage
from redargue.nli.session import Entailment

FAR, NEAR = 0.2, 0.5  # cosine to the claim: a span at FAR or below does not count, one at NEAR or above counts fully
FEW, MANY = 0.1, 0.5  # likewise of a refutation, by the share of the claim's words and values that the span has
STRONG = 0.5  # the score above which two sources that disagree are conflicting evidence
SECOND_SOURCE_WEIGHT = 0.3  # sources copy each other, and the model makes the same error on both
MIN_CONFIDENCE = 0.63  # chosen with ``python -m benchmarks contrast``: below it a claim is left open
MIN_SIGNAL = 0.1  # below this score there is no evidence for a side
CATALOGUES = frozenset({"doi.org", "pubmed.ncbi.nlm.nih.gov"})  # sites that hold the works of many publishers


class SourceScore(NamedTuple):
    """How strongly one independent source speaks for each side, in [0, 1]."""

    supports: float
    refutes: float


NO_SIGNAL = SourceScore(0.0, 0.0)
UNDECIDED = SourceScore(0.5, 0.5)  # log odds of zero


def max_score(one: SourceScore, other: SourceScore) -> SourceScore:
    return SourceScore(max(one.supports, other.supports), max(one.refutes, other.refutes))


class Weights(NamedTuple):
    """Weights of :func:`aggregation_features` for the two decided labels; "not enough" is the reference class."""

    supports: tuple[float, ...] = (-0.582, 0.42, 0.287, -0.024, -0.285, 0.523, 0.496, 0.334, -0.661)
    refutes: tuple[float, ...] = (-0.846, 0.128, 0.348, -0.086, -0.017, 0.577, 0.14, 0.676, 0.939)


WEIGHTS = Weights()


def by_nearness(probability: float, cosine: float) -> float:
    """A span's probability, discounted by its distance from the claim."""
    return probability * _within(cosine, FAR, NEAR)


def by_coverage(probability: float, coverage: float) -> float:
    """The probability of a span's refutation, discounted where it has few of the claim's words and values.

    The small model takes what is said of something else for the opposite. On even rows, at .63, the share of claims on
    the wrong side falls from .081 to .067 (contrast documents), from .115 to .084 and from .103 to .066 (own ones).
    """
    return probability * _within(coverage, FEW, MANY)


def _within(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def source_scores(scores: Iterable[tuple[Passage, SourceScore]]) -> tuple[SourceScore, ...]:
    """The maximum score of each independent source.

    Passages that share a source's name are one source, and so are passages that a third one links: false metadata can
    join sources but never split them. A joined source scores as high as its strongest passage.
    """
    sources: list[tuple[frozenset[str], SourceScore]] = []
    for passage, score in scores:
        names = source_names(passage)
        for source in [source for source in sources if source[0] & names]:
            sources.remove(source)
            names, score = names | source[0], max_score(score, source[1])
        sources.append((names, score))
    return tuple(score for _, score in sources)


def first_of_sources(passages: Sequence[Passage]) -> tuple[int, ...]:
    """The indices of the first passage of each source, in order."""
    indices, seen = [], frozenset[str]()
    for index, passage in enumerate(passages):
        names = source_names(passage)
        if not names & seen:
            indices.append(index)
        seen |= names
    return tuple(indices)


def source_names(passage: Passage) -> frozenset[str]:
    """The publisher and the site; without both the document, else the text's hash."""
    try:
        site = (urlsplit(passage.url).hostname or "").removeprefix("www.")
    except ValueError:  # not a URL
        site = ""
    names = {passage.publisher.casefold(), site} - {"", *CATALOGUES}
    return frozenset(names or {passage.document or passage.sha256})


def aggregation_features(
    sentences: Sequence[SourceScore],
    passages: Sequence[SourceScore],
    joined: SourceScore,
    relevance: float,
    lexical: SourceScore,
    *,
    contradicted: bool,
    window: SourceScore | None = None,
) -> tuple[float, ...]:
    """The intercept; log odds of each side by sentence, by passage, of relevance, of each side by words; contradiction.

    With a window, the log odds of each side by it as well.

    By sentence: the strongest one combined with the joined text. By passage: the strongest one combined with the second
    strongest. A sentence alone misses its context; a passage blurs its sentences.

    Args:
        joined: score of the nearest sentences of two passages, read as one text.
        relevance: of the most relevant passage, in [0, 1].
        lexical: the highest probabilities that :mod:`redargue.nli.lexical` gives to a passage.
        contradicted: whether a sentence contradicts the claim in a named point.
        window: score of the most promising sentence among its neighbours, which only a large model reads.
    """
    by_sentence, by_passage = [], []
    for side in (0, 1):
        sentence = max((score[side] for score in sentences), default=0.0)
        first, second, *_ = [*sorted((score[side] for score in passages), reverse=True), 0.0, 0.0]
        by_sentence.append(log_odds(1 - (1 - sentence) * (1 - SECOND_SOURCE_WEIGHT * joined[side])))
        by_passage.append(log_odds(1 - (1 - first) * (1 - SECOND_SOURCE_WEIGHT * second)))
    by_words = map(log_odds, lexical)
    by_window = map(log_odds, window or ())
    return (1.0, *by_sentence, *by_passage, log_odds(relevance), *by_words, float(contradicted), *by_window)


def log_odds(probability: float) -> float:
    return log((probability + 0.02) / (1.02 - probability))  # bounded at 0 and 1


def probabilities(values: Sequence[float], weights: Weights = WEIGHTS) -> Entailment:
    """The softmax of the weighted features."""
    scores = [sum(map(float.__mul__, map(float, row), map(float, values))) for row in weights]
    supports, refutes, neither = (exp(score - max(*scores, 0.0)) for score in (*scores, 0.0))
    total = supports + refutes + neither
    return Entailment(supports / total, refutes / total, neither / total)


def with_parts(whole: Entailment, parts: Sequence[Entailment], *, complete: bool) -> Entailment:
    """The probabilities of a claim that joins several facts, from those of the claim and of its parts.

    It is as probably supported as its least supported part, but not more than the whole where it says more than its
    parts; and as probably refuted as its most refuted part. Where the whole leans to support, a part may have been
    misread without the rest: then the log odds of its refutation and of the whole's are averaged. Chosen on even rows.
    """
    supports, refutes = min(part.supports for part in parts), max(part.refutes for part in parts)
    if not complete:
        supports = min(supports, whole.supports)
    if whole.supports > whole.refutes:
        refutes = 1 / (1 + exp(-(log_odds(refutes) + log_odds(whole.refutes)) / 2))
    if supports >= refutes:
        refutes = min(refutes, 1 - supports)
    else:
        supports = min(supports, 1 - refutes)
    return Entailment(supports, refutes, max(0.0, 1 - supports - refutes))


def conflict(scores: Sequence[SourceScore]) -> bool:
    """Whether one source strongly supports the claim and another strongly refutes it."""
    pairs = permutations(scores, 2)
    return any(one.supports > STRONG and other.refutes > STRONG for one, other in pairs)
