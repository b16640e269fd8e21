"""Evaluates gradient-boosted decision trees that ``training/lexical_trees.py`` fitted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from redargue.nli.alignment import Alignment, QuantityComparison, align, compare_quantities, parsed, shared_context
from redargue.nli.consistency import LONGEST, verbatim
from redargue.nli.grammar import NEGATORS, WORD
from redargue.nli.model_files import read_arrays
from redargue.nli.quantities import Quantity
from redargue.nli.session import WEIGHTS_FOLDER, Entailment, softmax


@cache
def _trees() -> dict[str, npt.NDArray[Any]]:
    """Boosted trees of several classes: an array of each node field, tree after tree.

    ``feature`` (-1 at a leaf), ``threshold``, ``value``, ``children`` (places in the arrays, on the right and on the
    left); ``roots`` of shape (rounds, classes); ``baseline`` of shape (classes,).
    """
    names = "feature threshold value left right roots baseline depth".split()
    trees = read_arrays(WEIGHTS_FOLDER / "lexical.npz", names)
    return trees | {"children": np.stack([trees["right"], trees["left"]])}


def _scores(features: Sequence[float]) -> npt.NDArray[np.float64]:
    """The log odds of each class, up to a constant."""
    trees, values = _trees(), np.asarray(features, np.float64)
    nodes = trees["roots"].ravel()
    for _ in range(int(trees["depth"])):
        feature = trees["feature"][nodes]
        below = (values[feature] <= trees["threshold"][nodes]).astype(np.intp)
        nodes = np.where(feature < 0, nodes, trees["children"][below, nodes])
    return np.asarray(trees["value"][nodes].reshape(trees["roots"].shape).sum(0) + trees["baseline"], np.float64)


# Signals of agreement and contradiction between a claim and a sentence. Their order and values belong to the fitted
# trees in ``weights/lexical.npz``: a change needs new trees.


def _any(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_NOT_NEGATING = re.compile(
    r"\b(?:not only|no (?:more|less|fewer|later|sooner|earlier) than|not least|no\.? \d)", re.IGNORECASE
)
_IMPLICIT_NEGATION = re.compile(
    r"\b(?:fail(?:s|ed|ing)? to|refus(?:e|es|ed|ing) to|unable to|lack(?:s|ed|ing)?\b|instead of|rather than|except"
    r"|den(?:y|ies|ied)|no longer|far from|absence of|yet to|too \w+ to|stop(?:s|ped)? \w+ing|prevent(?:s|ed)?"
    r"|avoid(?:s|ed)?)",
    re.IGNORECASE,
)
_MODALS = {
    "obligation": _any(
        r"must|ha(?:ve|s|d) to|requir\w+|shall|needs? to|mandatory|obliged|compulsory|obligatory|necessary"
    ),
    "permission": _any(r"may|can|could|might|allow\w*|possibl[ey]|able to|permit\w*|optional\w*|entitled|free to"),
    "advice": _any(r"should|ought|recommend\w*|advis\w+|suggest\w*|preferabl\w+"),
    "plan": _any(
        r"will|would|plan\w*|intend\w*|expect\w*|promis\w+|propos\w+|hop(?:e|es|ed|ing)|going to|aim\w*|want\w*"
        r"|due to \w+|wish\w*"
    ),
    "doubt": _any(
        r"perhaps|probabl[ey]|likely|unlikely|allegedly|reportedly|apparently|suspect\w*|possibly|seem\w*|appear\w*"
        r"|believed|thought"
    ),
}
_QUANTIFIERS = {
    "universal": _any(
        r"all|every|each|always|entire(?:ly)?|whole|wholly|everyone|everybody|everything|everywhere|any|anyone|both"
        r"|completely|fully|never|none"
    ),
    "exclusive": _any(r"only|solely|exclusively|alone|sole|nothing but|no one but|just"),
    "majority": _any(r"most|mostly|majority|mainly|usually|largely|generally|typically|often"),
    "partial": _any(
        r"some|several|many|few|part of|partly|partially|sometimes|certain|various|occasionally|a few|rarely"
    ),
}
_CAUSE = _any(r"because|since|due to|owing to|caused?|causes|thanks to|as a result|led to|therefore|so that|why|reason")
_CONDITION = _any(r"if|unless|provided|only when|as long as|until|except|in case|otherwise|whether|when|whenever")
_ATTRIBUTION = _any(
    r"sa(?:id|ys?|ying)|according to|claim(?:s|ed|ing)?|alleg\w+|den(?:y|ies|ied)|believ\w+|argu(?:e|es|ed)"
    r"|report(?:s|ed)|thought|thinks?|call(?:s|ed) (?:it|them|him|her)|suggest(?:s|ed)?|accus\w+|hop(?:e|es|ed)"
    r"|rumou?r\w*|told|announced|promised|wrote|warned|insist\w*"
)
_EXCEPTION = _any(r"except\w*|apart from|other than|but not|unlike|excluding|excluded|unless|with the exception")
_COMPARISON = _any(r"than|as \w+ as|compared|whereas|while|unlike|versus")
_BEFORE = _any(r"before|until|till|prior to|earlier than|preced\w+|ahead of|by the time")
_AFTER = _any(r"after|since|following|later than|once|as soon as|from")
_SUPERLATIVE = _any(r"most|least|first|last|[a-z]{2,}est")
_PASSIVE = _any(
    r"(?:is|are|was|were|been|being|be)(?: \w+ly)? \w+(?:ed|en|wn|lt|nt|ght|un|ut)\b.*?\bby|\w+(?:ed|en) by"
)

FEATURE_NAMES = tuple(
    (
        # shares of the claim's content words and quantities, of its words by exact stem, and of words of the same
        # family that the sentence has
        "containment word_containment loose_containment reversed_containment bigram_containment trigram_containment"
        # the longest common subsequence relative to the claim; the share of aligned pairs in the same order; aligned
        # words relative to the span of the sentence that they cover
        " subsequence order density missing_words missing_names names_contained"
        " quantities_equal quantities_compatible quantities_unequal quantities_missing"
        # shares of the words around the claim's quantities found around the sentence's; the sentence's other quantities
        " quantity_context unequal_context other_quantities"
        # polarity is 1 if negations and antonyms together are odd, "aligned" if all other words align as well
        " claim_negations negation_difference implicit_negation_difference antonyms polarity polarity_aligned"
        # "gain": only the claim has it; "loss": only the sentence
        " modal_gain modal_loss obligation_against_permission plan_loss doubt_loss"
        " universal_gain exclusive_gain quantifier_difference partial_loss"
        " cause_gain condition_gain condition_loss attribution_loss attribution_gain exception_loss"
        " comparison_reversed temporal_reversed superlative_gain order_reversed"
        " verbatim claim_length sentence_length"
    ).split()
)


def features(claim: str, sentence: str) -> tuple[float, ...]:
    """Shares or small numbers in the order of :data:`FEATURE_NAMES`."""
    alignment = align(parsed(claim), parsed(sentence))
    compared = compare_quantities(alignment.claim, alignment.sentence)
    values = (
        *_overlap(alignment, compared),
        *_quantity_signals(alignment, compared),
        *_polarity(alignment),
        *_modality(alignment),
        *_frames(alignment),
        *_directions(alignment),
        verbatim(claim, sentence),
        log1p(len(alignment.claim.words)),
        log1p(len(alignment.sentence.words)),
    )
    return tuple(map(float, values))


def _overlap(alignment: Alignment, compared: QuantityComparison) -> tuple[float, ...]:
    claim, sentence, matched = alignment.claim, alignment.sentence, alignment.matched
    words = [claim.stems[place] for place in claim.content]
    others = {sentence.stems[place] for place in sentence.content}
    bigrams, trigrams = _grams(claim.stems, 2), _grams(claim.stems, 3)
    names = {place for place in claim.content if claim.is_name(place)}
    missing_names = len(names.intersection(alignment.missing))
    return (
        _share(len(matched) + len(compared.equal), len(words) + len(claim.quantities)),
        _share(len(matched) - alignment.loose, len(words)),
        _share(len(matched), len(words)),
        _share(len(others.intersection(words)), len(others)),
        _share(len(bigrams & _grams(sentence.stems, 2)), len(bigrams)),
        _share(len(trigrams & _grams(sentence.stems, 3)), len(trigrams)),
        _share(_common_subsequence(claim.stems, sentence.stems), len(claim.stems)),
        alignment.order,
        len(set(matched)) / (max(matched) - min(matched) + 1) if matched else 0.0,
        min(len(alignment.missing), 10),
        missing_names,
        _share(len(names) - missing_names, len(names)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _grams(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(size)), strict=False))


def _common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    row = [0] * (len(other) + 1)
    for word in one:
        diagonal = 0
        for place, candidate in enumerate(other, 1):
            diagonal, row[place] = row[place], diagonal + 1 if word == candidate else max(row[place], row[place - 1])
    return row[-1]


def _quantity_signals(alignment: Alignment, compared: QuantityComparison) -> tuple[float, ...]:
    claim, sentence = alignment.claim, alignment.sentence

    def context(pairs: Sequence[tuple[Quantity, Quantity]]) -> float:
        return sum(shared_context(claim, one, sentence, other) for one, other in pairs) / max(1, len(pairs))

    answered = len(compared.equal) + len(compared.compatible) + len(compared.unequal)
    return (
        len(compared.equal),
        len(compared.compatible),
        len(compared.unequal),
        len(compared.missing),
        context(compared.equal),
        context(compared.unequal),
        min(10, max(0, len(sentence.quantities) - answered)),
    )


def _polarity(alignment: Alignment) -> tuple[float, ...]:
    claim, window, antonyms = alignment.claim.text, alignment.window, alignment.antonyms
    explicit = _negations(claim) - _negations(window)
    implicit = len(_IMPLICIT_NEGATION.findall(claim)) - len(_IMPLICIT_NEGATION.findall(window))
    odd = (abs(explicit) + antonyms) % 2
    return (
        min(_negations(claim), 3),
        max(-3, min(3, explicit)),
        max(-3, min(3, implicit)),
        min(antonyms, 3),
        odd,
        odd and len(alignment.missing) <= antonyms,
    )


def _negations(text: str) -> int:
    words = (match.group().lower() for match in WORD.finditer(_NOT_NEGATING.sub(" ", text)))
    return sum(word in NEGATORS or word.endswith(("n't", "n’t")) for word in words)


def _modality(alignment: Alignment) -> tuple[float, ...]:
    claim, window = alignment.claim.text, alignment.window
    ours, theirs = _classes(_MODALS, claim), _classes(_MODALS, window)
    gain, loss = ours - theirs, theirs - ours
    counted, counted_there = _classes(_QUANTIFIERS, claim), _classes(_QUANTIFIERS, window)
    more, less = counted - counted_there, counted_there - counted
    return (
        len(gain),
        len(loss),
        {"obligation", "permission"} <= gain | loss and bool(gain) and bool(loss),
        "plan" in loss,
        "doubt" in loss,
        "universal" in more,
        "exclusive" in more,
        bool(more and less),
        bool(less & {"partial", "majority"}),
    )


def _classes(patterns: Mapping[str, re.Pattern[str]], text: str) -> set[str]:
    return {name for name, pattern in patterns.items() if pattern.search(text)}


def _frames(alignment: Alignment) -> tuple[float, ...]:
    claim, sentence, window = alignment.claim.text, alignment.sentence.text, alignment.window
    return (
        _only_first(_CAUSE, claim, sentence),
        _only_first(_CONDITION, claim, sentence),
        _only_first(_CONDITION, window, claim),
        _only_first(_ATTRIBUTION, window, claim),
        _only_first(_ATTRIBUTION, claim, sentence),
        _only_first(_EXCEPTION, window, claim),
    )


def _only_first(pattern: re.Pattern[str], one: str, other: str) -> bool:
    return bool(pattern.search(one)) and not pattern.search(other)


def _directions(alignment: Alignment) -> tuple[float, ...]:
    claim, sentence, order = alignment.claim.text, alignment.sentence.text, alignment.order
    compares = bool(_COMPARISON.search(claim) and _COMPARISON.search(sentence))
    times = [(bool(_BEFORE.search(text)), bool(_AFTER.search(text))) for text in (claim, sentence)]
    one_cue_each = all(before != after for before, after in times)
    same_voice = bool(_PASSIVE.search(claim)) == bool(_PASSIVE.search(sentence))
    return (
        compares and order < 0.7,
        one_cue_each and (times[0] != times[1]) != (order < 0.5),
        _only_first(_SUPERLATIVE, claim, sentence),
        same_voice and len(alignment.matched) > 2 and order < 0.5 and not alignment.missing,
    )


# Judges a claim by its words alone.

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


def judge(claim: str, title: str, sentences: Sequence[str]) -> Entailment:
    """Probabilities of the three labels, from the words alone."""
    return softmax(_scores(lexical_features(claim, title, sentences)))
