"""From what single windows say to what all of them say: probabilities of the three answers.

Each side is as strong as its strongest independent voices: passages that share a publisher or a site are one voice,
however often they say it. Two numbers a claim, two rows of weights, a softmax: chosen, and thereby calibrated,
on even rows by ``python -m benchmarks reading``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from typing import NamedTuple
from urllib.parse import urlsplit

from redargue.evidence import Passage
from redargue.nli.entailment import Entailment

FAR, NEAR = 0.2, 0.5  # cosine to the claim: a window at FAR or below does not count, one at NEAR or above counts fully
STRONG = 0.5  # of a voice that contradicts another: evidence on both sides
BESIDE = 0.3  # of a voice beside a stronger one: sources copy each other, and the reader errs alike on both
HEARD = 0.1  # a side weaker than this says nothing
CATALOGUES = frozenset({"doi.org", "pubmed.ncbi.nlm.nih.gov"})  # sites that hold the works of many publishers


class Voice(NamedTuple):
    """What one independent source says at its strongest, in [0, 1] on each side."""

    supports: float
    refutes: float


SILENT = Voice(0.0, 0.0)


def louder(one: Voice, other: Voice) -> Voice:
    """The stronger of two on each side."""
    return Voice(max(one.supports, other.supports), max(one.refutes, other.refutes))


class Weights(NamedTuple):
    """Of :func:`features`, for the two decided answers; "not enough" is what they are weighed against."""

    supports: tuple[float, ...] = (0.09, 0.5, 0.02, 0.25)
    refutes: tuple[float, ...] = (-0.07, 0.05, 0.61, -0.03)


WEIGHTS = Weights()


def strength(said: float, nearness: float) -> float:
    """A window's probability, weighed by its nearness: what is about something else refutes nothing."""
    return said * min(1.0, max(0.0, (nearness - FAR) / (NEAR - FAR)))


def voices_of(said: Iterable[tuple[Passage, Voice]]) -> tuple[Voice, ...]:
    """What each independent source says at its strongest.

    Passages that share a name of their source are one source, and so are passages that a third one links: metadata
    that was made up can join sources, and never part them. A joined source is as loud as its loudest passage, so that
    joining silences nobody.
    """
    sources: list[tuple[frozenset[str], Voice]] = []
    for passage, voice in said:
        names = _names(passage)
        for source in [each for each in sources if each[0] & names]:
            sources.remove(source)
            names, voice = names | source[0], louder(voice, source[1])
        sources.append((names, voice))
    return tuple(voice for _, voice in sources)


def _names(passage: Passage) -> frozenset[str]:
    """Who speaks: the publisher and the site; without both the document, else the text itself."""
    try:
        site = (urlsplit(passage.url).hostname or "").removeprefix("www.")
    except ValueError:  # an address that is none
        site = ""
    names = {passage.publisher.casefold(), site} - {"", *CATALOGUES}
    return frozenset(names or {passage.document or passage.sha256})


def features(
    voices: Sequence[Voice], wide: Sequence[Voice], together: Voice, relevance: float
) -> tuple[float, float, float, float]:
    """One, the log odds of either side, and those of anything having been found that decides the claim.

    A side's log odds are the mean of two: of its strongest sentence, with what both of two passages add to it; and of
    its strongest passage in short, with what a second independent one adds. A sentence alone misses what stands beside
    it, a passage blurs what one sentence says.

    Args:
        voices: one a source, of sentences.
        wide: one a source, of passages.
        together: what the nearest sentences of two passages say, read as one text.
        relevance: of the most relevant passage, in [0, 1].
    """
    sides = []
    for side in (0, 1):
        sentence = max((each[side] for each in voices), default=0.0)
        first, second, *_ = [*sorted((each[side] for each in wide), reverse=True), 0.0, 0.0]
        alone = _odds(1 - (1 - sentence) * (1 - BESIDE * together[side]))
        sides.append((alone + _odds(1 - (1 - first) * (1 - BESIDE * second))) / 2)
    return (1.0, sides[0], sides[1], _odds(relevance))


def _odds(share: float) -> float:
    """Log odds, bounded: a side is silent only if all its voices are."""
    return log((share + 0.02) / (1.02 - share))


def probabilities(found: Sequence[float], weights: Weights = WEIGHTS) -> Entailment:
    """The softmax of the weighed features."""
    scores = [sum(map(float.__mul__, map(float, row), map(float, found))) for row in weights]
    supports, refutes, neither = (exp(score - max(*scores, 0.0)) for score in (*scores, 0.0))
    whole = supports + refutes + neither
    return Entailment(supports / whole, refutes / whole, neither / whole)


def conflict(voices: Sequence[Voice]) -> bool:
    """Whether one source speaks strongly for the claim and another strongly against it."""
    return any(
        one.supports > STRONG and other.refutes > STRONG for one in voices for other in voices if one is not other
    )
