"""Judges a claim by its words alone: boosted trees over the features of :mod:`redargue.nli.comparison_features`.

The cross-encoder reads meaning, but confuses numbers, roles and negations that differ in a word; here every such
difference is a feature. ``training/lexical_trees.py`` fits the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from redargue.nli.comparison_features import FEATURE_NAMES, features
from redargue.nli.consistency import LONGEST
from redargue.nli.entailment import Entailment
from redargue.nli.session import WEIGHTS
from redargue.nli.trees import Trees

_CONTAINMENT, _SUBSEQUENCE, _VERBATIM = map(FEATURE_NAMES.index, ("loose_containment", "subsequence", "verbatim"))


def lexical_features(claim: str, title: str, sentences: Sequence[str]) -> tuple[float, ...]:
    """Features of the sentence that shares most with the claim and of all sentences as one text, and its lead.

    Args:
        sentences: of one passage, in order; at least one.
    """
    claim, sentences = claim[:LONGEST], [sentence[:LONGEST] for sentence in sentences]
    opening = f"{title[:LONGEST]}. " if title else ""
    compared = [features(claim, opening + sentence) for sentence in sentences]
    shared = [row[_CONTAINMENT] + row[_SUBSEQUENCE] / 2 for row in compared]
    first, *others = sorted(range(len(compared)), key=lambda at: -shared[at])
    lead, runner_up = (shared[first] - shared[others[0]], compared[others[0]][_CONTAINMENT]) if others else (0.0, 0.0)
    whole = features(claim, opening + " ".join(sentences))
    copied = max(row[_VERBATIM] for row in compared)
    return (*compared[first], *whole, lead, float(len(sentences)), runner_up, copied)


@lru_cache(maxsize=1)
def _trees() -> Trees:
    return Trees(WEIGHTS / "lexical.npz")


def judge(claim: str, title: str, sentences: Sequence[str]) -> Entailment:
    """Probabilities of the three labels, from the words alone."""
    scores = np.array(_trees().scores(lexical_features(claim, title, sentences)))
    shares = np.exp(scores - scores.max())
    return Entailment(*(float(share) for share in shares / shares.sum()))
