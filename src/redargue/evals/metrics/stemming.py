"""Porter's stemmer (1980) with the departures of nltk's default mode, so that METEOR's stem module matches the same.

The departures: irregular forms, words of one or two letters as they are, ``ies``/``ied`` by length, ``y`` to ``i``
after a consonant only, ``alli`` twice, ``bli``, ``fulli``, ``logi``, and *o for two-letter stems.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache

_IRREGULAR = {
    **dict.fromkeys(("sky", "skies"), "sky"),
    **dict.fromkeys(("innings", "inning"), "inning"),
    **dict.fromkeys(("outings", "outing"), "outing"),
    **dict.fromkeys(("cannings", "canning"), "canning"),
    **{word: word for word in ("news", "howe", "proceed", "exceed", "succeed")},
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
}
Rule = tuple[str, str]


def _rules(text: str) -> tuple[Rule, ...]:
    """Suffix and replacement pairs from ``suffix>replacement`` words."""
    return tuple((suffix, new) for suffix, _, new in (word.partition(">") for word in text.split()))


_STEP_2 = _rules(
    "ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize "
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble fulli>ful"
)
_STEP_3 = _rules("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>")
_STEP_4 = _rules("al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> ize>")


def _consonants(word: str) -> list[bool]:
    flags: list[bool] = []
    for at, letter in enumerate(word):
        flags.append(letter not in "aeiou" and (letter != "y" or at == 0 or not flags[at - 1]))
    return flags


def _measure(stem: str) -> int:
    """How often a vowel is followed by a consonant."""
    flags = _consonants(stem)
    return sum(not left and right for left, right in itertools.pairwise(flags))


def _doubled(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _consonants(word)[-1]


def _short(word: str) -> bool:
    """Porter's *o: ends consonant, vowel, consonant other than w, x, y; or is a vowel and a consonant."""
    flags = _consonants(word)
    if len(word) == 2:
        return flags == [False, True]
    return flags[-3:] == [True, False, True] and word[-1] not in "wxy"


def _first(word: str, rules: Sequence[Rule], applies: Callable[[str], bool]) -> str:
    """Applies the first rule whose suffix the word has, if its stem allows it; no later rule is tried."""
    for suffix, new in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + new if applies(stem) else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _first(word, _rules("sses>ss ies>i ss>ss s>"), lambda _: True)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if word.endswith(suffix) and not all(_consonants(stem)):
            break
    else:
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _doubled(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _short(stem) else stem


def _derived(word: str) -> str:
    """Step 2; ``alli`` becomes ``al`` and is tried again."""
    if word.endswith("alli") and _measure(word[:-4]):
        return _derived(word[:-2])
    if word.endswith("logi") and not word.endswith(tuple(suffix for suffix, _ in _STEP_2)):
        return word[:-1] if _measure(word[:-3]) else word
    return _first(word, _STEP_2, lambda stem: _measure(stem) > 0)


def _bare(word: str) -> str:
    """Step 4."""

    def applies(stem: str) -> bool:
        ion = word.endswith("ion") and stem + "ion" == word
        return _measure(stem) > 1 and (not ion or stem[-1] in "st")

    return _first(word, _STEP_4, applies)


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and len(word) > 2 and _consonants(word)[-2]:
        word = word[:-1] + "i"
    word = _bare(_first(_derived(word), _STEP_3, lambda stem: _measure(stem) > 0))
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
