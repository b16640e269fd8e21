"""AVeriTeC's metrics, as MichSchli/AVeriTeC@7c62d1e computes them.

Predicted and gold question-answer pairs, written as "question answer", are compared with METEOR (Lavie and Agarwal
2007). A claim's evidence score is the total of the best one-to-one assignment of predicted to gold pairs, divided by
the number of gold pairs. The AVeriTeC score is the share of claims that have the correct label and an evidence score
above a threshold (officially 0.25).

The official script tokenizes with ``nltk.word_tokenize`` and matches WordNet synonyms, which need nltk's data
(``python -m nltk.downloader wordnet punkt_tab``). Without that data, only equal words and equal stems match, and syntok
replaces Punkt as the sentence splitter; figures are then usually slightly lower, and their names end in a suffix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from redargue.bench.extra import bench_extra
from redargue.bench.metrics.base import OfficialScores, mean, same_length
from redargue.bench.metrics.classification import correct_items
from redargue.claims import Frozen
from redargue.retrieval.corpus.documents import sentence_spans

_THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5)
_OFFICIAL_THRESHOLD = 0.25
PAIRS = 10  # predicted pairs per claim; further ones are ignored

NO_WORDNET = SimpleNamespace(synsets=lambda word: ())
"""Replaces nltk's WordNet reader; finds no synonyms."""


class Meteor(Frozen):
    """An implementation of METEOR."""

    score: Callable[[str, str], float]  # of a candidate and a reference, in [0, 1)
    suffix: str  # ends the names of its figures; empty for the official implementation


@lru_cache(maxsize=1)
def _stemmer() -> SimpleNamespace:
    with bench_extra():
        from nltk.stem.porter import PorterStemmer
    return SimpleNamespace(stem=lru_cache(maxsize=16384)(PorterStemmer().stem))


def meteor_of_words(candidate: Sequence[str], reference: Sequence[str], *, wordnet: Any) -> float:
    """Returns METEOR of two sequences of words; ``wordnet`` needs only the method ``synsets``."""
    with bench_extra():
        from nltk.translate.meteor_score import single_meteor_score
    return float(single_meteor_score(reference, candidate, stemmer=_stemmer(), wordnet=wordnet))


@lru_cache(maxsize=4096)
def meteor_words(text: str) -> tuple[str, ...]:
    """Splits a text into words by nltk's Treebank rules, after syntok has split it into sentences."""
    with bench_extra():
        from nltk.tokenize import NLTKWordTokenizer
    tokenizer = NLTKWordTokenizer()
    return tuple(word for start, end in sentence_spans(text) for word in tokenizer.tokenize(text[start:end]))


@lru_cache(maxsize=4096)
def _punkt_words(text: str) -> tuple[str, ...]:
    with bench_extra():
        from nltk.tokenize import word_tokenize
    return tuple(word_tokenize(text))


def meteor_without_wordnet(candidate: str, reference: str) -> float:
    """Returns METEOR of two texts by equal words and stems; needs no data."""
    return meteor_of_words(meteor_words(candidate), meteor_words(reference), wordnet=NO_WORDNET)


def official_meteor(candidate: str, reference: str) -> float:
    """Returns METEOR of two texts as AVeriTeC's script computes it; raises LookupError without nltk's data."""
    with bench_extra():
        from nltk.corpus import wordnet
    return meteor_of_words(_punkt_words(candidate), _punkt_words(reference), wordnet=wordnet)


@lru_cache(maxsize=1)
def installed_meteor() -> Meteor:
    """Returns the official implementation if its data is installed, otherwise the one without WordNet."""
    try:
        official_meteor("A probe. The dog.", "A sample. The hound.")
    except LookupError:
        return Meteor(score=meteor_without_wordnet, suffix="-without-wordnet")
    return Meteor(score=official_meteor, suffix="")


def pair_text(question: str, answer: str, explanation: str = "") -> str:
    """Returns a question-answer pair as one text; the explanation of a boolean answer is appended."""
    return f"{question} {answer}. {explanation}" if explanation else f"{question} {answer}"


def hungarian(
    predicted_evidence: Sequence[str], gold: Sequence[str], *, limit: int = PAIRS, meteor: Meteor | None = None
) -> float | None:
    """Returns the total of the best one-to-one assignment, divided by the number of gold texts; None without any.

    The first ``limit`` predicted texts count; ``meteor`` is by default the installed implementation.
    """
    if not gold:
        return None
    if not predicted_evidence:
        return 0.0
    pairwise = (meteor or installed_meteor()).score
    with bench_extra():
        from scipy.optimize import linear_sum_assignment
    scores = np.array([[pairwise(text, truth) for truth in gold] for text in predicted_evidence[:limit]])
    return float(scores[linear_sum_assignment(scores, maximize=True)].sum()) / len(gold)


def averitec(
    gold: Sequence[str],
    predicted: Sequence[str | None],
    predicted_evidence: Sequence[Sequence[str]],
    pairs: Sequence[Sequence[str]],
    *,
    meteor: Meteor | None = None,
) -> OfficialScores:
    """Returns the AVeriTeC score, Hungarian METEOR, label accuracy, and the score at every reported threshold.

    ``predicted_evidence`` and ``pairs`` are the predicted and the gold texts (see :func:`pair_text`) of each claim; a
    claim without gold texts counts only in the label accuracy.
    """
    same_length(gold=gold, predicted=predicted, predicted_evidence=predicted_evidence, pairs=pairs)
    meteor = meteor or installed_meteor()
    suffix = meteor.suffix
    hits = correct_items(gold, predicted)
    scored = [
        (hit, score)
        for hit, texts, truths in zip(hits, predicted_evidence, pairs, strict=True)
        if (score := hungarian(texts, truths, meteor=meteor)) is not None
    ]
    empty = "no claim has gold question-answer pairs"
    correct = {threshold: [hit and score > threshold for hit, score in scored] for threshold in _THRESHOLDS}
    return OfficialScores(
        figures=(
            mean(f"averitec-score{suffix}", correct[_OFFICIAL_THRESHOLD], empty=empty),
            mean(f"hungarian-meteor{suffix}", (score for _, score in scored), empty=empty),
            mean("label-accuracy", hits),
            *(mean(f"averitec-score@{at}{suffix}", flags, empty=empty) for at, flags in correct.items()),
        ),
        items=tuple(correct[_OFFICIAL_THRESHOLD]),
    )
